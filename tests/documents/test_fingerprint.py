import random

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.documents.fingerprint import (
    MIN_WORDS,
    Fingerprinter,
    normal_codes,
    shingles,
    word_hashes,
)

WORDS = [f"w{number}" for number in range(2_000)]


@pytest.fixture(scope="module", params=[4, 8, 16])
def prints(request):
    return Fingerprinter(bits=request.param)


def normal(text):
    return normal_codes(text).astype("<u2").tobytes().decode("utf-16-le", "surrogatepass")


def edited(rng, words, share):
    return [rng.choice(WORDS) if rng.random() < share else word for word in words]


def shingle_set(words):
    return {" ".join(words[n : n + 4]) for n in range(len(words) - 3)}


def test_the_normal_form_is_words_in_lower_case():
    assert normal("  Hello,   World!\n\n(snake_case) — “Été”…") == "hello world snake_case été"
    assert normal("") == normal(" \n.,;") == ""


def test_marks_belong_to_words():
    assert normal("हिन्दी में") == "हिन्दी में"
    assert normal("e\u0301te\u0301") == "été"


@given(st.text())
def test_normalising_twice_changes_nothing_and_tokens_are_counted(text):
    once = normal(text)
    assert normal(once) == once
    if once.isascii():
        assert len(word_hashes(normal_codes(text))) == len(once.split())


@pytest.mark.parametrize(
    "text, tokens",
    [("東京は晴れ", 5), ("東京 tokyo は", 4), ("ไม่มี", 5), ("한국어 단어", 2), ("one two", 2), ("", 0)],
)
def test_scripts_without_spaces_are_read_by_the_character(text, tokens):
    assert len(word_hashes(normal_codes(text))) == tokens


def test_a_word_has_one_hash_wherever_it_stands():
    filler = " ".join(WORDS * 20)
    hashes = word_hashes(normal_codes(f"needle {filler} needle straw {filler} Needle"))
    needles = np.flatnonzero(hashes == hashes[0])
    assert list(needles) == [0, 40_001, 80_003]
    assert len(np.unique(hashes)) == len(WORDS) + 2


def test_a_text_of_many_chunks_has_the_least_of_all_its_shingles():
    prints = Fingerprinter(bits=16)
    rng = random.Random(5)
    text = " ".join(rng.choice(WORDS) + str(rng.randrange(90)) for _ in range(150_000))
    high = shingles(word_hashes(normal_codes(text))) >> np.uint64(32)
    least = [0xFFFFFFFF] * prints.values
    for value in map(int, high):
        place = value * prints.values >> 32
        least[place] = min(least[place], value)
    codes = [(value & 0xFFFF) % prints.empty for value in least]
    assert prints.of(text).signature == np.array(codes, "<u2").tobytes()


def test_a_word_longer_than_a_chunk_does_no_harm(prints):
    made = prints.of("x" * 200_000 + " and " + "y" * 70_000 + " words" * MIN_WORDS)
    assert made.words > MIN_WORDS


def test_order_matters_for_shingles():
    first, second = (shingles(word_hashes(normal_codes(text))) for text in ("a b c d", "d c b a"))
    assert first[0] != second[0]


def test_equal_texts_in_other_markup_have_one_digest(prints):
    assert prints.of("Hello, world").digest == prints.of("hello   WORLD!").digest
    assert prints.of("“Hello” – world").digest == prints.of("hello world").digest
    assert prints.of("hello world").digest != prints.of("helloworld").digest


def test_short_texts_have_no_signature(prints):
    assert prints.of(" ".join(WORDS[: MIN_WORDS - 1])).signature == b""
    assert len(prints.of(" ".join(WORDS[:MIN_WORDS])).signature) == prints.values * prints.bits // 8


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.2, 1.0])
def test_estimates_agree_with_datasketch_and_with_the_truth(prints, share):
    rng = random.Random(share)
    ours, reference = [], []
    for _ in range(40):
        words = rng.choices(WORDS, k=400)
        other = edited(rng, words, share)
        sets = shingle_set(words), shingle_set(other)
        truth = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
        signatures = [prints.of(" ".join(text)).signature for text in (words, other)]
        sketches = [MinHash(num_perm=prints.values) for _ in sets]
        for sketch, items in zip(sketches, sets, strict=True):
            sketch.update_batch([item.encode() for item in items])
        ours.append(prints.estimate(*signatures) - truth)
        reference.append(sketches[0].jaccard(sketches[1]) - truth)
    # The standard error of 128 values is at most 0.044 for one pair (0.047 with 4 bits), 0.007 for the mean.
    assert abs(np.mean(ours)) < 0.025
    assert abs(np.mean(ours) - np.mean(reference)) < 0.03
    assert np.std(ours) < 0.06 and np.std(reference) < 0.06


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_estimates_of_short_texts_are_right_though_bins_are_empty(prints, share):
    rng = random.Random(share)
    errors = []
    for _ in range(60):
        words = rng.choices(WORDS, k=MIN_WORDS + 10)
        other = edited(rng, words, share)
        sets = shingle_set(words), shingle_set(other)
        truth = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
        signatures = [prints.of(" ".join(text)).signature for text in (words, other)]
        errors.append(prints.estimate(*signatures) - truth)
    assert abs(np.mean(errors)) < 0.02


def test_dense_signatures_have_no_empty_positions_and_keep_the_others(prints):
    signature = prints.of(" ".join(WORDS[:MIN_WORDS])).signature
    width = prints.bits // 4
    sparse, dense = ((digits := each.hex()) and [digits[n : n + width] for n in range(0, len(digits), width)]
                     for each in (signature, prints.dense(signature)))
    empty = "f" * width
    assert empty in sparse and empty not in dense
    assert all(filled in (kept, *sparse) and (kept in (empty, filled))
               for kept, filled in zip(sparse, dense, strict=True))
    full = prints.of(" ".join(random.Random(1).choices(WORDS, k=3_000))).signature
    assert prints.dense(full) is full


def test_unrelated_texts_are_not_alike_by_chance(prints):
    rng = random.Random(8)
    texts = [prints.of(" ".join(rng.choices(WORDS, k=500))).signature for _ in range(40)]
    found = [prints.estimate(first, second) for first in texts for second in texts if first is not second]
    assert np.mean(found) < 0.02 and max(found) < 0.15


def test_similar_chinese_and_thai_texts_are_similar(prints):
    rng = random.Random(3)
    for alphabet in (range(0x4E00, 0x5200), range(0x0E01, 0x0E2F)):
        text = "".join(chr(rng.choice(alphabet)) for _ in range(600))
        other = text[:300] + "新" + text[301:]
        unrelated = "".join(chr(rng.choice(alphabet)) for _ in range(600))
        first, second, third = (prints.of(each).signature for each in (text, other, unrelated))
        assert prints.estimate(first, second) > 0.9
        assert prints.estimate(first, third) < 0.2
