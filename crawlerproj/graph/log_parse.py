"""The edge log's text as arrays: hashes of URLs, and each URL and each anchor text that is new.

One kernel reads a piece of log in a single pass. A table from the hash of a URL as written to the hash of
its key (`url_keys`) keeps most repeats from being spelled again; it may forget, so a key can come
twice, and whoever sorts the keys drops the second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.hashing import hash_bytes
from crawlerproj.graph.jit import Bytes, Ints, Words, int64, kernel, uint64
from crawlerproj.graph.url_keys import find_byte, write_key

Numbers = NDArray[np.uint32]
_MOST_SLOTS = 1 << 22
_SLOT_BYTES = 28  # of the two tables together
_PAGE, _TAB, _LINE, _POINT = 1, 9, 10, 46
_LONGEST_KEY = 65_535


class Piece(NamedTuple):
    """What a piece of log says. Links are those of the first page, then of the second..."""

    sources: Words  # hash of each page's URL
    times: Ints  # of each page, in milliseconds
    counts: Numbers  # of each page's links
    targets: Words  # hash of each link's URL
    texts: Numbers  # the number of each link's text: anchor, tab, rel
    keys: list[bytes]  # new keys
    new_texts: list[bytes]  # the new texts, in the order of their numbers


class LogParser:
    """Reads pieces of log one after the other; texts are numbered through all of them, 0 is the empty one."""

    def __init__(self, seed: int = 0, memory: int = 1 << 30) -> None:
        self._seed = seed
        self._most_slots = min(_MOST_SLOTS, 1 << (memory // (4 * _SLOT_BYTES)).bit_length())
        self._urls = np.zeros((1 << 16, 2), np.uint64)  # as written, as key
        self._texts = np.zeros(1 << 16, np.uint64)
        self._text_numbers = np.zeros(1 << 16, np.uint32)
        self._counters = np.array([0, 0, 1])  # slots used of both tables, texts

    def parse(self, text: bytes) -> Piece:
        data = np.frombuffer(text, np.uint8)
        most = int(np.count_nonzero(data == _LINE))
        # A table that is filling up is replaced by an empty one, larger while that is allowed: finding
        # everything again costs less than telling it twice. Small tables stay in the processor's cache.
        if 2 * (self._counters[0] + most) > len(self._urls):
            self._urls = np.zeros((_larger(len(self._urls), most, self._most_slots), 2), np.uint64)
            self._counters[0] = 0
        if 2 * (self._counters[1] + most) > len(self._texts):
            self._texts = np.zeros(_larger(len(self._texts), most, self._most_slots), np.uint64)
            self._text_numbers = np.zeros(len(self._texts), np.uint32)
            self._counters[1] = 0
        spans, hashes = np.empty((most, 3), np.int64), np.empty((most, 2), np.uint64)
        lines = _cut(data, self._seed, spans, hashes)
        spans, hashes = spans[:lines], hashes[:lines]
        new_texts = np.empty(len(data) + 8, np.uint8)
        line_texts = np.empty(lines, np.uint32)
        text_end = _number_texts(
            data, spans, hashes, self._texts, self._text_numbers, self._counters, line_texts, new_texts
        )
        keys = np.empty(len(data) + 2 * lines + 8, np.uint8)
        key_end = _spell(data, self._seed, spans, hashes, self._urls, self._counters, keys)
        pages = int((hashes[:, 1] == 0).sum())
        sources, times, counts = (
            np.empty(pages, np.uint64),
            np.empty(pages, np.int64),
            np.zeros(pages, np.uint32),
        )
        targets, texts = np.empty(lines, np.uint64), np.empty(lines, np.uint32)
        pages, links = _deal(data, spans, hashes, line_texts, sources, times, counts, targets, texts)
        return Piece(
            sources, times, counts, targets[:links], texts[:links],
            _lines(keys[:key_end]), _lines(new_texts[:text_end]),
        )  # fmt: skip


def _larger(slots: int, lines: int, most: int) -> int:
    """Twice as many slots up to `most`, but enough for this piece."""
    return max(min(2 * slots, most), 1 << (2 * lines).bit_length())


def _lines(buffer: Bytes) -> list[bytes]:
    return buffer.tobytes().split(b"\n")[:-1]


@kernel
def _cut(data: Bytes, seed: int, spans: Ints, hashes: Words) -> int:
    """The lines: where URL, tab and line end, and the hashes of URL and text (0: a page; 1: no text).

    On its own, before anything is looked up: the look-ups of many lines can then wait for memory at once.
    """
    lines = position = 0
    is_left_out = False  # a page that cannot be named, and so its links
    while position < len(data):
        is_page = data[position] == _PAGE
        start = position + is_page
        tab = find_byte(data, start, _TAB)
        end = find_byte(data, tab, _LINE)
        position = end + 1
        unnamed = end >= len(data) or tab == start or tab - start >= _LONGEST_KEY
        if is_page:
            is_left_out = unnamed
        if unnamed or is_left_out:
            continue
        spans[lines, 0], spans[lines, 1], spans[lines, 2] = start, tab, end
        hashes[lines, 0] = hash_bytes(data, start, tab, seed)
        text = uint64(not is_page)
        if not is_page and end - tab > 2:
            text = hash_bytes(data, tab + 1, end, seed) | uint64(2)
        hashes[lines, 1] = text
        lines += 1
    return lines


@kernel
def _number_texts(
    data: Bytes, spans: Ints, hashes: Words, table: Words, numbers: Numbers, counters: Ints,
    texts: Numbers, new_texts: Bytes,
) -> int:  # fmt: skip
    """The number of each line's text; the new texts are copied, the end of the copies is given."""
    mask = len(table) - 1
    filled = 0
    for line in range(len(hashes)):
        text = hashes[line, 1]
        if text < 2:
            texts[line] = 0
            continue
        slot = int64(text >> uint64(20)) & mask
        while table[slot] != 0 and table[slot] != text:
            slot = (slot + 1) & mask
        if table[slot] == 0:
            table[slot], numbers[slot] = text, counters[2]
            counters[1] += 1
            counters[2] += 1
            for index in range(spans[line, 1] + 1, spans[line, 2] + 1):
                new_texts[filled] = data[index]
                filled += 1
        texts[line] = numbers[slot]
    return filled


