"""The archive as rows: one for each capture, with what its page says and what the crawler noted of it.

Files are read from end to end, a record at a time: memory is that of one page, whatever the archive's size.
What a page says (title, text, language, links) is read anew from the stored bytes by a callable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crawlerproj.documents.archive_files import SUFFIX
from crawlerproj.documents.members import BadRecord, Http, Record, parse_http, parse_record, walk_past_damage
from crawlerproj.documents.reader import Reader, metadata_fields
from crawlerproj.documents.soft_404 import is_probe
from crawlerproj.items import Link
from crawlerproj.urls.hosts import authority, host_of


@dataclass(slots=True)
class Reading:
    """What a document says."""

    title: str = ""
    text: str = ""
    language: str = ""
    links: list[Link] = field(default_factory=list)
    description: str = ""
    headings: list[tuple[int, str]] = field(default_factory=list)  # level and text
    emphasised: list[str] = field(default_factory=list)


Read = Callable[[str, bytes, str], Reading]  # url, body, content type
Progress = Callable[[int], None]  # compressed bytes done since the last call


@dataclass(slots=True, frozen=True)
class Captured:
    """A response or revisit with the metadata written beside it."""

    filename: str
    offset: int
    record: Record
    http: Http
    metadata: dict[str, str]


@dataclass(slots=True, frozen=True)
class Row:
    """One capture. A revisit of another page says what that page says; the text of one that has not changed
    since is that of the earlier row with its digest, and is not repeated.
    """

    url: str
    host: str
    time: float
    status: int
    type: str
    language: str
    title: str
    text: str
    digest: str
    duplicate_of: str
    depth: int | None
    link_count: int
    record_id: str
    place: tuple[str, int]  # file and offset
    links: list[Link]
    robots: str  # what the page and its headers asked of robots
    said: Reading


def archived_files(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"*{SUFFIX}"))


def captures(path: Path, problems: list[str], progress: Progress = lambda _: None) -> Iterator[Captured]:
    """Every capture of a file. A record that is broken is left out, and the problem is noted."""
    waiting: tuple[int, Record] | None = None
    noted: dict[str, str] = {}
    for offset, length, data in walk_past_damage(path, problems):
        progress(length)
        try:
            record = parse_record(data)
        except BadRecord as error:
            problems.append(f"{path.name}: at {offset}: {error}")
            continue
        if record.kind == "metadata":
            # Where a response is broken, what was noted of it must not go to the one before.
            named = record.fields.get("warc-concurrent-to")
            if waiting is not None and named in (None, waiting[1].fields.get("warc-record-id")):
                noted = metadata_fields(record.block)
        elif record.kind in ("response", "revisit"):
            if waiting is not None:
                yield _captured(path, *waiting, noted)
            waiting, noted = (offset, record), {}
    if waiting is not None:
        yield _captured(path, *waiting, noted)


def rows(
    directory: Path, read: Read, problems: list[str], progress: Progress = lambda _: None
) -> Iterator[Row]:
    """Every capture of an archive in the order of fetching; robots.txt and probes are no pages."""
    reader: Reader | None = None
    for path in archived_files(directory):
        for captured in captures(path, problems, progress):
            url = captured.record.url
            if url[len(authority(url)) :] == "/robots.txt" or is_probe(url):
                continue
            if is_copy(captured.record):
                reader = reader or Reader(directory, cache_bytes=0)
                yield row_of(captured, read, reader.payload(captured.record))
            else:
                yield row_of(captured, read)
    if reader is not None:
        reader.close()


def is_copy(record: Record) -> bool:
    """Is it a revisit of another page's record?"""
    named = record.fields.get("warc-refers-to-target-uri", "")
    return record.kind == "revisit" and bool(named) and named != record.url


def row_of(captured: Captured, read: Read, payload: bytes | None = None) -> Row:
    """`payload` is the body of a record that has none of its own."""
    record, http, noted = captured.record, captured.http, captured.metadata
    url = record.url
    is_page = http.status == 200 and (record.kind == "response" or payload is not None)
    body = http.body if payload is None else payload
    said = read(url, body, http.header("content-type")) if is_page else Reading()
    depth = noted.get("depth", "")
    return Row(
        url=url,
        host=host_of(url),
        time=record.at,
        status=http.status,
        type="" if http.mime == "unk" else http.mime,
        language=noted.get("language", "") or said.language,
        title=said.title,
        text=said.text,
        digest=record.fields.get("warc-payload-digest", ""),
        duplicate_of=noted.get("duplicate_of", ""),
        depth=int(depth) if depth.isdigit() else None,
        link_count=len(said.links),
        record_id=record.fields.get("warc-record-id", ""),
        place=(captured.filename, captured.offset),
        links=said.links,
        robots=noted.get("robots", ""),
        said=said,
    )


def _captured(path: Path, offset: int, record: Record, noted: dict[str, str]) -> Captured:
    return Captured(path.name, offset, record, parse_http(record.block), noted)
