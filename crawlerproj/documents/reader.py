"""A stored document by its URL: one search in the index, one seek, one gzip member.

Popular documents stay in memory up to a number of bytes, the least recently asked for leaving first.
"""

from __future__ import annotations

import os
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crawlerproj.documents.cdx import Entry
from crawlerproj.documents.index import Index
from crawlerproj.documents.members import BadRecord, Http, Record, parse_date, parse_http, parse_record
from crawlerproj.documents.records import target

CACHE_BYTES = 64 << 20
OPEN_FILES = 64
_BESIDE_BYTES = 1 << 16


@dataclass(slots=True, frozen=True)
class Document:
    """One capture. `headers` and `status` are its own; the body of a revisit is that of the former record."""

    entry: Entry
    record: Record
    http: Http
    body: bytes
    is_complete: bool = True  # False: a revisit whose former record is not here

    @property
    def url(self) -> str:
        return self.entry.url

    @property
    def truncated(self) -> str:
        return self.record.fields.get("warc-truncated", "")


class Reader:
    """Reads an archive, also one that a crawl is writing. Belongs to one thread."""

    def __init__(self, directory: Path, cache_bytes: int = CACHE_BYTES) -> None:
        self.index = Index(directory)
        self._directory, self._cache_bytes = directory, cache_bytes
        self._cached: OrderedDict[tuple[str, int], Document] = OrderedDict()
        self._cached_bytes = 0
        self._files: OrderedDict[str, int] = OrderedDict()

    def get(self, url: str, at: float | None = None) -> Document | None:
        """The newest good capture of a URL, or the one nearest to `at` (seconds since the epoch)."""
        entry = self.index.find(url, at)
        return self.document(entry) if entry is not None else None

    def document(self, entry: Entry) -> Document:
        key = (entry.filename, entry.offset)
        document = self._cached.get(key)
        if document is not None:
            self._cached.move_to_end(key)
            return document
        document = self._read(entry)
        size = _size(document)
        if size <= self._cache_bytes:
            self._cached[key] = document
            self._cached_bytes += size
            while self._cached_bytes > self._cache_bytes:
                self._cached_bytes -= _size(self._cached.popitem(last=False)[1])
        return document

    def beside(self, entry: Entry) -> Iterator[Record]:
        """The request and the metadata that were written with a capture."""
        data = os.pread(self._descriptor(entry.filename), _BESIDE_BYTES, entry.end)
        while data:
            member = zlib.decompressobj(wbits=31)
            content = member.decompress(data)
            if not member.eof:
                return
            record = parse_record(content)
            if record.kind not in ("request", "metadata"):
                return
            yield record
            data = member.unused_data

    def metadata(self, entry: Entry) -> dict[str, str]:
        """What the crawler noted beside the response."""
        for record in self.beside(entry):
            if record.kind == "metadata":
                return metadata_fields(record.block)
        return {}

    def close(self) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def _read(self, entry: Entry) -> Document:
        record = self.record(entry)
        http = parse_http(record.block)
        if record.kind != "revisit":
            return Document(entry, record, http, http.body)
        body = self._former_body(record, entry)
        return Document(entry, record, http, body or b"", is_complete=body is not None)

    def payload(self, record: Record) -> bytes | None:
        """The body that a revisit speaks of; None if it is not here."""
        return self._former_body(record, None)

    def _former_body(self, record: Record, entry: Entry | None) -> bytes | None:
        former = self._former(record, entry)
        return parse_http(self.record(former).block).body if former is not None else None

    def record(self, entry: Entry) -> Record:
        """Raises BadRecord if the index and the file do not fit."""
        try:
            data = os.pread(self._descriptor(entry.filename), entry.length, entry.offset)
            record = parse_record(zlib.decompress(data, wbits=31))
        except (OSError, zlib.error) as error:
            where = f"{entry.filename}: no record of {entry.url} at {entry.offset}"
            raise BadRecord(f"{where} ({error})") from error
        if record.url != target(entry.url):
            raise BadRecord(f"{entry.filename}: the record at {entry.offset} is not of {entry.url}")
        return record

    def _former(self, record: Record, entry: Entry | None) -> Entry | None:
        """The record with the body that a revisit speaks of."""
        url, at = (entry.url, entry.at) if entry is not None else (record.url, record.at)
        digest = record.fields.get("warc-payload-digest", "")
        named = record.fields.get("warc-refers-to-target-uri", "") or url
        meant = parse_date(record.fields.get("warc-refers-to-date", "")) or at
        bodies = [
            version for version in self.index.versions(named)
            # A 304 may not tell the digest: then the body is that of the last capture before it.
            if not version.is_revisit and (version.digest == digest or (not digest and version.at <= at))
        ]
        return min(bodies, key=lambda version: abs(version.at - meant), default=None)

    def _descriptor(self, name: str) -> int:
        descriptor = self._files.get(name)
        if descriptor is None:
            descriptor = self._files[name] = os.open(self._directory / name, os.O_RDONLY | os.O_CLOEXEC)
            if len(self._files) > OPEN_FILES:
                os.close(self._files.popitem(last=False)[1])
        self._files.move_to_end(name)
        return descriptor


def metadata_fields(block: bytes) -> dict[str, str]:
    fields = {}
    for line in block.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            fields[name.strip()] = value.strip()
    return fields


def _size(document: Document) -> int:
    return len(document.body) + len(document.record.block) + 1000
