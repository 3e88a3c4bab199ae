"""The archive's files: their names and their buffers."""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from crawlerproj.committed_files import AppendFile

SUFFIX = ".warc.gz"
_READ = 1 << 20


class ArchiveFile(AppendFile):
    """One WARC file with its index beside it."""

    __slots__ = ("index", "warcinfo_id")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.index = AppendFile(index_path(path))
        self.warcinfo_id = ""

    def swap(self) -> None:
        # The index is taken with its records, so it never names one that is not on the disk.
        super().swap()
        self.index.swap()

    def write_out(self) -> None:
        super().write_out()
        self.index.write_out()

    def close(self) -> None:
        super().close()
        self.index.close()


def archive_files(directory: Path, prefix: str, worker: str) -> dict[int, str]:
    """This worker's files by number; other workers' files in the same directory are not seen."""
    if not directory.is_dir():
        return {}
    matches = map(_pattern(prefix, worker).match, sorted(os.listdir(directory)))
    return {int(match[1]): match[0] for match in matches if match}


def file_name(prefix: str, worker: str, number: int) -> str:
    return f"{prefix}-{worker}-{number:05d}.warc.gz"


def is_of_worker(name: str, prefix: str, worker: str) -> bool:
    return _pattern(prefix, worker).match(name) is not None


def index_path(warc: Path) -> Path:
    """The index of a WARC file: its lines in the order of its records."""
    return warc.with_name(warc.name.removesuffix(SUFFIX) + ".index")


def order_path(index: Path) -> Path:
    """The order of an index that is complete: where its lines begin, sorted by key and time."""
    return index.with_suffix(".order")


def warc_path(index: Path) -> Path:
    return index.with_suffix(SUFFIX)


def whole_records_length(path: Path) -> int:
    """Where the last complete gzip member of a file ends."""
    whole = position = 0
    member = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        while data := file.read(_READ):
            while data:
                try:
                    member.decompress(data)
                except zlib.error:
                    return whole
                position += len(data) - len(member.unused_data)
                if not member.eof:
                    break
                whole, data = position, member.unused_data
                member = zlib.decompressobj(wbits=31)
    return whole


def _pattern(prefix: str, worker: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(prefix)}-{re.escape(worker)}-(\d{{5,}})\.warc\.gz\Z")
