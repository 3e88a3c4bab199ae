"""Where are the documents kept? In WARC/1.1 files, one gzip member a record, with an index beside each.

Records are compressed at once and collected in memory; `flush_and_sync` brings them to the disk. How a
commit goes and which threads may do what is told in `committed_files`: archive = committed pages. The
index is written after the records it names and is made to fit them by `recover`, so it has no length of
its own to commit and needs no sync.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from isal import igzip_lib

from crawlerproj.committed_files import CommittedFiles
from crawlerproj.documents import cdx
from crawlerproj.documents.archive_files import ArchiveFile, archive_files, file_name
from crawlerproj.documents.index_files import write_order
from crawlerproj.documents.payloads import Payloads
from crawlerproj.documents.records import (
    FIELDS_TYPE,
    REQUEST_TYPE,
    RESPONSE_TYPE,
    Fields,
    Former,
    Headers,
    capture,
    date,
    encode,
    metadata_block,
    new_id,
    payload_digest,
    request_head,
)
from crawlerproj.documents.recovery import recover
from crawlerproj.items import Page

__all__ = ["Archive", "Former", "recover"]

MAX_BUFFER = 8 << 20


# ISA-L's levels end here: at level 3 it is three times as fast as zlib's 3 and packs a little better.
_FAST_LEVELS = 3


def gzip_member(data: bytes, level: int) -> bytes:
    """One whole gzip member: each record can be read by its offset."""
    if level <= _FAST_LEVELS:
        packed: bytes = igzip_lib.compress(data, level, flag=igzip_lib.COMP_GZIP)
        return packed
    return zlib.compress(data, level, wbits=31)


class Archive:
    """Appends fetches to `<prefix>-<worker>-00000.warc.gz` and its successors in one directory."""

    def __init__(
        self,
        directory: Path,
        prefix: str = "crawl",
        worker: str = "0",
        max_bytes: int = 1 << 30,
        level: int = 3,
        software: str = "crawlerproj/0.1.0",
        now: Callable[[], float] = time.time,
        payloads: Payloads | None = None,
    ) -> None:
        """With `payloads`, a body that some record holds already becomes a revisit of that record."""
        directory.mkdir(parents=True, exist_ok=True)
        self._max_bytes, self._level, self._software, self._now = max_bytes, level, software, now
        self._payloads = payloads
        self._files = CommittedFiles(
            directory, max(archive_files(directory, prefix, worker), default=0),
            lambda number: ArchiveFile(directory / file_name(prefix, worker, number)),
            lambda file: write_order(directory / file.index.name),
        )

    def write(
        self,
        page: Page,
        request_headers: Headers | None = None,
        decoded: bool = True,
        *,
        metadata: Mapping[str, object] | None = None,
        former: Former | None = None,
    ) -> tuple[str, int, int]:
        """Appends the response, and the request and the metadata if given: (file, offset, length).

        A 304 is a revisit, and so is a body whose digest is that of `former`. `decoded`: the body is no
        longer content-coded as the headers say. Transfer coding is always taken off by the HTTP client.
        Headers are text decoded as Latin-1; other text goes out as UTF-8. `metadata` ({} for none but
        timing, encoding and depth) may hold outcome, language, duplicate_of and whatever else is known.
        """
        file = self._files.newest
        if file.length >= self._max_bytes:
            self._files.rotate()
            self._write_warcinfo()
        elif file.length == 0:
            self._write_warcinfo()
        body_digest = payload_digest(page)
        if former is None and self._payloads is not None:
            former = self._payloads.former(page, body_digest)
        made = capture(page, self._files.newest.warcinfo_id, decoded, former, body_digest)
        kind = "revisit" if made.revisit else "response"
        where = self._append(kind, made.record_id, made.about + made.own, RESPONSE_TYPE, made.block)
        self._index(page, made.digest, cdx.REVISIT_MIME if made.revisit else page_mime(page), *where)
        beside = [*made.about, ("WARC-Concurrent-To", made.record_id)]
        if request_headers is not None:
            self._append("request", new_id(), beside, REQUEST_TYPE, request_head(page.url, request_headers))
        if metadata is not None:
            self._append("metadata", new_id(), beside, FIELDS_TYPE, metadata_block(page, metadata))
        return where

    def lengths(self) -> dict[str, int]:
        """The length of each WARC file written to since the last call, waiting bytes included."""
        return self._files.lengths()

    def flush_and_sync(self, sync: bool = True) -> None:
        """Brings to the disk at least what was written before the call. Safe in another thread.

        After an OSError (a full disk) what did not reach the file is still waiting, in order.
        """
        self._files.flush_and_sync(sync)

    def close(self) -> None:
        """Flushes, syncs and closes. The archive cannot be used afterwards."""
        self._files.close()

    def _append(
        self, kind: str, record_id: str, fields: Fields, content_type: str, block: bytes
    ) -> tuple[str, int, int]:
        member = gzip_member(encode(kind, record_id, fields, content_type, block), self._level)
        return self._files.newest.name, self._files.append(member, MAX_BUFFER), len(member)

    def _index(self, page: Page, digest: str, mime: str, name: str, offset: int, length: int) -> None:
        when = cdx.timestamp_of(page.fetched_at)
        line = cdx.encode(page.url, when, mime, page.status, digest or "-", name, offset, length)
        index = self._files.newest.index
        with self._files.swap_lock:
            index.waiting += line
            index.length += len(line)

    def _write_warcinfo(self) -> None:
        file = self._files.newest
        record_id = file.warcinfo_id = new_id()
        block = f"software: {self._software}\r\nformat: WARC File Format 1.1\r\n".encode()
        fields = [("WARC-Date", date(self._now())), ("WARC-Filename", file.name)]
        self._append("warcinfo", record_id, fields, FIELDS_TYPE, block)


def page_mime(page: Page) -> str:
    """The media type without its parameters, from the page or its headers."""
    value = page.content_type or next((v for n, v in page.headers if n.lower() == "content-type"), "")
    mime = value.partition(";")[0].strip().lower()
    return mime if mime and " " not in mime else "unk"
