"""Is every record whole, and do records and index name each other? Faults are told, nothing is mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from crawlerproj.documents import cdx
from crawlerproj.documents.archive_files import index_path, order_path, warc_path
from crawlerproj.documents.index_files import open_sorted
from crawlerproj.documents.members import BadRecord, Record, parse_http, parse_record, walk_past_damage
from crawlerproj.documents.reader import Reader
from crawlerproj.documents.records import digest
from crawlerproj.documents.rows import Progress, archived_files, is_copy


@dataclass(slots=True)
class Checked:
    """What an archive holds, and what is wrong with it, a sentence each."""

    files: int = 0
    records: dict[str, int] = field(default_factory=dict)
    index_lines: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.problems


def check(directory: Path, progress: Progress = lambda _: None) -> Checked:
    """Reads every record and every line of the index."""
    done = Checked()
    paths = archived_files(directory)
    copies: list[tuple[str, Record]] = []
    for path in paths:
        done.files += 1
        expected = _check_records(path, done, progress, copies)
        _check_index(path, expected, done)
    _check_copies(directory, copies, done)
    for index in sorted(directory.glob("*.index")):
        if not warc_path(index).exists():
            done.problems.append(f"{index.name}: an orphan, its {warc_path(index).name} is not there")
    return done


def _check_records(
    path: Path, done: Checked, progress: Progress, copies: list[tuple[str, Record]]
) -> dict[int, bytes]:
    """Checks the records of one file; gives the line that its index must have, by offset.

    Revisits of other pages are added to `copies`, with their place.
    """
    expected: dict[int, bytes] = {}
    for offset, length, data in walk_past_damage(path, done.problems):
        progress(length)
        try:
            record = parse_record(data)
        except BadRecord as error:
            done.problems.append(f"{path.name}: at {offset}: {error}")
            continue
        done.records[record.kind] = done.records.get(record.kind, 0) + 1
        done.problems += [f"{path.name}: the {record.kind} at {offset} of {record.url}: {fault}"
                          for fault in _faults(record)]
        if record.kind in ("response", "revisit"):
            expected[offset] = _line(path.name, offset, length, record)
        if is_copy(record):
            copies.append((f"{path.name}: the revisit at {offset} of {record.url}", record))
    return expected


def _check_copies(directory: Path, copies: list[tuple[str, Record]], done: Checked) -> None:
    """Is the payload that each revisit speaks of in the archive?"""
    if not copies:
        return
    reader = Reader(directory, cache_bytes=0)
    for place, record in copies:
        named = record.fields["warc-refers-to-target-uri"]
        try:
            if reader.payload(record) is None:
                done.problems.append(f"{place}: an orphan, the payload of {named} is not there")
        except (BadRecord, ValueError, OSError) as error:
            done.problems.append(f"{place}: the payload of {named} cannot be read ({error})")
    reader.close()


def _faults(record: Record) -> Iterator[str]:
    wanted = record.fields.get("warc-block-digest", "")
    if wanted.startswith("sha1:") and wanted != digest(record.block):
        yield "its block is not what its digest says"
    wanted = record.fields.get("warc-payload-digest", "")
    has_payload = record.kind == "response" and wanted.startswith("sha1:")
    if has_payload and wanted != digest(parse_http(record.block).body):
        yield "its payload is not what its digest says"


def _check_index(path: Path, expected: dict[int, bytes], done: Checked) -> None:
    index = index_path(path)
    if not index.exists():
        done.problems.append(f"{path.name}: has no index (`scrapy docs reindex` makes one)")
        return
    last_line = b"\n"
    with index.open("rb") as file:
        for last_line in file:
            done.index_lines += 1
            try:
                offset = cdx.decode(last_line).offset
            except ValueError:
                done.problems.append(f"{index.name}: line {last_line[:60]!r} cannot be read")
                continue
            line = expected.pop(offset, None)
            if line is None:
                done.problems.append(f"{index.name}: an orphan, no record at {offset}: {last_line[:120]!r}")
            elif line != last_line:
                done.problems.append(f"{index.name}: the line for the record at {offset} does not fit it")
    for offset in expected:
        done.problems.append(f"{path.name}: an orphan, the record at {offset} is not in the index")
    if order_path(index).exists() and index.stat().st_size:
        ordered = open_sorted(index)
        if ordered is not None:
            lines = list(ordered.lines_from(b""))
            if lines != sorted(index.read_bytes().splitlines(keepends=True)):
                done.problems.append(f"{order_path(index).name}: is not the order of its index; delete it")


def _line(name: str, offset: int, length: int, record: Record) -> bytes:
    http = parse_http(record.block)
    mime = cdx.REVISIT_MIME if record.kind == "revisit" else http.mime
    wanted = record.fields.get("warc-payload-digest", "-")
    when = cdx.timestamp_of(record.at)
    return cdx.encode(record.url, when, mime, http.status, wanted, name, offset, length)