@kernel
def _spell(
    data: Bytes, seed: int, spans: Ints, hashes: Words, table: Words, counters: Ints, keys: Bytes
) -> int:
    """Replaces the hash of each URL by that of its key; new keys are written, their end is given."""
    mask = len(table) - 1
    filled = 0
    for line in range(len(hashes)):
        written = hashes[line, 0]
        slot = int64(written) & mask
        while table[slot, 0] != 0 and table[slot, 0] != written:
            slot = (slot + 1) & mask
        if table[slot, 0] == 0:
            after = write_key(data, spans[line, 0], spans[line, 1], keys, filled)
            table[slot, 0], table[slot, 1] = written, hash_bytes(keys, filled, after, seed)
            counters[0] += 1
            keys[after] = _LINE
            filled = after + 1
        hashes[line, 0] = table[slot, 1]
    return filled


@kernel
def _deal(
    data: Bytes, spans: Ints, hashes: Words, line_texts: Numbers,
    sources: Words, times: Ints, counts: Numbers, targets: Words, texts: Numbers,
) -> tuple[int, int]:  # fmt: skip
    """Lines as pages and links: the numbers of both."""
    page, link = -1, 0
    for line in range(len(hashes)):
        if hashes[line, 1] == 0:
            page += 1
            sources[page] = hashes[line, 0]
            times[page] = _milliseconds(data, spans[line, 1] + 1, spans[line, 2])
        elif page >= 0:
            targets[link], texts[link] = hashes[line, 0], line_texts[line]
            counts[page] += 1
            link += 1
    return page + 1, link


@kernel
def _milliseconds(data: Bytes, start: int, end: int) -> int:
    """A decimal number of seconds, in whole milliseconds."""
    value, places = 0, -1
    for index in range(start, min(end, start + 18)):
        byte = data[index]
        if byte == _POINT:
            places = 0
        elif 48 <= byte <= 57 and places < 3:
            value = value * 10 + byte - 48
            places += places >= 0
    for _ in range(3 - max(places, 0)):
        value *= 10
    return value
