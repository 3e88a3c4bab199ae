"""Range asymmetric numeral systems (Duda), a block of symbols at a time, with nothing wasted.

State x is a number below 2^32; decoding takes the low 12 bits of it for a token, gives them back as
the token's own share, and when x falls below 2^16 takes in 16 more bits. The encoder runs the
other way, last symbol first, from x = 1. So a block is a whole number of BITS, T:

    T < 16    x without its highest bit
    else      x without its highest bit, in 16 + T mod 16 bits; then words of 16 bits, as they are needed

A decoder that has told the whole block has x = 1 and no words left; anything else is damage.
Raw bits pass through the state as well, at most 16 at a time, low ones first.

Tokens are found by the alias method (Walker, Vose): the 4,096 values of the low bits are 128 buckets
of 32; bucket b belongs to token b up to its `cut` and to one other token from there. One word says
it all, fields from the low end: cut (6 bits), other token (7), frequency of token b (13), frequency
of the other (13), the other's rank at the cut (13).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.bits import bit_length, write_bits
from crawlerproj.graph.jit import Bytes, Ints, int64, kernel, uint64
from crawlerproj.graph.model import ONE, PRECISION
from crawlerproj.graph.symbols import TOKENS, raw_bits, token_of

BUCKETS = 128
_WIDTH = ONE // BUCKETS
_LOW = 1 << 16


@kernel
def alias_tables(frequencies: Ints) -> Ints:
    """The decoder's table: BUCKETS words for each cluster."""
    clusters = len(frequencies) // TOKENS
    tables = np.zeros(clusters * BUCKETS, np.int64)
    for cluster in range(clusters):
        table = frequencies[cluster * TOKENS : (cluster + 1) * TOKENS]
        cuts, others = _pair_buckets(table)
        given = cuts.copy()  # a token's first slots are those of its own bucket
        for bucket in range(BUCKETS):
            other = others[bucket]
            rank = given[other]
            given[other] += _WIDTH - cuts[bucket]
            own = table[bucket] if bucket < TOKENS else 0
            theirs = table[other] if other < TOKENS else 0
            tables[cluster * BUCKETS + bucket] = (
                cuts[bucket] | (other << 6) | (own << 13) | (theirs << 26) | (rank << 39)
            )
    return tables


@kernel
def _pair_buckets(table: Ints) -> tuple[Ints, Ints]:
    """The cut and the other token of each bucket (Vose's two stacks)."""
    left = np.zeros(BUCKETS, np.int64)
    left[: len(table)] = table
    cuts = np.full(BUCKETS, _WIDTH)
    others = np.arange(BUCKETS)
    poor, rich = np.empty(BUCKETS, np.int64), np.empty(BUCKETS, np.int64)
    poors = riches = 0
    for token in range(BUCKETS):
        if left[token] < _WIDTH:
            poor[poors] = token
            poors += 1
        else:
            rich[riches] = token
            riches += 1
    while poors and riches:
        poors -= 1
        bucket, giver = poor[poors], rich[riches - 1]
        cuts[bucket], others[bucket] = left[bucket], giver
        left[giver] -= _WIDTH - left[bucket]
        if left[giver] < _WIDTH:
            riches -= 1
            poor[poors] = giver
            poors += 1
    return cuts, others


@kernel
def slots_of(tables: Ints) -> NDArray[np.int16]:
    """The encoder's table: the slots of each token, rank by rank, tokens in ascending order.

    Token t of a cluster has its slots at the sum of the frequencies before it.
    """
    clusters = len(tables) // BUCKETS
    slots = np.zeros(clusters * ONE, np.int16)
    starts = np.zeros(BUCKETS + 1, np.int64)
    for cluster in range(clusters):
        for bucket in range(BUCKETS):
            entry = tables[cluster * BUCKETS + bucket]
            starts[bucket + 1] = starts[bucket] + ((entry >> 13) & 0x1FFF)
        for bucket in range(BUCKETS):
            entry = tables[cluster * BUCKETS + bucket]
            cut, other, rank = entry & 63, (entry >> 6) & 127, entry >> 39
            for position in range(_WIDTH):
                slot = bucket * _WIDTH + position
                if position < cut:
                    slots[cluster * ONE + starts[bucket] + position] = slot
                else:
                    slots[cluster * ONE + starts[other] + rank + position - cut] = slot
    return slots


