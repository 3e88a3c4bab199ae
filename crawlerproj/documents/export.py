"""The archive for other programs: JSON lines, WET, sorted CDXJ; tables are in `export_parquet`.

Everything streams. A result appears under its name only when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from crawlerproj.documents import records
from crawlerproj.documents.archive import gzip_member
from crawlerproj.documents.rows import Row

_LEVEL = 3


@contextmanager
def completed(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name when everything went well, and leaves nothing if not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def export_jsonl(rows: Iterable[Row], path: Path) -> int:
    """A line for each capture, its links included; gives their number."""
    count = 0
    with completed(path) as file:
        for row in rows:
            file.write(json.dumps(plain(row), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            count += 1
    return count


def plain(row: Row) -> dict[str, object]:
    """A row in JSON's types."""
    return {
        "url": row.url, "host": row.host,
        "time": datetime.fromtimestamp(row.time, UTC).isoformat().replace("+00:00", "Z"),
        "status": row.status, "type": row.type, "language": row.language, "title": row.title,
        "text": row.text, "digest": row.digest, "duplicate_of": row.duplicate_of, "depth": row.depth,
        "link_count": row.link_count,
        "robots": row.robots, "description": row.said.description, "headings": row.said.headings,
        "emphasised": row.said.emphasised,
        "links": [{"target": link.url, "anchor": link.anchor, "rel": link.rel} for link in row.links],
    }


def export_wet(rows: Iterable[Row], path: Path) -> int:
    """The texts as WARC conversion records (the WET files of Common Crawl); gives their number."""
    count = 0
    with completed(path) as file:
        for row in rows:
            if not row.text:
                continue
            if not count:
                fields = [("WARC-Date", records.date(row.time)), ("WARC-Filename", path.name)]
                block = b"format: WARC File Format 1.1\r\n"
                file.write(_member("warcinfo", fields, records.FIELDS_TYPE, block))
            fields = [
                ("WARC-Target-URI", records.target(row.url)), ("WARC-Date", records.date(row.time)),
                ("WARC-Refers-To", row.record_id), ("WARC-Identified-Content-Language", row.language),
            ]
            text = row.text.encode("utf-8", "replace")
            file.write(_member("conversion", fields, "text/plain", text))
            count += 1
    return count


def export_cdxj(lines: Iterable[bytes], path: Path) -> int:
    """The whole index, sorted, as pywb and other readers take it; gives the number of lines."""
    count = 0
    with completed(path) as file:
        for line in lines:
            file.write(line)
            count += 1
    return count


def _member(kind: str, fields: records.Fields, content_type: str, block: bytes) -> bytes:
    return gzip_member(records.encode(kind, records.new_id(), fields, content_type, block), _LEVEL)
