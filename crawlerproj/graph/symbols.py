"""A row of the compact format as a list of symbols: numbers, each with the context it is coded in.

A row is told in this order (prototype, reference, gap: the textbook's words, see `classic`):

    kind    0: the row is empty; 1: no prototype; 1 + r: the prototype is the row r before this one
    run     only with a prototype, until it is used up: lengths of runs of its elements that are
            copied, skipped, copied...; 0 = all the rest (the first is told as length + 1 otherwise)
    count   how many successors the prototype does not have: the extras
    first   fold_sign(first extra - node)
    gap     extra - the extra before - 1 - the elements of the prototype between the two
    zeros   after two gaps of 0: how many more gaps of 0 follow at once

A number n is told as a token and raw bits: n < 16 is its own token; else with e = floor(log2 n) the
token is 16 + 2 (e - 4) + the bit below the highest, and the e - 1 bits below that are raw.

The context is what is already known and speaks about the number: see the functions `*_context`,
which encoder and decoder share. `BASES` places the contexts of the six kinds of symbols in one range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crawlerproj.graph.bits import bit_length, fold_sign
from crawlerproj.graph.jit import Bytes, Ints, int64, kernel, uint64
from crawlerproj.graph.rows import Targets

TOKENS = 80  # of numbers below 2^36
KINDS = ("kind", "run", "count", "first", "gap", "zeros")
_SIZES = (125, 216, 512, 96, 1176, 16)
BASES = tuple(sum(_SIZES[:index]) for index in range(len(_SIZES) + 1))
_KIND, _RUN, _COUNT, _FIRST, _GAP, _ZEROS, CONTEXTS = BASES

# What a row leaves for the contexts of the next: its kind, the kind before, its count, its first extra.
STATE = 4
AFTER_FIRST = 13  # in place of a gap's bucket: there is none before
AFTER_ZEROS = 13


class Scratch(NamedTuple):
    """Room for the comparison of a row with its prototype."""

    extras: Targets  # what the prototype does not have
    below: Ints  # elements of the prototype below each of them
    copied: Bytes  # 1 for each element of the prototype that the row has


@kernel
def scratch_for(longest: int) -> Scratch:
    """For rows of at most so many links."""
    return Scratch(
        np.empty(longest + 1, np.uint32), np.empty(longest + 1, np.int64), np.empty(longest + 1, np.uint8)
    )


@kernel
def token_of(value: int) -> int:
    if value < 16:
        return value
    exponent = bit_length(value) - 1
    return 16 + ((exponent - 4) << 1) + ((value >> (exponent - 1)) & 1)


@kernel
def raw_bits(token: int) -> int:
    """How many raw bits follow a token."""
    return 0 if token < 16 else 3 + ((token - 16) >> 1)


@kernel
def fine(value: int, most: int) -> int:
    """A bucket: 0 1 2 3, then two to an octave."""
    if value < 4:
        return min(value, most)
    exponent = bit_length(value) - 1
    return min(((exponent - 2) << 1) + 4 + ((value >> (exponent - 1)) & 1), most)


@kernel
def coarse(value: int, most: int) -> int:
    return min(bit_length(value), most)


@kernel
def gap_bucket(gap: int) -> int:
    return gap if gap < 4 else min(bit_length(gap) + 1, 12)


@kernel
def _kind_bucket(kind: int) -> int:
    if kind < 3:
        return kind
    return 3 if kind < 5 else 4


@kernel
def kind_context(kind: int, kind_before: int, place: int) -> int:
    """`place` is the row's number in its block."""
    return _KIND + (_kind_bucket(kind) * 5 + _kind_bucket(kind_before)) * 5 + coarse(place, 4)


@kernel
def run_context(which: int, left: int, before: int) -> int:
    """`which`: 0 the first run, 1 copied, 2 skipped; `left` of the prototype; the run `before`."""
    return _RUN + (which * 12 + fine(left, 11)) * 6 + coarse(before, 5)


@kernel
def count_context(count_before: int, reference: int, copied: int, uncopied: int, place: int) -> int:
    if reference == 0:
        return _COUNT + fine(count_before, 7) * 32 + min(place, 3)
    return _COUNT + ((8 + fine(count_before, 7)) * 8 + fine(copied, 7)) * 4 + min(uncopied, 3)


