"""Reading records back: one gzip member is one record. Works on whole files, in bounded memory."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from crawlerproj.documents import cdx

_READ = 1 << 20
_MEMBER, _RECORD = b"\x1f\x8b\x08", b"WARC/"  # how a gzip member begins, and what a record's holds


class BadRecord(Exception):
    """A record that cannot be read; the text says which and why."""


class Unfinished(BadRecord):
    """The last record of a file, which ends in the middle of it."""


@dataclass(slots=True, frozen=True)
class Record:
    """A WARC record. Field names are in lower case."""

    fields: dict[str, str]
    block: bytes

    @property
    def kind(self) -> str:
        return self.fields.get("warc-type", "")

    @property
    def url(self) -> str:
        return self.fields.get("warc-target-uri", "").strip("<>")

    @property
    def at(self) -> float:
        return parse_date(self.fields.get("warc-date", ""))


@dataclass(slots=True, frozen=True)
class Http:
    """An HTTP message out of a record's block."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        name = name.lower()
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def mime(self) -> str:
        mime = self.header("content-type").partition(";")[0].strip().lower()
        return mime if mime and " " not in mime else "unk"


def walk(path: Path, start: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """Each member from an offset on: (offset, length, what it holds). A broken one raises BadRecord."""
    offset = position = start
    member = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    with path.open("rb") as file:
        file.seek(start)
        while data := file.read(_READ):
            while data:
                try:
                    parts.append(member.decompress(data))
                except zlib.error as error:
                    raise BadRecord(f"{path.name}: the record at {offset} is broken ({error})") from error
                position += len(data) - len(member.unused_data)
                if not member.eof:
                    break
                yield offset, position - offset, b"".join(parts)
                offset, data, parts = position, member.unused_data, []
                member = zlib.decompressobj(wbits=31)
    if position > offset:
        raise Unfinished(f"{path.name}: the record at {offset} is not complete (is a crawl writing it?)")


def walk_past_damage(path: Path, problems: list[str], start: int = 0) -> Iterator[tuple[int, int, bytes]]:
    """As `walk`, but a broken record costs no more than itself: it is noted, and the next is looked for.

    The last record of a file that has grown meanwhile is not broken: a crawl is writing it.
    """
    following: int | None = start
    size = path.stat().st_size
    while following is not None:
        start = following
        try:
            for offset, length, data in walk(path, start):
                start = offset + length
                yield offset, length, data
            return
        except BadRecord as error:
            if isinstance(error, Unfinished) and path.stat().st_size > size:
                return
            problems.append(str(error))
        following = _next_record(path, start + 1)


def _next_record(path: Path, start: int) -> int | None:
    """Where the next gzip member begins that holds a WARC record."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        while (start := data.find(_MEMBER, start)) >= 0:
            try:
                head = zlib.decompressobj(wbits=31).decompress(data[start : start + 4096], len(_RECORD))
            except zlib.error:
                head = b""  # three bytes that happen to look like a member's
            if head == _RECORD:
                return start
            start += 1
    return None


def parse_record(data: bytes) -> Record:
    head, blank, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("utf-8", "replace").split("\r\n")
    if not blank or not lines[0].startswith("WARC/"):
        raise BadRecord(f"no WARC record: it begins with {data[:40]!r}")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.strip().lower()] = value.strip()
    try:
        length = int(fields["content-length"])
    except (KeyError, ValueError):
        raise BadRecord("a WARC record without a Content-Length") from None
    if len(rest) < length:
        raise BadRecord(f"a WARC record of {length} bytes has only {len(rest)}")
    return Record(fields, rest[:length])


def parse_http(block: bytes) -> Http:
    head, _, body = block.partition(b"\r\n\r\n")
    try:
        text = head.decode("utf-8")  # the writer's choice where Latin-1 was not enough
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    first, *lines = text.split("\r\n")
    _, _, status = first.partition(" ")
    code, _, reason = status.partition(" ")
    headers = []
    for line in lines:
        name, _, value = line.partition(":")
        headers.append((name.strip(), value.strip()))
    return Http(int(code) if code.isdigit() else 0, reason, headers, body)


def index_lines(path: Path, problems: list[str], start: int = 0) -> Iterator[bytes]:
    """The lines that the index must have for the records of a file, from an offset on."""
    for offset, length, data in walk_past_damage(path, problems, start):
        try:
            record = parse_record(data)
        except BadRecord as error:
            problems.append(f"{path.name}: at {offset}: {error}")
            continue
        if record.kind not in ("response", "revisit"):
            continue
        http = parse_http(record.block)
        mime = cdx.REVISIT_MIME if record.kind == "revisit" else http.mime
        digest = record.fields.get("warc-payload-digest", "-")
        yield cdx.encode(record.url, cdx.timestamp_of(record.at), mime, http.status, digest, path.name,
                         offset, length)


def parse_date(text: str) -> float:
    """Seconds since the epoch of a WARC-Date, with or without a fraction; 0 for what is none."""
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp()
    except ValueError:
        return 0.0
