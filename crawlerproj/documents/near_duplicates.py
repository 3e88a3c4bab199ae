"""Which known texts are like this one? Locality-sensitive hashing over MinHash signatures, in storage.

A signature of b x r positions is cut into b bands; two texts are candidates if one band is equal in both,
which happens with probability 1 - (1 - s^r)^b at similarity s: an S-curve. Candidates are confirmed by
their signatures' estimate. b and r minimise the weighted area of both errors around the threshold, as in
datasketch; a missed duplicate weighs 19 times a needless comparison, which costs a few microseconds.

Bands are cut from the first nine sixteenths of the positions: of 128, six bands of eleven find a copy of
similarity 0.95 with a chance of 0.994, nine of fourteen with 0.998 for half as many rows more in storage.
They are made of the signature as it is kept, few bits a position, so that they can be found again when a
page has changed; the fewer positions a band has, the more bits they keep.

A bucket (a band's value) names at most `BUCKET_LIMIT` pages. A family of a million alike pages thus costs
no more than one of eight, and a query is flat in the number of documents.
"""

from __future__ import annotations

import math
from binascii import hexlify
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_digest

from crawlerproj.documents.fingerprint import DEFAULT_VALUES, Fingerprinter
from crawlerproj.documents.tables import Tables

ID_BYTES = 6  # two pages of a billion share one with a chance of 4 in a million; their rows tell URLs
KEY_BYTES = 5  # of a band: of a billion documents, one in a hundred shares a bucket by chance
BAND_BITS = 39  # at least so many are in the positions of a band
BUCKET_LIMIT = 8
CANDIDATE_LIMIT = 16
MISS_WEIGHT = 0.95

PageId = bytes


class Buckets:
    """Rows of a table that name a few pages each. Full rows take no more until one leaves."""

    def __init__(self, tables: Tables, table: str) -> None:
        self._tables, self._table = tables, table

    def rows(self, keys: list[bytes]) -> list[tuple[str, bytes]]:
        """The rows of some keys, as tables name them."""
        return [(self._table, key) for key in keys]

    def row(self, key: bytes) -> bytes:
        return self._tables.get(self._table, key) or b""

    def look_up(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """The rows of some keys, read in one call."""
        found = self._tables.get_many(self.rows(keys))
        return {key: row or b"" for key, row in zip(keys, found, strict=True)}

    def add(self, key: bytes, page: PageId, row: bytes | None = None) -> None:
        """`row` is what a look-up of the key has just given: it saves the second read."""
        row = self.row(key) if row is None else row
        if not row:
            self._tables.put(self._table, key, page)
        elif len(row) < BUCKET_LIMIT * ID_BYTES and page not in members(row):
            self._tables.put(self._table, key, row + page)

    def remove(self, key: bytes, page: PageId) -> None:
        pages = members(self.row(key))
        if page not in pages:
            return
        pages.remove(page)
        if pages:
            self._tables.put(self._table, key, b"".join(pages))
        else:
            self._tables.delete(self._table, key)


class NearDuplicates:
    """Finds pages by similarity. Look up first, then `insert` with what the look-up gave."""

    def __init__(
        self, tables: Tables, threshold: float = 0.9, values: int = DEFAULT_VALUES, table: str = "fp-near"
    ) -> None:
        self.threshold = threshold
        self.bands, self.rows = lsh_parameters(threshold, values * 9 // 16)
        self.prints = Fingerprinter(values, bits_a_position(self.rows))
        self._buckets = Buckets(tables, table)

    def rows_of(self, signature: bytes) -> list[tuple[str, bytes]]:
        """What a look-up will read."""
        return self._buckets.rows(self.keys(signature))

    def look_up(self, signature: bytes) -> dict[bytes, bytes]:
        """The bucket of each band: {key: row}."""
        return self._buckets.look_up(self.keys(signature))

    def matches(
        self, signature: bytes, looked_up: dict[bytes, bytes], signature_of: Callable[[PageId], bytes],
        itself: PageId = b"",
    ) -> list[tuple[float, PageId]]:
        """Confirmed pages, the most similar first; of equals the one known longest."""
        if not any(looked_up.values()):  # as for most pages
            return []
        counts = Counter(page for row in looked_up.values() for page in members(row) if page != itself)
        found = []
        for page, _ in counts.most_common(CANDIDATE_LIMIT):
            other = signature_of(page)
            if len(other) == len(signature):
                similarity = self.prints.estimate(signature, other)
                if similarity >= self.threshold:
                    found.append((similarity, page))
        found.sort(key=lambda match: -match[0])
        return found

    def insert(self, page: PageId, looked_up: dict[bytes, bytes]) -> None:
        for key, row in looked_up.items():
            self._buckets.add(key, page, row)

    def remove(self, page: PageId, signature: bytes) -> None:
        for key in self.keys(signature):
            self._buckets.remove(key, page)

    def keys(self, signature: bytes) -> list[bytes]:
        """One key for each band: the hash of its positions and its number."""
        digits, width = hexlify(self.prints.dense(signature)), self.rows * self.prints.bits // 4
        return [
            xxh3_64_digest(digits[band * width : band * width + width], seed=band)[:KEY_BYTES]
            for band in range(self.bands)
        ]


def members(row: bytes) -> list[PageId]:
    return [row[start : start + ID_BYTES] for start in range(0, len(row), ID_BYTES)]


def candidate_probability(similarity: float, bands: int, rows: int) -> float:
    return float(1.0 - (1.0 - similarity**rows) ** bands)


def bits_a_position(rows: int) -> Literal[4, 8, 16]:
    """As few as tell the bands of a billion documents apart."""
    return 4 if rows * math.log2(15) >= BAND_BITS else 8 if rows * math.log2(255) >= BAND_BITS else 16


@cache
def lsh_parameters(threshold: float, values: int, miss_weight: float = MISS_WEIGHT) -> tuple[int, int]:
    """The (bands, rows) with the least weighted error area; datasketch's choice, without its 1 s import."""
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"NEAR_DUPLICATE_THRESHOLD is {threshold}: give a number above 0, at most 1.")
    below = _midpoints(0.0, threshold)
    above = _midpoints(threshold, 1.0)
    best, least = (1, values), float("inf")
    for bands in range(1, min(values, 255) + 1):
        for rows in range(1, values // bands + 1):
            false_alarms = threshold * float(np.mean(1 - (1 - below**rows) ** bands))
            misses = (1 - threshold) * float(np.mean((1 - above**rows) ** bands)) if threshold < 1 else 0.0
            error = false_alarms * (1 - miss_weight) + misses * miss_weight
            if error < least:
                best, least = (bands, rows), error
    return best


def _midpoints(low: float, high: float, steps: int = 400) -> NDArray[np.float64]:
    return low + (np.arange(steps, dtype=np.float64) + 0.5) * ((high - low) / steps)
