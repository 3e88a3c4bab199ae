"""Blocks of sorted keys, front coded: what each shares with the one before is not repeated.

A block of n keys: one byte w, 1 or 2; n numbers of w bytes, how many bytes a key shares with the one
before (0 for the first); n numbers of w bytes, how many are its own; then the own bytes of all.
"""

from __future__ import annotations

import numpy as np

from crawlerproj.graph.jit import DAMAGED, Bytes, Ints, int64, kernel


def front_coded(keys: list[bytes], block_keys: int) -> list[bytes]:
    """The blocks of sorted keys, uncompressed."""
    lengths = np.fromiter(map(len, keys), np.int64, len(keys))
    text = np.frombuffer(b"".join(keys), np.uint8)
    out = np.empty(len(text) + 5 * len(keys) + 1, np.uint8)
    ends = _front_code(text, lengths, block_keys, out)
    data = out[: ends[-1]].tobytes()
    return [data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


@kernel
def _front_code(text: Bytes, lengths: Ints, block_keys: int, out: Bytes) -> Ints:
    keys = len(lengths)
    ends = np.zeros((keys + block_keys - 1) // block_keys, np.int64)
    shared = np.zeros(block_keys, np.int64)
    at = start = 0
    for block in range(len(ends)):
        first, last = block * block_keys, min(keys, (block + 1) * block_keys)
        position, before, wide = start, 0, 1
        for key in range(first, last):
            common = 0
            if key > first:
                most = min(lengths[key], lengths[key - 1])
                while common < most and text[before + common] == text[position + common]:
                    common += 1
            shared[key - first] = common
            if max(common, lengths[key] - common) > 255:
                wide = 2
            before = position
            position += lengths[key]
        out[at] = wide
        at += 1
        for own in range(2):
            for key in range(first, last):
                value = lengths[key] - shared[key - first] if own else shared[key - first]
                out[at] = value & 255
                at += 1
                if wide == 2:
                    out[at] = value >> 8
                    at += 1
        for key in range(first, last):
            for index in range(start + shared[key - first], start + lengths[key]):
                out[at] = text[index]
                at += 1
            start += lengths[key]
        ends[block] = at
    return ends


@kernel
def _start(block: bytes, keys: int) -> tuple[int, int]:
    """The width of the numbers, and where the own bytes begin: DAMAGED if the block is too short."""
    width = int64(block[0]) if len(block) else 0
    start = 1 + 2 * keys * width
    if width < 1 or width > 2 or len(block) < start:
        return width, DAMAGED
    return width, start


@kernel
def _number(block: bytes, width: int, index: int) -> int:
    at = 1 + index * width
    return int64(block[at]) if width == 1 else int64(block[at]) | int64(block[at + 1]) << 8


@kernel
def find_key(block: bytes, keys: int, wanted: bytes) -> int:
    """The place of a key in its block; of one that is not there, -2 - the number of keys below it."""
    width, at = _start(block, keys)
    if at < 0:
        return DAMAGED
    matched = 0  # bytes that the wanted key shares with the key before
    for key in range(keys):
        shared, own = _number(block, width, key), _number(block, width, keys + key)
        if at + own > len(block):
            return DAMAGED
        if shared < matched:
            return -2 - key
        if shared == matched:
            step = 0
            while step < own and matched + step < len(wanted) and block[at + step] == wanted[matched + step]:
                step += 1
            if matched + step == len(wanted):
                return key if step == own else -2 - key
            if step < own and block[at + step] > wanted[matched + step]:
                return -2 - key
            matched += step
        at += own
    return -2 - keys


@kernel
def read_key(block: bytes, keys: int, place: int, into: Bytes) -> int:
    """Writes a key to `into`, gives its length."""
    width, at = _start(block, keys)
    if at < 0 or place >= keys:
        return DAMAGED
    length = 0
    for key in range(place + 1):
        shared, own = _number(block, width, key), _number(block, width, keys + key)
        if shared > length or at + own > len(block) or shared + own > len(into):
            return DAMAGED
        for index in range(own):
            into[shared + index] = block[at + index]
        length = shared + own
        at += own
    return length
