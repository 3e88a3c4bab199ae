"""The files of an index: beside each WARC file its lines as they came and, once complete, their order.

`.order` is 16 bytes (magic, length of the index it belongs to) and an array of where the lines begin,
sorted by line, little-endian. It is derived: one that does not fit the length of its index is ignored.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from crawlerproj.documents.archive_files import order_path

_MAGIC = b"CDXORDR1"
_HEAD = len(_MAGIC) + 8


class Segment(Protocol):
    """The lines of one index file in sorted order."""

    def lines_from(self, first: bytes) -> Iterator[bytes]:
        """The lines that are not before `first`."""


class SortedSegment:
    """A complete index: searched where it lies, nothing of it is held in memory."""

    def __init__(self, data: mmap.mmap, order: mmap.mmap) -> None:
        self._data = data
        self._starts = np.frombuffer(order, "<u8", offset=_HEAD)

    def lines_from(self, first: bytes) -> Iterator[bytes]:
        data, starts, width = self._data, self._starts, len(first)
        low, high = 0, len(starts)
        while low < high:
            middle = (low + high) // 2
            begin = int(starts[middle])
            if data[begin : begin + width] < first:
                low = middle + 1
            else:
                high = middle
        for number in range(low, len(starts)):
            begin = int(starts[number])
            yield data[begin : data.find(b"\n", begin) + 1]


class LiveSegment:
    """An index that is still growing: its lines are in memory, sorted. As many as one WARC file has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[bytes] = []
        self._read = 0

    def refresh(self) -> None:
        with self._path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._read:  # cut by a recovery
                self._lines, self._read = [], 0
            file.seek(self._read)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole:
            self._read += whole
            self._lines += data[:whole].splitlines(keepends=True)
            self._lines.sort()

    def lines_from(self, first: bytes) -> Iterator[bytes]:
        for number in range(bisect_left(self._lines, first), len(self._lines)):
            yield self._lines[number]


def write_order(index: Path) -> None:
    """Sorts a complete index. A crash leaves no half of it."""
    data = index.read_bytes()
    lines = data.splitlines(keepends=True)
    starts = np.zeros(len(lines), "<u8")
    np.cumsum([len(line) for line in lines[:-1]], out=starts[1:])
    order = sorted(range(len(lines)), key=lines.__getitem__)
    path = order_path(index)
    fresh = path.with_suffix(".order.new")
    fresh.write_bytes(_MAGIC + len(data).to_bytes(8, "little") + starts[order].tobytes())
    fresh.replace(path)


def open_sorted(index: Path) -> SortedSegment | None:
    """The index with its order; None if it has none that fits, or is empty."""
    try:
        with index.open("rb") as lines, order_path(index).open("rb") as order:
            length = os.fstat(lines.fileno()).st_size
            head = order.read(_HEAD)
            if head != _MAGIC + length.to_bytes(8, "little") or length == 0:
                return None
            access = mmap.ACCESS_READ
            return SortedSegment(
                mmap.mmap(lines.fileno(), 0, access=access), mmap.mmap(order.fileno(), 0, access=access)
            )
    except FileNotFoundError:
        return None
