"""Words of other languages and scripts, from which pages in them are made (see voices.py)."""

WORDS_OF = {
    "de": (
        "der die das und ist nicht mit von für über straße häuser größe schön müde früh später wald "
        "wasser brücke straßenbahn bäcker tür fenster garten vögel kälte wärme brot öffnen hören "
        "gehört während zwischen köln zürich jahr tage woche menschen kinder geschichte sprache weiß "
        "heißt natürlich möglich übung"
    ),
    "fr": (
        "le la les des une est dans avec pour sur être été château élève forêt français très déjà où "
        "après même côté fenêtre tête année journée lumière rivière voyage ville hôpital théâtre "
        "garçon leçon façon noël œuvre cœur sœur bientôt peut-être quelques plusieurs toujours jamais"
    ),
    "es": (
        "el la los las una es con para por sobre más año niño señor mañana también después corazón "
        "canción árbol río montaña pequeño español jardín ventana cocina música página número último "
        "fácil difícil además siempre nunca mientras entonces ciudad pueblo camino historia agua "
        "noche"
    ),
    "pl": (
        "jest nie się że jak już tylko był była było dzień książka łódź źródło żółty święto ćwiczenie "
        "pięć dziewięć święty człowiek rzeka góra morze wieś miasto ulica droga zamek kościół światło "
        "późno wcześnie również ponieważ między przez który"
    ),
    "tr": (
        "bir ve için çok daha gibi kadar sonra önce güzel büyük küçük çocuk ağaç ışık gün güneş "
        "yağmur şehir köy deniz dağ öğretmen öğrenci çalışma kış yaz ilkbahar sonbahar iyi kötü yeşil "
        "kırmızı değil şimdi"
    ),
    "ru": (
        "и в не на что с по это как из у за от так же для вода город дом человек время год день жизнь "
        "рука дело слово место лицо друг дорога окно река гора письмо книга язык школа вечер утро "
        "зима лето осень весна большой новый старый хороший между через когда потому"
    ),
    "el": (
        "και το του την της με για από στο είναι δεν που θα να πόλη νερό θάλασσα βουνό σπίτι δρόμος "
        "βιβλίο γλώσσα χρόνος ημέρα νύχτα ήλιος φεγγάρι άνθρωπος παιδί σχολείο παράθυρο κήπος ψωμί "
        "ιστορία μουσική λέξη μεγάλος μικρός παλιός νέος"
    ),
    "he": (
        "של את על לא הוא היא זה עם גם או אבל כל יום שנה מים עיר בית איש ילד ספר שפה דרך חלון גן לחם "
        "ים הר שמש ירח בוקר ערב חורף קיץ גדול קטן חדש ישן טוב מאוד"
    ),
    "ar": (
        "في من على إلى أن هذا هذه التي الذي كان ماء مدينة بيت رجل ولد كتاب لغة طريق نافذة حديقة خبز "
        "بحر جبل شمس قمر صباح مساء شتاء صيف كبير صغير جديد قديم جيد جدا بعد قبل بين"
    ),
    "ja": (
        "私 は が を に で と も の です ます 水 町 家 人 時間 本 言葉 道 窓 庭 パン 海 山 太陽 月 朝 "
        "夕方 冬 夏 大きい 小さい 新しい 古い 学校 先生 電車 音楽 歴史 季節 手紙 散歩 しかし それから"
    ),
    "zh": (
        "的 是 在 了 和 有 不 我们 他们 这个 水 城市 房子 人 时间 书 语言 道路 窗户 花园 面包 海 山 "
        "太阳 月亮 早晨 晚上 冬天 夏天 大 小 新 旧 学校 老师 火车 音乐 历史 季节 因为 所以 但是"
    ),
    "ko": (
        "그리고 하지만 물 도시 집 사람 시간 책 언어 길 창문 정원 빵 바다 산 태양 달 아침 저녁 겨울 "
        "여름 큰 작은 새로운 오래된 학교 선생님 기차 음악 역사 계절 편지 이야기 때문에 그래서"
    ),
    "th": (
        "และ ที่ ใน เป็น ไม่ น้ำ เมือง บ้าน คน เวลา หนังสือ ภาษา ถนน หน้าต่าง สวน ขนมปัง ทะเล ภูเขา "
        "พระอาทิตย์ พระจันทร์ เช้า เย็น ใหญ่ เล็ก ใหม่ เก่า โรงเรียน ครู รถไฟ ดนตรี"
    ),
}
