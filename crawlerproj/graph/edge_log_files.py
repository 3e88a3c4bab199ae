"""The edge log's files: their names, their buffers, the cut after a crash, and how they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

from crawlerproj.graph.damage import DamagedGraph

_NAME = re.compile(r"edges-(.+)-(\d{5,})\.zst")
_READ = 1 << 20


class LogFile:
    """One file: `waiting` is not yet being written, `leaving` is; `length` counts both."""

    __slots__ = ("descriptor", "leaving", "length", "name", "waiting")

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.length = os.fstat(self.descriptor).st_size
        self.waiting = bytearray()
        self.leaving = bytearray()

    def write_out(self) -> None:
        """Writes `leaving` to the file; what an OSError kept back is still there, in order."""
        while self.leaving:
            del self.leaving[: os.write(self.descriptor, self.leaving)]


@dataclass(slots=True)
class Recovered:
    """What recovery did, by file name. `short` is empty unless a disk lost what it had promised."""

    cut: dict[str, int] = field(default_factory=dict)  # bytes beyond the committed length
    deleted: dict[str, int] = field(default_factory=dict)  # whole files, never committed
    short: dict[str, int] = field(default_factory=dict)  # committed bytes that are not there


def recover(directory: Path, committed: Mapping[str, int], worker: str = "0") -> Recovered:
    """Cuts this worker's files to their committed lengths and deletes the others; call before opening.

    A file shorter than committed (a power cut with sync off) is cut after its last whole frame.
    """
    done = Recovered()
    mine = log_files(directory, worker).values()
    for name in mine:
        path = directory / name
        size, wanted = path.stat().st_size, committed.get(name, 0)
        if wanted == 0:
            path.unlink()
            done.deleted[name] = size
        elif size > wanted:
            _truncate(path, wanted)
            done.cut[name] = size - wanted
        elif size < wanted:
            whole = whole_frames_length(path)
            _truncate(path, whole)
            done.short[name] = wanted - whole
    for name, wanted in committed.items():
        match = _NAME.fullmatch(name)
        if wanted and match and match[1] == worker and not (directory / name).exists():
            done.short[name] = wanted
    return done


def file_name(worker: str, number: int) -> str:
    return f"edges-{worker}-{number:05d}.zst"


def log_files(directory: Path, worker: str) -> dict[int, str]:
    """This worker's files by number; other workers' files in the same directory are not seen."""
    return {number: name for owner, number, name in _all_files(directory) if owner == worker}


def every_log(directory: Path) -> list[Path]:
    """The files of all workers, each worker's in the order of writing."""
    return [directory / name for _, _, name in sorted(_all_files(directory))]


def read_texts(path: Path) -> Iterator[bytes]:
    """The text of each whole frame. One that is cut off at the end was never committed: it is left out."""
    zstd = zstandard.ZstdDecompressor()
    with path.open("rb") as file:
        data = b""
        while True:
            more = file.read(_READ)
            data += more
            while data:
                frame = zstd.decompressobj(write_size=2 * _READ)
                try:
                    text = frame.decompress(data)
                except zstandard.ZstdError as error:
                    raise DamagedGraph(
                        f"{path} is damaged ({error}): move it away, and the graph is built without it"
                    ) from error
                if not frame.eof:
                    break
                yield text
                data = frame.unused_data
            if not more:
                return


def whole_frames_length(path: Path) -> int:
    """Where the last complete frame of a file ends."""
    data = path.read_bytes()
    whole = 0
    while whole < len(data):
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            frame.decompress(data[whole:])
        except zstandard.ZstdError:
            break
        if not frame.eof:
            break
        whole = len(data) - len(frame.unused_data)
    return whole


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _all_files(directory: Path) -> list[tuple[str, int, str]]:
    if not directory.is_dir():
        return []
    matches = map(_NAME.fullmatch, os.listdir(directory))
    return [(match[1], int(match[2]), match[0]) for match in matches if match]


def _truncate(path: Path, length: int) -> None:
    with path.open("r+b") as file:
        file.truncate(length)
        os.fsync(file.fileno())