@kernel
def first_context(first_before: int, reference: int, count: int) -> int:
    return _FIRST + ((reference > 0) * 6 + coarse(count, 5)) * 8 + min(bit_length(first_before) >> 1, 7)


@kernel
def gap_context(bucket: int, bucket_before: int, reference: int, left: int) -> int:
    return _GAP + (bucket * 14 + bucket_before) * 6 + (reference > 0) * 3 + coarse(left - 1, 2)


@kernel
def zeros_context(reference: int, left: int) -> int:
    return _ZEROS + (reference > 0) * 8 + coarse(left, 7)


@kernel
def row_symbols(
    node: int, place: int, row: Targets, reference: int, prototype: Targets, state: Ints,
    scratch: Scratch, contexts: Ints, values: Ints,
) -> tuple[int, int, int]:  # fmt: skip
    """Tells a row: the number of symbols, and the row's count and first for the next row's state."""
    contexts[0], values[0] = kind_context(state[0], state[1], place), (1 + reference if len(row) else 0)
    if len(row) == 0:
        return 1, state[2], state[3]
    count = _compare(row, prototype, scratch)
    told = _tell_runs(len(prototype), scratch.copied, contexts, values)
    copied = len(row) - count
    contexts[told] = count_context(state[2], reference, copied, len(prototype) - copied, place)
    values[told] = count
    if count == 0:
        return told + 1, 0, state[3]
    first = fold_sign(int64(scratch.extras[0]) - node)
    return _tell_extras(first, count, reference, state, scratch, told + 1, contexts, values), count, first


@kernel
def _compare(row: Targets, prototype: Targets, scratch: Scratch) -> int:
    """Marks what the prototype lends, lists the extras; gives their number.

    Without branches in the loop: which of two numbers is the smaller one is chance.
    """
    extras, below, copied = scratch
    mine = its = count = 0
    while mine < len(row) and its < len(prototype):
        here, there = row[uint64(mine)], prototype[uint64(its)]
        extras[uint64(count)], below[uint64(count)] = here, its
        copied[uint64(its)] = here == there
        count += here < there
        mine += here <= there
        its += here >= there
    for index in range(mine, len(row)):
        extras[uint64(count)], below[uint64(count)] = row[index], its
        count += 1
    for index in range(its, len(prototype)):
        copied[index] = 0
    return count


@kernel
def _tell_runs(length: int, copied: Bytes, contexts: Ints, values: Ints) -> int:
    told, its, before, which = 1, 0, 0, 0
    copying = 1
    while its < length:
        start = its
        while its < length and copied[uint64(its)] == copying:
            its += 1
        contexts[told] = run_context(which, length - start, before)
        values[told] = 0 if its == length else its - start + (which == 0)
        told += 1
        before = its - start
        copying = 1 - copying
        which = 1 if copying else 2
    return told


@kernel
def _tell_extras(
    first: int, count: int, reference: int, state: Ints, scratch: Scratch, told: int,
    contexts: Ints, values: Ints,
) -> int:  # fmt: skip
    extras, below, _ = scratch
    before, seen = int64(extras[0]), below[0]
    contexts[told], values[told] = first_context(state[3], reference, count), first
    told += 1
    bucket, bucket_before = AFTER_FIRST, coarse(first, 12)
    index = 1
    while index < count:
        extra, its = int64(extras[uint64(index)]), below[uint64(index)]
        gap = extra - before - 1 - (its - seen)
        contexts[told], values[told] = gap_context(bucket, bucket_before, reference, count - index), gap
        told += 1
        bucket_before, bucket = bucket, gap_bucket(gap)
        before, seen = extra, its
        index += 1
        if bucket == 0 and bucket_before == 0 and index < count:
            zeros = index
            while index < count and int64(extras[index]) - below[index] == before + 1 - seen:
                before, seen = int64(extras[index]), below[index]
                index += 1
            contexts[told], values[told] = zeros_context(reference, count - zeros), index - zeros
            told += 1
            bucket, bucket_before = AFTER_ZEROS, AFTER_ZEROS
    return told
