"""After a crash: WARC files are cut to their committed lengths, and each index is made to fit its file.

An index is derived from its WARC file. Lines for records that were cut off go; records after the last line
(a power cut took the unsynced tail of the index) are read again and get theirs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from crawlerproj.committed_files import Recovered, cut_to_committed, truncate
from crawlerproj.documents import cdx
from crawlerproj.documents.archive_files import (
    archive_files,
    index_path,
    is_of_worker,
    order_path,
    whole_records_length,
)
from crawlerproj.documents.members import index_lines

_TAIL = 1 << 16


def recover(
    directory: Path, committed: Mapping[str, int], prefix: str = "crawl", worker: str = "0"
) -> Recovered:
    """Cuts this worker's files to their committed lengths and deletes the others; call before opening.

    A file shorter than committed (a power cut with sync off) is cut after its last whole record.
    """
    names = list(archive_files(directory, prefix, worker).values())
    for name in names:
        if not committed.get(name):  # before its records: an index alone would never be deleted
            index = index_path(directory / name)
            index.unlink(missing_ok=True)
            order_path(index).unlink(missing_ok=True)
    done = cut_to_committed(
        directory, committed, names, lambda name: is_of_worker(name, prefix, worker), whole_records_length)
    for name in names:
        if name not in done.deleted:
            fit_index(directory / name)
    return done


def fit_index(warc: Path) -> int:
    """Makes the index of a WARC file name its records, no more and no fewer; gives the lines added."""
    index = index_path(warc)
    length = warc.stat().st_size
    kept, known = _fitting_length(index, length) if index.exists() else (0, 0)
    if index.exists() and kept < index.stat().st_size:
        truncate(index, kept)
        order_path(index).unlink(missing_ok=True)
    added = 0
    if known < length:
        with index.open("ab") as file:
            # A record the disk has spoiled must not keep a crawl from going on: `docs check` names it.
            for line in index_lines(warc, [], known):
                file.write(line)
                added += 1
            if added:
                file.flush()
                os.fsync(file.fileno())
    return added


def rebuild_index(warc: Path, problems: list[str]) -> int:
    """Writes the index of a WARC file anew, for archives that came without one; gives its lines.

    Records that cannot be read are left out and noted.
    """
    index = index_path(warc)
    fresh = index.with_suffix(".index.new")
    lines = 0
    with fresh.open("wb") as file:
        for line in index_lines(warc, problems):
            file.write(line)
            lines += 1
        file.flush()
        os.fsync(file.fileno())
    order_path(index).unlink(missing_ok=True)
    fresh.replace(index)
    return lines


def _fitting_length(index: Path, warc_length: int) -> tuple[int, int]:
    """How much of the index speaks of records within the file, and where the last of them ends."""
    with index.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - _TAIL)
            file.seek(start)
            data = file.read(end - start)
            first = 0 if start == 0 else data.find(b"\n") + 1
            lines = data[first:].splitlines(keepends=True)
            position = end
            for line in reversed(lines):
                try:
                    entry = cdx.decode(line) if line.endswith(b"\n") else None
                except ValueError:
                    entry = None
                if entry is not None and entry.end <= warc_length:
                    return position, entry.end
                position -= len(line)
            end = position if position < end else start
    return 0, 0
