"""The archive as two Parquet tables: `pages.parquet`, a row a capture, and `links.parquet`, a row a link.

Rows are written in groups of bounded size, so memory does not grow with the archive.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from crawlerproj.documents.export import completed
from crawlerproj.documents.rows import Row

GROUP_ROWS = 20_000
GROUP_BYTES = 16 << 20  # of text; a group takes several times as much while it is written

PAGES = pa.schema([
    ("url", pa.string()), ("host", pa.string()), ("time", pa.timestamp("us", tz="UTC")),
    ("status", pa.int16()), ("type", pa.string()), ("language", pa.string()), ("title", pa.string()),
    ("text", pa.string()), ("digest", pa.string()), ("duplicate_of", pa.string()), ("depth", pa.int32()),
    ("link_count", pa.int32()), ("robots", pa.string()),
])
LINKS = pa.schema([
    ("source", pa.string()), ("target", pa.string()), ("anchor", pa.string()), ("rel", pa.string()),
])


class _Table:
    """Collects rows and writes them a group at a time."""

    def __init__(self, file: IO[bytes], schema: Any) -> None:
        self._writer = pq.ParquetWriter(file, schema, compression="zstd")
        self._schema = schema
        self._columns: list[list[object]] = [[] for _ in schema]
        self._bytes = 0

    def add(self, values: tuple[object, ...], size: int) -> None:
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self._bytes += size
        if len(self._columns[0]) >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._write()

    def close(self) -> None:
        if self._columns[0]:
            self._write()
        self._writer.close()

    def _write(self) -> None:
        pairs = zip(self._columns, self._schema, strict=True)
        arrays = [pa.array(column, kind.type) for column, kind in pairs]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._columns = [[] for _ in self._schema]
        self._bytes = 0


def export_parquet(rows: Iterable[Row], directory: Path) -> int:
    """Writes both tables into a directory; gives the number of pages."""
    count = 0
    with ExitStack() as files:
        pages = _Table(files.enter_context(completed(directory / "pages.parquet")), PAGES)
        links = _Table(files.enter_context(completed(directory / "links.parquet")), LINKS)
        for row in rows:
            pages.add(_page_values(row), len(row.text))
            for link in row.links:
                values = (row.url, link.url, _utf8(link.anchor), _utf8(link.rel))
                links.add(values, len(link.url) + len(link.anchor) + len(row.url))
            count += 1
        pages.close()
        links.close()
    return count


def _page_values(row: Row) -> tuple[object, ...]:
    return (
        row.url, row.host, datetime.fromtimestamp(row.time, UTC), row.status, row.type, row.language,
        _utf8(row.title), _utf8(row.text), row.digest, row.duplicate_of or None, row.depth, row.link_count,
        row.robots or None,
    )


def _utf8(text: str) -> str:
    """Without half characters (lone surrogates), which the format cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
