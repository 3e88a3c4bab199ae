"""Writes the dictionary of URLs (`url_ids` has the format) from keys in ascending order."""

from __future__ import annotations

import os
import struct
import zlib
from array import array
from pathlib import Path
from typing import IO

from crawlerproj.graph.front_coding import SPARE, front_coded, own_bytes
from crawlerproj.graph.substrings import Speller, Substrings, learn, plain_table
from crawlerproj.graph.url_ids import BLOCK, HEADER, MAGIC

_TABLE_MOST = 64 << 10
_TABLE_LEAST = 4 << 10
_SAMPLED_BLOCKS = 1_024


class UrlIdsWriter:
    """Takes sorted, distinct keys in lists of any length. `close` makes the file whole."""

    def __init__(self, path: Path, expected_keys: int, sample: list[bytes]) -> None:
        """`sample`: some sorted keys, to learn their substrings from."""
        self._path = path
        table = _learn(sample, expected_keys)
        self._table = table.to_bytes() if table else b""
        self._speller = Speller(table or plain_table())
        self._body: IO[bytes] = path.with_name(path.name + ".blocks").open("w+b")
        self._names: IO[bytes] = path.with_name(path.name + ".separators").open("w+b")
        self._block_ends = array("Q")
        self._separator_ends = array("Q")
        self._rest: list[bytes] = []
        self._last = b""
        self.count = 0

    def add(self, keys: list[bytes]) -> None:
        waiting = self._rest + keys
        whole = len(waiting) - len(waiting) % BLOCK
        self._write(waiting[:whole])
        self._rest = waiting[whole:]

    def close(self) -> int:
        """Writes the file; gives its size in bytes."""
        self._write(self._rest)
        tables = self._table + bytes(-len(self._table) % 8)
        tables += self._block_ends.tobytes() + self._separator_ends.tobytes()
        head = HEADER.pack(MAGIC, self.count, len(self._block_ends), len(self._table), 0)[:28]
        self._names.seek(0)
        check = zlib.crc32(self._names.read(), zlib.crc32(tables, zlib.crc32(head)))
        self._body.write(bytes(SPARE))
        with self._path.open("wb") as file:
            file.write(head + struct.pack("<I", check) + tables)
            for part in (self._names, self._body):
                part.seek(0)
                while data := part.read(1 << 20):
                    file.write(data)
                part.close()
                os.unlink(part.name)
            return file.tell()

    def _write(self, keys: list[bytes]) -> None:
        if not keys:
            return
        for start in range(0, len(keys), BLOCK):
            self._separator(keys[start - 1] if start else self._last, keys[start])
        self._last = keys[-1]
        self.count += len(keys)
        begin = self._block_ends[-1] if self._block_ends else 0
        blocks, ends = front_coded(keys, BLOCK, self._speller)
        self._body.write(blocks)
        self._block_ends.extend([begin + end for end in ends])

    def _separator(self, before: bytes, first: bytes) -> None:
        length = 0
        if self._separator_ends:
            while length < len(before) and before[length] == first[length]:
                length += 1
            length += 1
        self._names.write(first[:length])
        self._separator_ends.append((self._separator_ends[-1] if self._separator_ends else 0) + length)


def _learn(sample: list[bytes], expected: int) -> Substrings | None:
    """Substrings whose table takes at most half a byte a key, or 4 KiB; None where there are too few keys."""
    room = min(_TABLE_MOST, max(expected // 2, min(4 * expected, _TABLE_LEAST)))
    if len(sample) < 4 * BLOCK:
        return None
    step = BLOCK * max(1, len(sample) // BLOCK // _SAMPLED_BLOCKS)
    groups = (sample[start : start + BLOCK] for start in range(0, len(sample), step))
    return learn([own for group in groups for own in own_bytes(group, BLOCK)], room)
