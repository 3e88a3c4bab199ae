"""The dictionary of URLs: a URL's number is its rank in the order of `url_keys`, and back.

Keys lie in blocks of 64, front coded: each tells how many bytes it shares with the key before, and
the rest. Blocks are compressed by zstd with a dictionary trained on some of them.

A file, numbers little-endian:

    0   magic "CPURLS01"; keys (8 bytes); blocks (8); bytes of the zstd dictionary (4); CRC-32 of the
        bytes before, the dictionary and both lists of ends (4)
    32  the zstd dictionary
        ends of the blocks (8 bytes each), ends of the separators (8 each)
        separators: for each block the shortest bytes that are above the last key of the block
        before and not above its own first
        blocks: zstd frames without magic, with their content's size

A block, uncompressed: one byte w, 1 or 2; for each key the number of shared bytes, then for each key
the number of its own, in w bytes each (keys above 65,535 bytes are not stored); then all own bytes.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import numpy as np
import zstandard

from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.front_coding import find_key, read_key
from crawlerproj.graph.jit import DAMAGED
from crawlerproj.graph.url_keys import key_of, url_of

MAGIC = b"CPURLS01"
HEADER = struct.Struct("<8sQQII")
BLOCK = 64
LONGEST_KEY = 65_535
_SEPARATORS_IN_MEMORY = 1 << 16
_REMEDY = "build the graph anew with `scrapy graph build`"


class UrlIds:
    """Reads a dictionary, mapped into memory. `None` where a URL or a number is not in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing: {_REMEDY}")
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size or head[:8] != MAGIC:
                raise DamagedGraph(f"{path} is no dictionary of URLs (or cut short): {_REMEDY}")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        unpacked: tuple[bytes, int, int, int, int] = HEADER.unpack(head)
        _, self._count, self._blocks, trained, check = unpacked
        ends = HEADER.size + trained
        self._separators = ends + 16 * self._blocks
        tables = self._map[HEADER.size : self._separators]
        sound = zlib.crc32(tables, zlib.crc32(head[:28])) == check
        if not sound or -(-self._count // BLOCK) != self._blocks or self._separators > len(self._map):
            raise DamagedGraph(f"the head of {path} is damaged: {_REMEDY}")
        # Slices of a map are copies; the lists of ends are looked at without.
        view = memoryview(self._map)[ends : self._separators].cast("Q")
        self._block_ends, self._separator_ends = view[: self._blocks], view[self._blocks :]
        self._data = self._separators + (self._separator_ends[-1] if self._blocks else 0)
        if self._data + (self._block_ends[-1] if self._blocks else 0) != len(self._map):
            raise DamagedGraph(f"{path} is not as long as it says: {_REMEDY}")
        dictionary = zstandard.ZstdCompressionDict(tables[:trained]) if trained else None
        self._zstd = zstandard.ZstdDecompressor(dict_data=dictionary, format=zstandard.FORMAT_ZSTD1_MAGICLESS)
        self._full_blocks = self._count // BLOCK
        self._lock = Lock()
        self._last: tuple[int, bytes] = (-1, b"")  # a page's links lead to neighbours: the block opened last
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
        keys = BLOCK if block < self._full_blocks else self._count - block * BLOCK
        place = find_key(self._open(block), keys, key)
        if place == DAMAGED:
            raise DamagedGraph(f"block {block} of {self.path} is damaged: {_REMEDY}")
        return block * BLOCK + place if place >= 0 else 1 - block * BLOCK + place

    def url_of(self, number: int) -> str | None:
        key = self.key_of_id(number)
        return url_of(key) if key is not None else None

    def key_of_id(self, number: int) -> bytes | None:
        if not 0 <= number < self._count:
            return None
        block, place = divmod(number, BLOCK)
        into = np.empty(LONGEST_KEY, np.uint8)
        length = read_key(self._open(block), self._keys(block), place, into)
        if length < 0:
            raise DamagedGraph(f"block {block} of {self.path} is damaged: {_REMEDY}")
        return into[:length].tobytes()

    def keys(self, first: int = 0, last: int | None = None) -> Iterator[bytes]:
        """The keys of a range of numbers, in order."""
        last = self._count if last is None else min(last, self._count)
        for block in range(first // BLOCK, -(-last // BLOCK)):
            data = self._open(block)
            into = np.empty(LONGEST_KEY, np.uint8)
            for place in range(self._keys(block)):
                if first <= block * BLOCK + place < last:
                    length = read_key(data, self._keys(block), place, into)
                    if length < 0:
                        raise DamagedGraph(f"block {block} of {self.path} is damaged: {_REMEDY}")
                    yield into[:length].tobytes()

    def range_of(self, prefix: bytes) -> range:
        """The numbers of the keys that begin so."""
        first, last = self.rank(prefix), self.rank(prefix + b"\xff\xff\xff\xff")
        return range(first if first >= 0 else -1 - first, last if last >= 0 else -1 - last)

    def _keys(self, block: int) -> int:
        return min(BLOCK, self._count - block * BLOCK)

    def _separator(self, block: int) -> bytes:
        start = self._separator_ends[block - 1] if block else 0
        return self._map[self._separators + start : self._separators + self._separator_ends[block]]

    def _open(self, block: int) -> bytes:
        last = self._last
        if last[0] == block:
            return last[1]
        ends, base = self._block_ends, self._data
        frame = self._map[base + ends[block - 1] if block else base : base + ends[block]]
        try:
            with self._lock:  # one decompressor serves one thread at a time
                data: bytes = self._zstd.decompress(frame)
        except (zstandard.ZstdError, MemoryError) as error:  # a damaged size may be any number
            raise DamagedGraph(f"block {block} of {self.path} is damaged ({error}): {_REMEDY}") from error
        self._last = (block, data)
        return data
