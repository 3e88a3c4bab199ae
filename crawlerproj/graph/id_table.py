"""From the hash of a key to its number, for as many keys as memory allows at a time."""

from __future__ import annotations

import math

import numpy as np

from crawlerproj.graph.hashing import hash_bytes
from crawlerproj.graph.jit import Bytes, Ints, Words, int64, kernel, uint64
from crawlerproj.graph.pair_sort import Numbers

_SLOT_BYTES = 12
_SLOTS_A_KEY = 2.2  # so that few keys meet in a slot
MISSING = 0xFFFFFFFF


class HashCollision(Exception):
    """Two keys have one hash: everything is hashed again with another seed."""


class IdTable:
    """The numbers of the keys whose hashes lie in one part of their range."""

    @staticmethod
    def parts_for(keys: int, memory: int) -> int:
        """In how many parts of their range tables of so many keys fit into the memory."""
        slots = 1 << max(10, (memory // _SLOT_BYTES).bit_length() - 1)
        return max(1, math.ceil(_SLOTS_A_KEY * keys / (slots - 1)))

    def __init__(self, keys: int, part: int, parts: int) -> None:
        slots = 1 << max(10, int(_SLOTS_A_KEY * keys / parts).bit_length())
        self._hashes = np.zeros(slots, np.uint64)
        self._numbers = np.zeros(slots, np.uint32)
        self._low, self._high = (part << 64) // parts, ((part + 1) << 64) // parts - 1

    @property
    def bytes(self) -> int:
        return self._hashes.nbytes + self._numbers.nbytes

    def add(self, hashes: Words, first: int) -> None:
        """Hashes of the keys first, first + 1..."""
        if not _fill(self._hashes, self._numbers, hashes, first, uint64(self._low), uint64(self._high)):
            raise HashCollision

    def look_up(self, hashes: Words, numbers: Numbers) -> None:
        """Sets the numbers of those hashes that lie in this part."""
        if not _look_up(self._hashes, self._numbers, hashes, numbers, uint64(self._low), uint64(self._high)):
            raise AssertionError("a link names a URL that no run of keys had")


@kernel
def hash_keys(text: Bytes, lengths: Ints, seed: int) -> Words:
    hashes = np.empty(len(lengths), np.uint64)
    start = 0
    for key in range(len(lengths)):
        hashes[key] = hash_bytes(text, start, start + lengths[key], seed)
        start += lengths[key]
    return hashes


@kernel
def _fill(table: Words, numbers: Numbers, hashes: Words, first: int, low: int, high: int) -> bool:
    mask = uint64(len(table) - 1)
    for index in range(len(hashes)):
        value = hashes[index]
        if value < low or value > high:
            continue
        slot = int64(value & mask)
        while table[slot] != 0:
            if table[slot] == value:
                return False
            slot = (slot + 1) & int64(mask)
        table[slot], numbers[slot] = value, first + index
    return True


@kernel
def _look_up(table: Words, numbers: Numbers, hashes: Words, out: Numbers, low: int, high: int) -> bool:
    mask = uint64(len(table) - 1)
    for index in range(len(hashes)):
        value = hashes[index]
        if value < low or value > high:
            continue
        slot = int64(value & mask)
        while table[slot] != value:
            if table[slot] == 0:
                return False
            slot = (slot + 1) & int64(mask)
        out[index] = numbers[slot]
    return True


@kernel
def host_starts(text: Bytes, lengths: Ints) -> Ints:
    """Which of these keys begin a host: 1 where the bytes up to `)` differ from those of the key before."""
    starts = np.zeros(len(lengths), np.int64)
    position = before = before_length = 0
    for key in range(len(lengths)):
        end = 0
        if text[position] == 126:  # ~: all that is no web address is one host without name
            end = 1
        else:
            while end < lengths[key] and text[position + end] != 41:
                end += 1
            end += 1
        same = key > 0 and end == before_length
        index = 0
        while same and index < end:
            same = text[position + index] == text[before + index]
            index += 1
        starts[key] = not same
        before, before_length = position, end
        position += lengths[key]
    return starts
