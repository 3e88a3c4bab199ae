"""Codes of one or two bytes for the substrings that a kind of text is full of.

The substrings are learned from a sample, as byte pair encoding does: again and again the commonest
pairs of neighbours become one. What such a text is written in can be skipped, compared and read from
any code on, without what is before it: that is what it is for (the idea of FSST by Boncz and others).

All 256 bytes are substrings too, so anything can be told. Substrings are numbered by how often they are
used; of n, the first 256 - e have a code of one byte, their number, and the others of two: 256 - e + h
and l, where h and l are the high and low byte of their number less 256 - e; e = ceil((n - 256) / 255).

As bytes: the number n (2 bytes, little-endian), the length of each (1 byte, 1 to 15), their text. No bytes
at all: the 256 bytes alone.

In memory a substring is a row of two words: its text, little-endian, zeros, and its length in the last byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.damage import REMEDY, DamagedGraph
from crawlerproj.graph.jit import Bytes, Ints, Words, int64, kernel, load_word, uint64

LONGEST = 15
_MOST = 1 << 13
_SLOTS = 1 << 17
_SEPARATOR = 0xFFFF  # between two texts of the sample
_RARE = 4  # a pair seen less often is chance
_MULTIPLIER = 0x9E3779B97F4A7C15


class Substrings(NamedTuple):
    """A table of substrings by number."""

    rows: Words
    ones: int  # how many have a code of one byte

    def texts(self) -> list[bytes]:
        plain = self.rows.tobytes()
        return [plain[at : at + plain[at + LONGEST]] for at in range(0, len(plain), LONGEST + 1)]

    def to_bytes(self) -> bytes:
        texts = self.texts()
        return len(texts).to_bytes(2, "little") + bytes(map(len, texts)) + b"".join(texts)


def table_of(texts: Iterable[bytes]) -> Substrings:
    """The table of these substrings, numbered as they come."""
    rows = b"".join(text.ljust(LONGEST, b"\0") + bytes([len(text)]) for text in texts)
    escapes = max(0, -(-(len(rows) // (LONGEST + 1) - 256) // 255))
    return Substrings(np.frombuffer(rows, np.uint64), 256 - escapes)


def plain_table() -> Substrings:
    return table_of(bytes([byte]) for byte in range(256))


def table_from(data: bytes) -> Substrings:
    """The table that `to_bytes` wrote."""
    if not data:
        return plain_table()
    count = int.from_bytes(data[:2], "little")
    lengths = data[2 : 2 + count]
    start = 2 + count
    sound = 256 <= count <= _MOST and len(data) == start + sum(lengths)
    if not sound or min(lengths) < 1 or max(lengths) > LONGEST:
        raise DamagedGraph(f"a table of substrings is damaged: {REMEDY}")
    starts = accumulate(lengths, initial=start)
    return table_of(data[at : at + length] for at, length in zip(starts, lengths, strict=False))


def learn(sample: list[bytes], room: int) -> Substrings:
    """The substrings that texts like these are best told in; the table takes at most `room` bytes."""
    if room < 1_024 or not sample:
        return plain_table()
    lengths = np.fromiter(map(len, sample), np.int64, len(sample))
    text = np.frombuffer(b"".join(sample), np.uint8)
    numbers = _with_separators(text, lengths)
    texts = [bytes([byte]) for byte in range(256)]
    known = set(texts)
    keys, counts = np.zeros(_SLOTS, np.uint32), np.zeros(_SLOTS, np.int64)
    while len(texts) < _MOST:
        keys[:], counts[:] = 0, 0
        _count_pairs(numbers, keys, counts)
        at_once = min(_MOST - len(texts), max(16, len(texts) // 8))
        best = np.flatnonzero(counts >= _RARE)
        best = best[np.argsort(-counts[best], kind="stable")][: 2 * at_once]
        merged = np.full(_SLOTS, -1, np.int64)
        before = len(texts)
        for slot in best:
            one, other = divmod(int(keys[slot]) - 1, 1 << 16)
            pair = texts[one] + texts[other]
            if len(pair) <= LONGEST and pair not in known and len(texts) - before < at_once:
                known.add(pair)
                merged[slot] = len(texts)
                texts.append(pair)
        if len(texts) == before:
            break
        numbers = _merge_pairs(numbers, keys, merged)
    return _ranked(texts, text, lengths, room)


def _ranked(texts: list[bytes], text: Bytes, lengths: Ints, room: int) -> Substrings:
    """The most used of these substrings, in the order of their use."""
    for _ in range(3):
        table = table_of(texts)
        uses = np.zeros(len(texts), np.int64)
        Speller(table).spell(text, lengths, uses)
        order = np.argsort(-uses, kind="stable")
        kept, size = [], 2 + 2 * 256
        for number in order:
            one = texts[number]
            if len(one) == 1:
                kept.append(one)
            elif uses[number] > _RARE and size + 1 + len(one) <= room:
                kept.append(one)
                size += 1 + len(one)
        texts = kept
    return table_of(texts)


class Speller:
    """Tells texts in the codes of a table, in as few bytes as can be."""

    def __init__(self, table: Substrings) -> None:
        self._table = table
        self._slots = np.full(4 << (len(table.rows) // 2).bit_length(), -1, np.int32)
        self._ahead = np.zeros(1 << 16, np.uint32)
        _enter(table.rows, self._slots, self._ahead)

    def spell(self, text: Bytes, lengths: Ints, uses: Ints | None = None) -> tuple[Bytes, Ints]:
        """The codes of all texts, and how many bytes each takes; `uses` counts the substrings."""
        padded = np.concatenate([text, np.zeros(LONGEST + 1, np.uint8)])  # words are read at every place
        uses = np.zeros(len(self._table.rows) // 2, np.int64) if uses is None else uses
        rows, ones = self._table
        return _spell(padded, lengths, rows, self._slots, self._ahead, ones, uses)


@kernel
def _with_separators(text: Bytes, lengths: Ints) -> NDArray[np.uint16]:
    numbers = np.empty(len(text) + len(lengths), np.uint16)
    at = start = 0
    for length in lengths:
        for index in range(start, start + length):
            numbers[at] = text[index]
            at += 1
        numbers[at] = _SEPARATOR
        at += 1
        start += length
    return numbers


@kernel
def _slot_of(keys: NDArray[np.uint32], one: int, other: int) -> int:
    """Where a pair is, or belongs."""
    key = ((one << 16) | other) + 1
    slot = int64((uint64(key) * uint64(_MULTIPLIER)) >> uint64(40)) & (len(keys) - 1)
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@kernel
def _count_pairs(numbers: NDArray[np.uint16], keys: NDArray[np.uint32], counts: Ints) -> None:
    used = 0
    for index in range(len(numbers) - 1):
        one, other = int64(numbers[index]), int64(numbers[index + 1])
        if one == _SEPARATOR or other == _SEPARATOR:
            continue
        slot = _slot_of(keys, one, other)
        if keys[slot] == 0:
            if 2 * used >= len(keys):
                continue  # what comes so late is rare
            keys[slot] = ((one << 16) | other) + 1
            used += 1
        counts[slot] += 1


@kernel
def _merge_pairs(numbers: NDArray[np.uint16], keys: NDArray[np.uint32], merged: Ints) -> NDArray[np.uint16]:
    fresh = np.empty_like(numbers)
    filled = index = 0
    while index < len(numbers):
        number = int64(numbers[index])
        index += 1
        if index < len(numbers) and number != _SEPARATOR and numbers[index] != _SEPARATOR:
            slot = _slot_of(keys, number, int64(numbers[index]))
            if keys[slot] != 0 and merged[slot] >= 0:
                number = merged[slot]
                index += 1
        fresh[filled] = number
        filled += 1
    return fresh[:filled]


@kernel
def _place(low: Any, high: Any) -> int:
    state = (low ^ (high * uint64(0xD6E8FEB86659FD93))) * uint64(_MULTIPLIER)
    return int64(state >> uint64(34))


@kernel
def _enter(rows: Words, slots: NDArray[np.int32], ahead: NDArray[np.uint32]) -> None:
    """Fills the table of substrings, and for each two first bytes the lengths there are, as bits."""
    mask = len(slots) - 1
    for number in range(len(rows) // 2):
        low, high = rows[2 * number], rows[2 * number + 1]
        slot = _place(low, high) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number
        ahead[low & uint64(0xFFFF)] |= 1 << int64(high >> uint64(56))


@kernel
def _number_of(low: Any, high: Any, rows: Words, slots: NDArray[np.int32]) -> int:
    """The number of a substring; -1 if it has none."""
    mask = len(slots) - 1
    slot = _place(low, high) & mask
    while slots[slot] >= 0:
        number = int64(slots[slot])
        if rows[2 * number] == low and rows[2 * number + 1] == high:
            return number
        slot = (slot + 1) & mask
    return -1


@kernel
def _spell(
    text: Bytes, lengths: Ints, rows: Words, slots: NDArray[np.int32], ahead: NDArray[np.uint32],
    ones: int, uses: Ints,
) -> tuple[Bytes, Ints]:  # fmt: skip
    """From the end of a text on, the cheapest way to tell the rest of it from each place."""
    codes = np.empty(2 * len(text), np.uint8)
    sizes = np.zeros(len(lengths), np.int64)
    longest = 0
    for length in lengths:
        longest = max(longest, length)
    costs, choices = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    filled = start = 0
    for index in range(len(lengths)):
        end = start + lengths[index]
        costs[end - start] = 0
        for place in range(end - 1, start - 1, -1):
            low, high = load_word(text, place), load_word(text, place + 8)
            lengths_here = (int64(ahead[low & uint64(0xFFFF)]) | 2) & ((2 << min(end - place, LONGEST)) - 1)
            best = 1 << 40
            length = 0
            while lengths_here:
                if lengths_here & 1:
                    number = _number_of(*_row(low, high, length), rows, slots)
                    if number >= 0:
                        cost = costs[place + length - start] + 1 + (number >= ones)
                        if cost <= best:
                            best, choices[place - start] = cost, number
                lengths_here >>= 1
                length += 1
            costs[place - start] = best
        before = filled
        place = start
        while place < end:
            number = choices[place - start]
            uses[number] += 1
            place += int64(rows[2 * number + 1] >> uint64(56))
            if number < ones:
                codes[filled] = number
                filled += 1
            else:
                codes[filled] = ones + ((number - ones) >> 8)
                codes[filled + 1] = (number - ones) & 255
                filled += 2
        sizes[index] = filled - before
        start = end
    return codes[:filled], sizes


@kernel
def _row(low: Any, high: Any, length: int) -> tuple[Any, Any]:
    """The row of the substring that is the first so many bytes of two words."""
    full = uint64(0xFFFFFFFFFFFFFFFF)
    if length > 8:
        tail = high & (full >> uint64(128 - 8 * length))
    else:
        low, tail = low & (full >> uint64(64 - 8 * length)), uint64(0)
    return low, tail | (uint64(length) << uint64(56))
