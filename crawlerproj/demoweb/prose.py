"""Text that reads like text: paragraphs made once for a seed, from which pages are put together.

A pool is large beside the paragraphs of one page, so that no two pages are near-duplicates by chance.
"""

import random
from functools import lru_cache
from zlib import crc32

from crawlerproj.demoweb.languages import WORDS_OF
from crawlerproj.demoweb.layout import WORDS, mix
from crawlerproj.demoweb.subjects import SUBJECT_WORDS

PARAGRAPHS = 2000
OTHER_PARAGRAPHS = 400  # of a language or a subject: fewer pages draw from them
PHRASES = 256
POOLS = 64
_SMALL_WORD_LIST = "the a of and to in that with for by near over under from this which were was has its"
_OTHER_WORD_LIST = (
    "people water morning letter story village market season number history music paper window summer road "
    "kitchen doctor teacher answer question engine ocean mountain evening journey machine library picture "
    "color bread silver holiday weather captain family minute language country city house found carried "
    "opened remembered visited measured painted gathered walked noticed collected described repaired quiet "
    "bright early narrow ancient gentle heavy common distant simple steady careful hidden northern famous"
)
_SMALL_WORDS = _SMALL_WORD_LIST.split()
_OTHER_WORDS = _OTHER_WORD_LIST.split()
_UNSPACED = ("ja", "zh", "th")


class Prose:
    """Pools of paragraphs and of link texts, in a language, in English perhaps about a subject."""

    def __init__(self, seed: int, language: str = "en", subject: str | None = None) -> None:
        key = 0 if language == "en" and subject is None else crc32(f"{language} {subject}".encode())
        rng = random.Random(mix(seed, 4, key))
        if language != "en":
            words = titles = WORDS_OF[language].split()
        else:
            words, titles = _SMALL_WORDS * 3 + _OTHER_WORDS * 2 + WORDS, _OTHER_WORDS + WORDS
            if subject is not None:
                words = words + SUBJECT_WORDS[subject].split() * 4
                titles = titles + SUBJECT_WORDS[subject].split() * 3
        space, stop = (" ", ". ") if language not in _UNSPACED else ("", "。" if language != "th" else " ")
        count = PARAGRAPHS if key == 0 else OTHER_PARAGRAPHS
        self.paragraphs = [_paragraph(rng, words, space, stop) for _ in range(count)]
        self.phrases = [space.join(rng.choices(titles, k=2)) for _ in range(PHRASES)]
        # As the end of a link: twice, for a run of them may begin anywhere.
        self.closings = [f"{phrase}</a> " for phrase in self.phrases] * 2


def _paragraph(rng: random.Random, words: list[str], space: str, stop: str) -> str:
    lengths = [9 + int(rng.random() * 10) for _ in range(8)]
    return "".join(space.join(rng.choices(words, k=length)).capitalize() + stop for length in lengths).strip()


prose = lru_cache(POOLS)(Prose)
