"""The edge log's files: their names, the cut after a crash, and how they are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import zstandard

from crawlerproj.committed_files import Recovered, cut_to_committed
from crawlerproj.graph.damage import DamagedGraph

_NAME = re.compile(r"edges-(.+)-(\d{5,})\.zst")
_READ = 1 << 20


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


def _all_files(directory: Path) -> list[tuple[str, int, str]]:
    if not directory.is_dir():
        return []
    matches = map(_NAME.fullmatch, os.listdir(directory))
    return [(match[1], int(match[2]), match[0]) for match in matches if match]
