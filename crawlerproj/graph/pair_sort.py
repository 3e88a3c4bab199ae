"""Sorts more links than fit into memory: words `node << 32 | node`, if wanted each with a number.

What fits is sorted in memory. The rest by a sample sort: words go to one file as they come; a sample of
them says where to cut their range into parts that fit; one pass deals them out; each part is sorted in
memory. No part depends on how links are spread over nodes, since the cuts go through the words themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.bits import bit_length
from crawlerproj.graph.jit import Ints, Words, int64, kernel, uint64
from crawlerproj.graph.rows import Rows

Numbers = NDArray[np.uint32]
_NONE: Numbers = np.zeros(0, np.uint32)
_SAMPLE = 499
_DIGIT = 11  # bits at most


class PairSort:
    """Takes words in any order; `parts` gives them ascending, each once, with the first number it had."""

    def __init__(self, directory: Path, name: str, memory: int, numbered: bool = False) -> None:
        self._words, self._numbers = directory / f"{name}-words", directory / f"{name}-numbers"
        self._directory, self._name, self._numbered = directory, name, numbered
        # Sorting takes the words, their numbers and a second copy of both, and a bit.
        self._most = max(1_000, memory // (35 if numbered else 32))
        self._sample: list[Words] = []
        self._waiting: list[tuple[Words, Numbers]] = []
        self._spilled = False
        self.count = 0

    def add(self, words: Words, numbers: Numbers = _NONE) -> None:
        self._sample.append(words[:: max(1, min(_SAMPLE, len(words)))].copy())
        self.count += len(words)
        if self.count <= self._most:
            self._waiting.append((words.copy(), numbers.copy()))
        else:
            self._spill([*self._waiting, (words, numbers)])
            self._waiting.clear()

    def parts(self) -> Iterator[tuple[Words, Numbers]]:
        """Once only: the files are deleted as they are read."""
        if not self._spilled:
            words = _joined([words for words, _ in self._waiting], np.uint64)
            numbers = _joined([numbers for _, numbers in self._waiting], np.uint32)
            self._waiting.clear()
            yield _distinct(*_radix_sort(words, numbers))
            return
        parts = -(-self.count // self._most)
        sample = np.sort(np.concatenate(self._sample))
        cuts = sample[np.arange(1, parts) * len(sample) // parts]
        for words_path, numbers_path in self._deal(cuts):
            yield self._sorted(words_path, numbers_path)

    def _spill(self, chunks: list[tuple[Words, Numbers]]) -> None:
        self._spilled = True
        with self._words.open("ab") as word_file, self._numbers.open("ab") as number_file:
            for words, numbers in chunks:
                word_file.write(words.data)
                number_file.write(numbers.data)

    def _deal(self, cuts: Words) -> list[tuple[Path, Path]]:
        paths = [
            (self._directory / f"{self._name}-words-{part}", self._directory / f"{self._name}-numbers-{part}")
            for part in range(len(cuts) + 1)
        ]
        step = min(self._most // 4, 1 << 20)
        with self._words.open("rb") as word_file, self._numbers.open("rb") as number_file:
            while len(words := np.fromfile(word_file, np.uint64, step)):
                numbers = np.fromfile(number_file, np.uint32, step)
                dealt, numbers_dealt, ends = _deal_out(words, numbers, cuts)
                for part, (words_path, numbers_path) in enumerate(paths):
                    # Opened for each piece: there may be more parts than a process may hold files.
                    with words_path.open("ab") as word_part, numbers_path.open("ab") as number_part:
                        word_part.write(dealt[ends[part] : ends[part + 1]].data)
                        number_part.write(numbers_dealt[ends[part] : ends[part + 1]].data)
        self._words.unlink()
        self._numbers.unlink()
        return paths

    def _sorted(self, word_path: Path, number_path: Path) -> tuple[Words, Numbers]:
        words, numbers = np.fromfile(word_path, np.uint64), np.fromfile(number_path, np.uint32)
        word_path.unlink()
        number_path.unlink()
        return _distinct(*_radix_sort(words, numbers))


def _joined(chunks: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    """One array of all; each chunk is let go as it is copied."""
    whole: NDArray[Any] = np.empty(sum(map(len, chunks)), kind)
    end = len(whole)
    while chunks:
        chunk = chunks.pop()
        whole[end - len(chunk) : end] = chunk
        end -= len(chunk)
    return whole


@kernel
def _deal_out(words: Words, numbers: Numbers, cuts: Words) -> tuple[Words, Numbers, Ints]:
    """Words in the order of their parts, otherwise as they came, and where each part ends."""
    ends = np.zeros(len(cuts) + 3, np.int64)
    parts = np.empty(len(words), np.uint16)
    for index in range(len(words)):
        low, high = 0, len(cuts)
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] <= words[index]:
                low = middle + 1
            else:
                high = middle
        parts[index] = low
        ends[low + 2] += 1
    for part in range(2, len(ends)):
        ends[part] += ends[part - 1]
    dealt, numbers_dealt = np.empty_like(words), np.empty_like(numbers)
    for index in range(len(words)):
        place = ends[parts[index] + 1]
        ends[parts[index] + 1] += 1
        dealt[place] = words[index]
        if len(numbers):
            numbers_dealt[place] = numbers[index]
    return dealt, numbers_dealt, ends[:-1]


@kernel
def _distinct(words: Words, numbers: Numbers) -> tuple[Words, Numbers]:
    """Drops all but the first of equal neighbours, in place."""
    kept = 0
    for index in range(len(words)):
        if index == 0 or words[index] != words[index - 1]:
            words[kept] = words[index]
            if len(numbers):
                numbers[kept] = numbers[index]
            kept += 1
    return words[:kept], numbers[: min(kept, len(numbers))]


@kernel
def _radix_sort(words: Words, numbers: Numbers) -> tuple[Words, Numbers]:
    """Sorts words with their numbers, by digits from the low end: equal words stay in order."""
    used = uint64(0)
    for word in words:
        used |= word
    shifts, widths = _digits(int64(used & uint64(0xFFFFFFFF)), int64(used >> uint64(32)))
    counts = np.zeros((len(shifts), 1 << _DIGIT), np.uint64)
    for word in words:
        for digit in range(len(shifts)):
            counts[digit, (word >> shifts[digit]) & ((uint64(1) << widths[digit]) - uint64(1))] += uint64(1)
    into, numbers_into = np.empty_like(words), np.empty_like(numbers)
    for digit in range(len(shifts)):
        places, shift, mask = counts[digit], shifts[digit], (uint64(1) << widths[digit]) - uint64(1)
        total = uint64(0)
        for value in range(len(places)):
            places[value], total = total, total + places[value]
        for index in range(len(words)):
            value = (words[index] >> shift) & mask
            place = places[value]
            places[value] = place + uint64(1)
            into[place] = words[index]
            if len(numbers):
                numbers_into[place] = numbers[index]
        words, into = into, words
        numbers, numbers_into = numbers_into, numbers
    return words, numbers


@kernel
def _digits(low: int, high: int) -> tuple[Words, Words]:
    """Where the digits of words begin and how wide they are, given all bits used in either half."""
    shifts, widths = np.zeros(6, np.uint64), np.zeros(6, np.uint64)
    digits = 0
    for half in range(2):
        bits = bit_length(high if half else low)
        parts = -(-bits // _DIGIT)
        for part in range(parts):
            width = -(-bits // parts)
            shifts[digits], widths[digits] = 32 * half + part * width, width
            digits += 1
    return shifts[:digits], widths[:digits]


class SortedPairs:
    """A file of ascending distinct words, read as rows, as often as wanted."""

    def __init__(self, path: Path, nodes: int, links_at_once: int) -> None:
        self.path, self.nodes, self._at_once = path, nodes, links_at_once

    @property
    def arcs(self) -> int:
        return self.path.stat().st_size // 8

    def words(self) -> Iterator[Words]:
        with self.path.open("rb") as file:
            while len(words := np.fromfile(file, np.uint64, self._at_once)):
                yield words

    def rows(self) -> Iterator[Rows]:
        """Every row in order, whole, those of nodes without links too."""
        node = 0
        rest: list[Words] = []  # the last node's row may go on in what is read next
        for words in self.words():
            last = int(words[-1] >> uint64(32))
            cut = int(np.searchsorted(words, uint64(last << 32)))
            if cut:
                rest.append(words[:cut])
                yield from self._between(_joined(rest, np.uint64), node, last)
                node = last
            rest.append(words[cut:].copy())
        if node < self.nodes:
            yield from self._between(_joined(rest, np.uint64), node, self.nodes)

    def _between(self, words: Words, first: int, last: int) -> Iterator[Rows]:
        """Rows of the nodes first to last - 1, at most `_at_once` of them in a chunk."""
        while first < last:
            end = min(last, first + self._at_once)
            cut = int(np.searchsorted(words, uint64(end << 32))) if end < last else len(words)
            yield Rows(*_rows(words[:cut], first, end - first))
            words, first = words[cut:], end


@kernel
def _rows(words: Words, first: int, nodes: int) -> tuple[Ints, Numbers]:
    starts = np.zeros(nodes + 1, np.int64)
    targets = np.empty(len(words), np.uint32)
    for index in range(len(words)):
        starts[int64(words[index] >> uint64(32)) - first + 1] += 1
        targets[index] = np.uint32(words[index] & uint64(0xFFFFFFFF))
    for node in range(nodes):
        starts[node + 1] += starts[node]
    return starts, targets
