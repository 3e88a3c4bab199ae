"""Tables: rows that any worker may read and write. A slice of the rows has its own hash tag."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Sequence
from zlib import crc32

import msgpack

from crawlerproj.storage.redis.line import Line

_CACHED = 50_000

Row = tuple[str, bytes]
"""A table and a key."""


class RowCache:
    """Rows that need not be asked for: those read ahead, and those of tables that no other worker writes.

    A table is a worker's own if its rows belong to hosts: a host's pages are all its owner's. When
    partitions come or go, or the server has forgotten, all are read anew.
    """

    def __init__(self, own: Container[str]) -> None:
        self._own = own
        self._kept: OrderedDict[Row, bytes | None] = OrderedDict()
        self.ahead: dict[Row, bytes | None] = {}

    def __contains__(self, row: Row) -> bool:
        return row in self._kept or row in self.ahead

    def __getitem__(self, row: Row) -> bytes | None:
        return self._kept[row] if row in self._kept else self.ahead[row]

    def keep(self, rows: Sequence[Row], values: Sequence[bytes | None]) -> None:
        for row, value in zip(rows, values, strict=True):
            self.written(row, value)

    def written(self, row: Row, value: bytes | None) -> None:
        if row[0] in self._own:
            self._kept[row] = value
            if len(self._kept) > _CACHED:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()
        self.ahead.clear()


class Tables:
    def __init__(self, line: Line, crawl: str, slices: int) -> None:
        self._line, self._crawl, self.slices = line, crawl, slices

    def place(self, key: bytes) -> bytes:
        """The key that stands for a row's slice in a call."""
        return self.place_of(crc32(key) % self.slices)

    def place_of(self, number: int) -> bytes:
        return f"{self._crawl}:{{t{number}}}:m".encode()

    def read(self, rows: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        places: dict[bytes, list[int]] = {}
        for i, (_, key) in enumerate(rows):
            places.setdefault(self.place(key), []).append(i)
        answers = self._line.calls([
            ("rows_get", place, [part for i in chosen for part in rows[i]])
            for place, chosen in places.items()
        ])
        values: list[bytes | None] = [None] * len(rows)
        for chosen, answer in zip(places.values(), answers, strict=True):
            for i, value in zip(chosen, msgpack.unpackb(answer, raw=True), strict=True):
                values[i] = None if value is False else value
        return values
