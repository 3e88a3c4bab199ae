"""Blocks of sorted keys, front coded: what each shares with the one before is not repeated.

A block of n keys: four bytes of check, the low half of `hash_bytes` (seed 0) of the rest; one byte w, 1, 2 or
4; n numbers of w bytes, how many bytes a key shares with the one before (0 for the first); n numbers of w
bytes, in how many bytes its own are told; then the own bytes of all, in codes (`substrings`).

A key is sought among the numbers alone, most keys are not even looked at.
"""

from __future__ import annotations

import numpy as np

from crawlerproj.graph.hashing import hash_bytes
from crawlerproj.graph.jit import DAMAGED, Bytes, Ints, Words, int64, kernel, uint64
from crawlerproj.graph.substrings import Speller

SPARE = 1  # bytes behind the last block: a code of two bytes may be looked for where there is none
_CHECK = 4


def own_bytes(keys: list[bytes], block_keys: int) -> list[bytes]:
    """What is told of each key."""
    text, lengths = _joined(keys)
    shared = _shared(text, lengths, block_keys)
    return [key[common:] for key, common in zip(keys, shared.tolist(), strict=True)]


def front_coded(keys: list[bytes], block_keys: int, speller: Speller) -> tuple[bytes, list[int]]:
    """The blocks of sorted keys, and where each ends."""
    text, lengths = _joined(keys)
    shared = _shared(text, lengths, block_keys)
    codes, sizes = speller.spell(_own(text, lengths, shared), lengths - shared)
    out = np.empty(len(codes) + 8 * len(keys) + (_CHECK + 1) * (len(keys) // block_keys + 1), np.uint8)
    ends = _front_code(shared, sizes, codes, block_keys, out)
    return out[: ends[-1]].tobytes(), ends.tolist()


def _joined(keys: list[bytes]) -> tuple[Bytes, Ints]:
    return np.frombuffer(b"".join(keys), np.uint8), np.fromiter(map(len, keys), np.int64, len(keys))


@kernel
def _shared(text: Bytes, lengths: Ints, block_keys: int) -> Ints:
    """How many bytes each key shares with the one before in its block."""
    shared = np.zeros(len(lengths), np.int64)
    start = before = 0
    for key in range(len(lengths)):
        if key % block_keys:
            common, most = 0, min(lengths[key], lengths[key - 1])
            while common < most and text[before + common] == text[start + common]:
                common += 1
            shared[key] = common
        before = start
        start += lengths[key]
    return shared


@kernel
def _own(text: Bytes, lengths: Ints, shared: Ints) -> Bytes:
    own = np.empty(len(text), np.uint8)
    filled = start = 0
    for key in range(len(lengths)):
        for index in range(start + shared[key], start + lengths[key]):
            own[filled] = text[index]
            filled += 1
        start += lengths[key]
    return own[:filled]


@kernel
def _front_code(shared: Ints, sizes: Ints, codes: Bytes, block_keys: int, out: Bytes) -> Ints:
    keys = len(sizes)
    ends = np.zeros((keys + block_keys - 1) // block_keys, np.int64)
    at = start = 0
    for block in range(len(ends)):
        first, last = block * block_keys, min(keys, (block + 1) * block_keys)
        largest = max(shared[first:last].max(), sizes[first:last].max())
        width = 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 4
        begin = at
        out[at + _CHECK] = width
        at += _CHECK + 1
        for numbers in (shared, sizes):
            for key in range(first, last):
                for byte in range(width):
                    out[at] = (numbers[key] >> (8 * byte)) & 255
                    at += 1
        end = start + sizes[first:last].sum()
        for index in range(start, end):
            out[at] = codes[index]
            at += 1
        start = end
        check = hash_bytes(out, begin + _CHECK, at, 0)
        for byte in range(_CHECK):
            out[begin + byte] = int64(check >> uint64(8 * byte)) & 255
        ends[block] = at
    return ends


@kernel
def _sound(data: Bytes, start: int, end: int, keys: int) -> tuple[int, int]:
    """The width of the numbers and where they begin, of a block that is as it was written; else DAMAGED."""
    if start < 0 or end + SPARE > len(data) or end - start <= _CHECK:
        return 1, DAMAGED
    check = int64(hash_bytes(data, start + _CHECK, end, 0) & uint64(0xFFFFFFFF))
    for byte in range(_CHECK):
        if int64(data[start + byte]) != (check >> (8 * byte)) & 255:
            return 1, DAMAGED
    width = int64(data[start + _CHECK])
    numbers = start + _CHECK + 1
    if (width != 1 and width != 2 and width != 4) or numbers + 2 * keys * width > end:
        return width, DAMAGED
    return width, numbers


@kernel
def _number(data: Bytes, width: int, numbers: int, index: int) -> int:
    at = numbers + index * width
    value = int64(data[uint64(at)])
    for byte in range(1, width):
        value |= int64(data[uint64(at + byte)]) << (8 * byte)
    return value


@kernel
def _substring(data: Bytes, at: int, rows: Words, ones: int) -> tuple[int, int, int]:
    """The number and the length of the substring told here, and where the next is; DAMAGED if it is none."""
    number = int64(data[uint64(at)])
    at += 1
    if number >= ones:
        number = ones + ((number - ones) << 8) + int64(data[uint64(at)])
        at += 1
    if 2 * number >= len(rows):
        return DAMAGED, 0, at
    return number, int64(rows[uint64(2 * number + 1)] >> uint64(56)), at


@kernel
def _byte(rows: Words, number: int, index: int) -> int:
    word = rows[uint64(2 * number + (index >> 3))]
    return int64(word >> uint64(8 * (index & 7))) & 255


@kernel
def find_key(data: Bytes, start: int, end: int, keys: int, wanted: bytes, rows: Words, ones: int) -> int:
    """The place of a key in the block data[start:end]; of one that is not there, -2 - the number below it."""
    width, numbers = _sound(data, start, end, keys)
    if numbers < 0:
        return DAMAGED
    at = numbers + 2 * keys * width
    matched = 0  # bytes that the wanted key shares with the key before
    for key in range(keys):
        shared, size = _number(data, width, numbers, key), _number(data, width, numbers, keys + key)
        if size > end - at:
            return DAMAGED
        if shared < matched:
            return -2 - key
        if shared == matched:
            stop, position = at + size, at
            while position < stop:
                number, length, position = _substring(data, position, rows, ones)
                if number < 0:
                    return DAMAGED
                for index in range(length):
                    its = _byte(rows, number, index)
                    if matched == len(wanted) or its > int64(wanted[matched]):
                        return -2 - key
                    if its < int64(wanted[matched]):
                        position = stop + 1  # the key is below: to the next
                        break
                    matched += 1
            if position == stop and matched == len(wanted):
                return key
        at += size
    return -2 - keys


@kernel
def read_key(
    data: Bytes, start: int, end: int, keys: int, place: int, rows: Words, ones: int, into: Bytes
) -> int:  # fmt: skip
    """Writes a key of the block data[start:end] to `into`, gives its length."""
    width, numbers = _sound(data, start, end, keys)
    if numbers < 0 or place >= keys:
        return DAMAGED
    at = numbers + 2 * keys * width
    length = 0
    for key in range(place + 1):
        shared, size = _number(data, width, numbers, key), _number(data, width, numbers, keys + key)
        if shared > length or size > end - at:
            return DAMAGED
        length = shared
        stop = at + size
        while at < stop:
            number, more, at = _substring(data, at, rows, ones)
            if number < 0 or length + more > len(into):
                return DAMAGED
            for index in range(more):
                into[uint64(length + index)] = _byte(rows, number, index)
            length += more
        at = stop
    return length
