"""Sorts more keys than fit into memory: sorted runs on the disk, then merged, each key once.

Runs are merged a block at a time: of the blocks in hand, everything up to the smallest of their last
keys is complete, and Python's own sort merges those sorted pieces at the speed of C. The more runs, the
smaller are the blocks; of very many runs, some are merged into one first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

_BLOCK_TEXT = 1 << 19  # bytes of a run read at a time, at most
_BLOCK_LEAST = 1 << 12
_OBJECTS = 4  # bytes of memory that a byte of sorted text takes as Python's keys, while it is merged
BYTES_A_KEY = 105  # of a Python list of keys: about 60 of text, the object, the reference
_MOST_RUNS = 200  # merged at a time: a process may hold a thousand files or so
_SAMPLE = 1_024  # groups of keys to learn from
_GROUP = 64


class KeyRuns:
    """Takes keys in any order; `merged` gives them sorted. Keys hold no line feed."""

    def __init__(self, directory: Path, memory: int, name: str = "keys") -> None:
        self._directory, self._name, self._memory = directory, name, memory
        self._most = max(1_000, memory // BYTES_A_KEY)
        self._keys: list[bytes] = []
        self._runs: list[Path] = []
        self._written = 0
        self._in_order = False
        self._learned: list[bytes] = []
        self.count = 0  # of keys taken, repeats included

    def add(self, keys: list[bytes]) -> None:
        self._keys += keys
        self.count += len(keys)
        self._in_order = False
        if len(self._keys) >= self._most:
            self._spill()

    def merged(self) -> Iterator[list[bytes]]:
        """All keys in ascending order, each once, in lists. Once only: runs are deleted as they end."""
        if not self._runs:
            self._sort()
            for start in range(0, len(self._keys), 1 << 16):
                yield self._keys[start : start + (1 << 16)]
            self._keys = []
            return
        if self._keys:
            self._spill()
        while len(self._runs) > _MOST_RUNS:
            some, self._runs = self._runs[:_MOST_RUNS], self._runs[_MOST_RUNS:]
            self._write_run(self._merged(some))
        yield from self._merged(self._runs)

    def sample(self) -> list[bytes]:
        """Some groups of neighbours from the whole range of keys, in order, to learn from."""
        if not self._runs:
            self._sort()
            return _some(self._keys)
        return self._learned

    def _merged(self, runs: list[Path]) -> Iterator[list[bytes]]:
        at_once = max(_BLOCK_LEAST, min(_BLOCK_TEXT, self._memory // (_OBJECTS * len(runs))))
        return _merge([_read_run(path, at_once) for path in runs])

    def _sort(self) -> None:
        if not self._in_order:
            self._keys = _sorted_once(self._keys)
            self._in_order = True

    def _spill(self) -> None:
        keys = _sorted_once(self._keys)
        self._keys = []
        if not self._runs:
            self._learned = _some(keys)
        self._write_run(keys[start : start + (1 << 14)] for start in range(0, len(keys), 1 << 14))

    def _write_run(self, keys: Iterable[list[bytes]]) -> None:
        path = self._directory / f"{self._name}-{self._written}"
        with path.open("wb") as file, zstandard.ZstdCompressor(level=1).stream_writer(file) as writer:
            for some in keys:
                writer.write(b"\n".join(some) + b"\n")
        self._runs.append(path)
        self._written += 1


def _sorted_once(keys: list[bytes]) -> list[bytes]:
    # Not by a set, which tears apart the runs that they come in: sorting would take twice as long.
    return sorted(dict.fromkeys(keys))


def _some(keys: list[bytes]) -> list[bytes]:
    step = _GROUP * max(1, len(keys) // _GROUP // _SAMPLE)
    return [key for start in range(0, len(keys), step) for key in keys[start : start + _GROUP]]


def _read_run(path: Path, at_once: int) -> Iterator[list[bytes]]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
        rest = b""
        while data := reader.read(at_once):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            if lines:
                yield lines
    path.unlink()


def _merge(runs: list[Iterator[list[bytes]]]) -> Iterator[list[bytes]]:
    hands: dict[int, list[bytes]] = {}
    for number, run in enumerate(runs):
        if block := next(run, None):
            hands[number] = block
    last = b""
    while hands:
        bound = min(hand[-1] for hand in hands.values())
        pieces: list[bytes] = []
        for number, hand in list(hands.items()):
            cut = bisect_right(hand, bound)
            pieces += hand[:cut]
            if cut < len(hand):
                hands[number] = hand[cut:]
            elif block := next(runs[number], None):
                hands[number] = block
            else:
                del hands[number]
        pieces.sort()  # finds the sorted pieces and merges them
        merged = list(dict.fromkeys(pieces))
        if merged and merged[0] == last:
            merged = merged[1:]
        if merged:
            last = merged[-1]
            yield merged
