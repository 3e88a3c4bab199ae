"""Anchor texts: what others write on their links to a page. A side file of the in-links.

Two files. `anchor-texts`: every text (anchor, a tab, rel) once, in blocks of 256, zstd frames of lines.
`anchors`: for 64 targets at a time a zstd frame of 4-byte numbers: for each target the number of its
in-links, then for each in-link of each target, in the order of the in-links, the number of its text.
Text 0 is the empty one and is not stored. Frames carry zstd's checksum of their content.

Each file ends with the ends of its frames (8 bytes each), their number (8), the CRC-32 of the ends
(4) and the magic "CPA1"; all little-endian.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from array import array
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
import zstandard

from crawlerproj.graph.damage import REMEDY, DamagedGraph
from crawlerproj.graph.jit import Ints
from crawlerproj.graph.pair_sort import Numbers

TARGETS = 64
TEXTS = 256
_MAGIC = b"CPA1"
_TAIL = struct.Struct("<QI4s")


class Anchor(NamedTuple):
    """A link to a page as its source words it."""

    source: str
    text: str
    rel: str


class FrameWriter:
    """Appends zstd frames; `close` adds the list of their ends."""

    def __init__(self, path: Path, level: int) -> None:
        self._file = path.open("wb")
        self._zstd = zstandard.ZstdCompressor(level=level, write_checksum=True)
        self._ends = array("Q")

    def add(self, data: bytes) -> None:
        frame = self._zstd.compress(data)
        self._file.write(frame)
        self._ends.append((self._ends[-1] if self._ends else 0) + len(frame))

    def close(self) -> None:
        ends = self._ends.tobytes()
        self._file.write(ends + _TAIL.pack(len(self._ends), zlib.crc32(ends), _MAGIC))
        self._file.close()


class FrameReader:
    """Any frame of such a file, mapped into memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing: {REMEDY}")
        with path.open("rb") as file:
            size = path.stat().st_size
            if size < _TAIL.size:
                raise DamagedGraph(f"{path} is cut short: {REMEDY}")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        count, check, magic = _TAIL.unpack(self._map[size - _TAIL.size :])
        start = size - _TAIL.size - 8 * count
        if magic != _MAGIC or start < 0 or zlib.crc32(self._map[start : size - _TAIL.size]) != check:
            raise DamagedGraph(f"the end of {path} is damaged: {REMEDY}")
        self._ends = np.frombuffer(self._map, np.uint64, count, start)
        self._zstd = zstandard.ZstdDecompressor()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._ends)

    def frame(self, number: int) -> bytes:
        start = int(self._ends[number - 1]) if number else 0
        try:
            with self._lock:  # one decompressor serves one thread at a time
                data: bytes = self._zstd.decompress(self._map[start : int(self._ends[number])])
        except (zstandard.ZstdError, MemoryError) as error:  # a damaged size may be any number
            raise DamagedGraph(f"frame {number} of {self._path} is damaged ({error}): {REMEDY}") from error
        return data


class AnchorWriter:
    """Takes texts as they come, then the in-links of all targets in order."""

    def __init__(self, directory: Path) -> None:
        self._texts = FrameWriter(directory / "anchor-texts", 6)
        self._links = FrameWriter(directory / "anchors", 1)
        self._waiting: list[bytes] = []
        self._target = 0
        self._counts = np.zeros(TARGETS, np.uint32)
        self._numbers: list[Numbers] = []

    def add_texts(self, texts: list[bytes]) -> None:
        self._waiting += texts
        while len(self._waiting) >= TEXTS:
            self._texts.add(b"\n".join(self._waiting[:TEXTS]))
            del self._waiting[:TEXTS]

    def add_links(self, targets: Ints, numbers: Numbers) -> None:
        """The targets of in-links, ascending, and the number of each link's text."""
        groups = targets // TARGETS
        cuts = np.flatnonzero(np.diff(groups)) + 1
        for start, end in zip([0, *cuts], [*cuts, len(targets)], strict=True):
            if start == end:
                continue
            group = int(groups[start])
            while self._target < group * TARGETS:
                self._end_group()
            self._counts += np.bincount(targets[start:end] % TARGETS, minlength=TARGETS).astype(np.uint32)
            self._numbers.append(numbers[start:end])

    def close(self, nodes: int) -> None:
        while self._target < nodes:
            self._end_group()
        self._links.close()
        if self._waiting:
            self._texts.add(b"\n".join(self._waiting))
        self._texts.close()

    def _end_group(self) -> None:
        self._links.add(self._counts.tobytes() + b"".join(part.tobytes() for part in self._numbers))
        self._counts[:] = 0
        self._numbers.clear()
        self._target += TARGETS