@kernel
def token_starts(frequencies: Ints) -> Ints:
    """Where each token's slots begin within its cluster's."""
    starts = np.zeros(len(frequencies), np.int64)
    for index in range(len(frequencies)):
        if index % TOKENS:
            starts[index] = starts[index - 1] + frequencies[index - 1]
    return starts


@kernel
def encode_block(
    contexts: Ints, values: Ints, count: int, clusters: NDArray[np.uint8], frequencies: Ints, starts: Ints,
    slots: NDArray[np.int16], words: NDArray[np.uint16], stream: Bytes, at: Ints,
) -> bool:  # fmt: skip
    """Appends a block of symbols to the stream; False if the model lacks one of their tokens."""
    x = 1
    emitted = 0
    for index in range(count - 1, -1, -1):
        value = values[index]
        token = token_of(value)
        raw = raw_bits(token)
        while raw > 0:
            width = (raw - 1) % 16 + 1  # the low 16 bits are pushed last, so they are read first
            part = (value >> (raw - width)) & ((1 << width) - 1)
            if x >= 1 << (32 - width):
                words[emitted] = x & 0xFFFF
                emitted += 1
                x >>= 16
            x = (x << width) | part
            raw -= width
        cluster = int64(clusters[contexts[index]])
        frequency = frequencies[cluster * TOKENS + token]
        if frequency == 0:
            return False
        if x >= frequency << 20:
            words[emitted] = x & 0xFFFF
            emitted += 1
            x >>= 16
        slot = int64(slots[cluster * ONE + starts[cluster * TOKENS + token] + x % frequency])
        x = ((x // frequency) << PRECISION) | slot
    width = bit_length(x) - 1
    write_bits(stream, at, x & ((1 << width) - 1), width)
    for index in range(emitted - 1, -1, -1):
        write_bits(stream, at, int64(words[index]), 16)
    return True


@kernel
def word_at(stream: Bytes, position: int) -> int:
    """16 bits at a bit position; the stream has two bytes to spare behind its end."""
    first = uint64(position >> 3)
    one = uint64(1)
    window = int64(stream[first]) << 16 | int64(stream[first + one]) << 8 | int64(stream[first + one + one])
    return (window >> (8 - (position & 7))) & 0xFFFF


@kernel
def first_state(stream: Bytes, start: int, end: int) -> tuple[int, int]:
    """The state at the head of a block, and where its words begin."""
    width = end - start
    if width >= 16:
        width = 16 + width % 16
        high = width - 16
        state = (1 << high) | (word_at(stream, start) >> (16 - high))
        return (state << 16) | word_at(stream, start + high), start + width
    return (1 << width) | (word_at(stream, start) >> (16 - width)), start + width


@kernel
def next_token(tables: Ints, cluster: int, x: int) -> tuple[int, int]:
    """The token and the state without it; the caller takes in a word if that is below 2^16.

    Without branches: which part of a bucket is hit is chance, and a wrong guess would cost most.
    """
    bucket = (x >> 5) & 127
    entry = tables[uint64((cluster << 7) | bucket)]
    position, cut = x & 31, entry & 63
    other = (position - cut) >> 63 ^ -1  # all ones from the cut on, else zero
    frequency = (entry >> (13 + (other & 13))) & 0x1FFF
    rank = position + (((entry >> 39) - cut) & other)
    return bucket ^ ((bucket ^ (entry >> 6)) & 127 & other), frequency * (x >> PRECISION) + rank


@kernel
def take_in(stream: Bytes, x: int, position: int, end: int) -> tuple[int, int]:
    """The state with the next word, if it is below 2^16 and there is one; and the position.

    Without branches as well: when a word is due is chance.
    """
    due = ((x - _LOW) & (position - end)) >> 63  # all ones, or zero
    word = word_at(stream, position)  # behind the end too: the stream has bytes to spare
    return (x << (16 & due)) | (word & due), position + (16 & due)


@kernel
def next_value(
    stream: Bytes, tables: Ints, cluster: int, x: int, position: int, end: int
) -> tuple[int, int, int]:
    """The next number told in this cluster, the state and the position after it."""
    token, x = next_token(tables, cluster, x)
    x, position = take_in(stream, x, position, end)
    if token < 16:
        return token, x, position
    raw = 3 + ((token - 16) >> 1)
    value = (2 | (token & 1)) << raw
    shift = 0
    while shift < raw:
        width = min(raw - shift, 16)
        value |= (x & ((1 << width) - 1)) << shift
        x >>= width
        shift += width
        x, position = take_in(stream, x, position, end)
    return value, x, position
