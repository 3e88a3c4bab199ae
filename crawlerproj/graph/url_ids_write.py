"""Writes the dictionary of URLs (`url_ids` has the format) from keys in ascending order."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import IO

import zstandard

from crawlerproj.graph.front_coding import front_coded
from crawlerproj.graph.url_ids import BLOCK, HEADER, MAGIC

# Of the ways to search that zstd has, the one whose blocks are read fastest: matches of five bytes at least
# mean fewer of them. Level 12 takes twice as long, saves 1.5 %, and its blocks take a tenth longer to read.
_SEARCH = {"strategy": zstandard.STRATEGY_LAZY, "search_log": 6, "min_match": 5, "target_length": 32,
           "window_log": 17, "chain_log": 17, "hash_log": 17}  # fmt: skip
_TRAINED_MOST = 64 << 10
_SAMPLED_BLOCKS = 1_024  # 4,096 take four times as long and save at most 0.5 %


class UrlIdsWriter:
    """Takes sorted, distinct keys in lists of any length. `close` makes the file whole."""

    def __init__(self, path: Path, expected_keys: int, sample: list[bytes]) -> None:
        """`sample`: some sorted keys, to train the compressor on."""
        self._path = path
        self._dictionary = _train(sample, expected_keys)
        self._zstd = _compressor(self._dictionary)
        self._body: IO[bytes] = path.with_name(path.name + ".blocks").open("w+b")
        self._names: IO[bytes] = path.with_name(path.name + ".separators").open("w+b")
        self._block_ends: list[int] = []
        self._separator_ends: list[int] = []
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
        trained = self._dictionary.as_bytes() if self._dictionary else b""
        tables = trained + struct.pack(f"<{len(self._block_ends)}Q", *self._block_ends)
        tables += struct.pack(f"<{len(self._separator_ends)}Q", *self._separator_ends)
        head = HEADER.pack(MAGIC, self.count, len(self._block_ends), len(trained), 0)[:28]
        check = zlib.crc32(tables, zlib.crc32(head))
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
        end = self._block_ends[-1] if self._block_ends else 0
        for block in front_coded(keys, BLOCK):
            frame = self._zstd.compress(block)
            self._body.write(frame)
            end += len(frame)
            self._block_ends.append(end)

    def _separator(self, before: bytes, first: bytes) -> None:
        length = 0
        if self._separator_ends:
            while length < len(before) and before[length] == first[length]:
                length += 1
            length += 1
        self._names.write(first[:length])
        self._separator_ends.append((self._separator_ends[-1] if self._separator_ends else 0) + length)


def _train(sample: list[bytes], expected: int) -> zstandard.ZstdCompressionDict | None:
    """A zstd dictionary that takes at most half a byte a key; None where there are too few."""
    size = min(_TRAINED_MOST, expected // 2)
    if size < 1024 or len(sample) < 64 * BLOCK:
        return None
    step = BLOCK * max(1, len(sample) // BLOCK // _SAMPLED_BLOCKS)
    blocks: list[bytes | bytearray | memoryview] = [
        front_coded(sample[start : start + BLOCK], BLOCK)[0] for start in range(0, len(sample), step)
    ]
    try:
        return zstandard.train_dictionary(size, blocks)
    except zstandard.ZstdError:  # the sample is too uniform to learn from
        return None


def _compressor(dictionary: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdCompressor:
    parameters = zstandard.ZstdCompressionParameters(
        **_SEARCH, write_content_size=True, write_checksum=False, write_dict_id=False,
        format=zstandard.FORMAT_ZSTD1_MAGICLESS,
    )  # fmt: skip
    return zstandard.ZstdCompressor(compression_params=parameters, dict_data=dictionary)
