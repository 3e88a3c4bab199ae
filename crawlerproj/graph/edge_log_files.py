"""The edge log's files: their names, the cut after a crash, and how they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import zstandard

from crawlerproj.committed_files import Recovered, cut_to_committed
from crawlerproj.graph.damage import DamagedGraph

_NAME = re.compile(r"edges-(.+)-(\d{5,})\.zst")
_READ = 1 << 16  # bytes: what is left of it after a frame is copied, and a frame may be a single page


def recover(directory: Path, committed: Mapping[str, int], worker: str = "0") -> Recovered:
    """Cuts this worker's files to their committed lengths and deletes the others; call before opening.

    A file shorter than committed (a power cut with sync off) is cut after its last whole frame.
    """
    return cut_to_committed(
        directory, committed, log_files(directory, worker).values(),
        lambda name: (match := _NAME.fullmatch(name)) is not None and match[1] == worker, whole_frames_length)


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
    try:
        for text, _ in _frames(path, 0):
            yield text
    except zstandard.ZstdError as error:
        raise DamagedGraph(
            f"{path} is damaged ({error}): move it away, and the graph is built without it"
        ) from error


def whole_frames_length(path: Path, committed: int = 0) -> int:
    """Where the last whole frame of a file ends; a committed length is the end of one."""
    whole = committed if committed <= path.stat().st_size else 0
    with suppress(zstandard.ZstdError):
        for _, end in _frames(path, whole):
            whole = end
    return whole


def _frames(path: Path, start: int) -> Iterator[tuple[bytes, int]]:
    """The text of each whole frame from a place on, and where it ends."""
    zstd = zstandard.ZstdDecompressor()
    frame, parts, done = zstd.decompressobj(), [], start
    with path.open("rb", buffering=0) as file:
        if start:  # a log may be a pipe
            file.seek(start)
        while data := file.read(_READ):
            done += len(data)
            while data:
                parts.append(frame.decompress(data))
                data = frame.unused_data
                if frame.eof:
                    yield b"".join(parts), done - len(data)
                    frame, parts = zstd.decompressobj(), []


def _all_files(directory: Path) -> list[tuple[str, int, str]]:
    if not directory.is_dir():
        return []
    matches = map(_NAME.fullmatch, os.listdir(directory))
    return [(match[1], int(match[2]), match[0]) for match in matches if match]
