"""The dictionary of URLs: a URL's number is its rank in the order of `url_keys`, and back.

Keys lie in blocks of 64, front coded (`front_coding`): each tells how many bytes it shares with the key
before, and the rest, in codes for the substrings that these keys are full of (`substrings`).

A file, numbers little-endian:

    0   magic "CPURLS02"; keys (8 bytes); blocks (8); bytes of the table of substrings (4); CRC-32 of the
        bytes before, the table, both lists of ends and the separators (4)
    32  the table of substrings, and zeros up to a multiple of 8
        ends of the blocks (8 bytes each), ends of the separators (8 each)
        separators: for each block the shortest bytes that are above the last key of the block
        before and not above its own first
        blocks, each with its own check; one zero byte
"""

from __future__ import annotations

import mmap
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crawlerproj.graph.damage import REMEDY, DamagedGraph
from crawlerproj.graph.front_coding import SPARE, find_key, read_key
from crawlerproj.graph.jit import DAMAGED, Bytes
from crawlerproj.graph.substrings import table_from
from crawlerproj.graph.url_keys import key_of, url_of

MAGIC = b"CPURLS02"
HEADER = struct.Struct("<8sQQII")
BLOCK = 64
LONGEST_KEY = 65_535
_SEPARATORS_IN_MEMORY = 1 << 16


class UrlIds:
    """Reads a dictionary, mapped into memory. `None` where a URL or a number is not in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing: {REMEDY}")
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size or head[:8] != MAGIC:
                raise DamagedGraph(f"{path} is no dictionary of URLs (or cut short): {REMEDY}")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        unpacked: tuple[bytes, int, int, int, int] = HEADER.unpack(head)
        _, self._count, self._blocks, trained, check = unpacked
        ends = HEADER.size + trained + -trained % 8
        self._separators = ends + 16 * self._blocks
        sound = -(-self._count // BLOCK) == self._blocks and self._separators <= len(self._map)
        # Slices of a map are copies; the lists of ends are looked at without.
        view = memoryview(self._map)[ends : self._separators if sound else ends].cast("Q")
        self._block_ends, self._separator_ends = view[: self._blocks], view[self._blocks :]
        self._data = self._separators + (self._separator_ends[-1] if view else 0)
        tables = self._map[HEADER.size : self._data]
        if not sound or zlib.crc32(tables, zlib.crc32(head[:28])) != check:
            raise DamagedGraph(f"the head of {path} is damaged: {REMEDY}")
        if self._data + (self._block_ends[-1] if view else 0) + SPARE != len(self._map):
            raise DamagedGraph(f"{path} is not as long as it says: {REMEDY}")
        self._rows, self._ones = table_from(tables[:trained])
        self._bytes: Bytes = np.frombuffer(self._map, np.uint8)
        self._full_blocks = self._count // BLOCK
        self._stride = -(-self._blocks // _SEPARATORS_IN_MEMORY) or 1
        self._top = [self._separator(block) for block in range(0, self._blocks, self._stride)]

    def __len__(self) -> int:
        return self._count

    def id_of(self, url: str) -> int | None:
        rank = self.rank(key_of(url))
        return None if rank < 0 else rank

    def id_of_key(self, key: bytes) -> int | None:
        rank = self.rank(key)
        return None if rank < 0 else rank

    def rank(self, key: bytes) -> int:
        """The number of a key; of one that is not there, -1 - the number of keys below it."""
        group = bisect_right(self._top, key) - 1
        if group < 0:
            return -1
        block = group * self._stride
        if self._stride > 1:
            last = min(block + self._stride, self._blocks)
            block = bisect_right(range(block, last), key, key=self._separator) + block - 1
        place = find_key(self._bytes, *self._block(block), key, self._rows, self._ones)
        if place == DAMAGED:
            raise self._damaged(block)
        return block * BLOCK + place if place >= 0 else 1 - block * BLOCK + place

    def url_of(self, number: int) -> str | None:
        key = self.key_of_id(number)
        return url_of(key) if key is not None else None

    def key_of_id(self, number: int) -> bytes | None:
        if not 0 <= number < self._count:
            return None
        block, place = divmod(number, BLOCK)
        into = np.empty(LONGEST_KEY, np.uint8)
        length = read_key(self._bytes, *self._block(block), place, self._rows, self._ones, into)
        if length < 0:
            raise self._damaged(block)
        return into[:length].tobytes()

    def keys(self, first: int = 0, last: int | None = None) -> Iterator[bytes]:
        """The keys of a range of numbers, in order."""
        last = self._count if last is None else min(last, self._count)
        for number in range(first, last):
            key = self.key_of_id(number)
            assert key is not None
            yield key

    def range_of(self, prefix: bytes) -> range:
        """The numbers of the keys that begin so."""
        first, last = self.rank(prefix), self.rank(prefix + b"\xff\xff\xff\xff")
        return range(first if first >= 0 else -1 - first, last if last >= 0 else -1 - last)

    def _block(self, block: int) -> tuple[int, int, int]:
        """Where a block begins and ends, and how many keys it has."""
        ends, base = self._block_ends, self._data
        start = base + ends[block - 1] if block else base
        return start, base + ends[block], BLOCK if block < self._full_blocks else self._count - block * BLOCK

    def _damaged(self, block: int) -> DamagedGraph:
        return DamagedGraph(f"block {block} of {self.path} is damaged: {REMEDY}")

    def _separator(self, block: int) -> bytes:
        start = self._separator_ends[block - 1] if block else 0
        return self._map[self._separators + start : self._separators + self._separator_ends[block]]