class Anchors:
    """The texts on the links to a target."""

    def __init__(self, directory: Path) -> None:
        self._texts = FrameReader(directory / "anchor-texts")
        self._links = FrameReader(directory / "anchors")

    def count_texts(self) -> int:
        """Reads every text."""
        return sum(self._texts.frame(number).count(b"\n") + 1 for number in range(len(self._texts)))

    def check(self, in_degrees: Ints, texts: int, progress: Callable[[str, int, int], None]) -> int:
        """Reads all links: has each in-link of each target one of these texts? Gives their number."""
        links, groups = 0, -(-len(in_degrees) // TARGETS)
        if groups != len(self._links):
            raise DamagedGraph(f"anchors are of {len(self._links)} groups, not {groups}: {REMEDY}")
        for group in range(groups):
            numbers = self._numbers_of(group)
            counts = in_degrees[group * TARGETS : (group + 1) * TARGETS]
            said = numbers[:TARGETS]
            if not np.array_equal(said[: len(counts)], counts) or said[len(counts) :].any():
                raise DamagedGraph(f"{_group(group)} are not as many as their in-links: {REMEDY}")
            if numbers[TARGETS:].max(initial=0) > texts:
                raise DamagedGraph(f"{_group(group)} name a text that is not there: {REMEDY}")
            links += len(numbers) - TARGETS
            if group % 64 == 63 or group == groups - 1:
                progress("anchors", group + 1, groups)
        return links

    def of(self, target: int, in_links: int, wanted: slice) -> list[tuple[str, str]]:
        """(anchor text, rel) of the wanted ones of its in-links, in their order."""
        group, place = divmod(target, TARGETS)
        numbers = self._numbers_of(group)
        start = TARGETS + int(numbers[:place].sum())
        mine = numbers[start : start + int(numbers[place])]
        if len(mine) != in_links:
            raise DamagedGraph(f"{_group(group)} are not as many as their in-links: {REMEDY}")
        blocks: dict[int, list[bytes]] = {}
        return [self._text(int(number), blocks) for number in mine[wanted]]

    def _numbers_of(self, group: int) -> Numbers:
        if group >= len(self._links):
            raise DamagedGraph(f"{_group(group)} are missing: {REMEDY}")
        frame = self._links.frame(group)
        numbers = np.frombuffer(frame, np.uint32, len(frame) // 4)
        if len(numbers) < TARGETS or TARGETS + int(numbers[:TARGETS].sum()) != len(numbers):
            raise DamagedGraph(f"{_group(group)} are damaged: {REMEDY}")
        return numbers

    def _text(self, number: int, blocks: dict[int, list[bytes]]) -> tuple[str, str]:
        if number == 0:
            return "", ""
        block, place = divmod(number - 1, TEXTS)
        if block not in blocks:
            if block >= len(self._texts):
                raise DamagedGraph(f"an anchor names text {number}, which is not there: {REMEDY}")
            blocks[block] = self._texts.frame(block).split(b"\n")
        text = blocks[block][place] if place < len(blocks[block]) else b""
        anchor, _, rel = text.decode("utf-8", "replace").partition("\t")
        return anchor, rel


def _group(group: int) -> str:
    return f"the anchors of targets {group * TARGETS} to {group * TARGETS + TARGETS - 1}"
