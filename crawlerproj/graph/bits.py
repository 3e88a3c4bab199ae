"""Bit streams and the instantaneous codes of WebGraph, most significant bit first.

unary(n)   n zeros and a one
gamma(n)   unary(l), then the l low bits of n + 1, where l = floor(log2(n + 1)) (Elias)
zeta_k(n)  unary(h), h = floor(log2(n + 1) / k), then n + 1 - 2^(hk) in minimal binary below
           2^(hk+k) - 2^(hk) (Boldi and Vigna, "Codes for the World-Wide Web")

Values are at most 2^48. A reader past the end reads zeros; a unary code longer than 63 bits, which
no encoder writes, is damage. Readers keep their position in `at[0]`, writers in `at[0]` likewise.
"""

from __future__ import annotations

from typing import Any

from crawlerproj.graph.jit import (
    DAMAGED,
    Bytes,
    Ints,
    int64,
    kernel,
    leading_zeros,
    load_word,
    turned,
    uint64,
)

_SURE = 57  # bits of a window that are the stream's


@kernel
def bit_length(value: int) -> int:
    """The number of bits of a value that is not negative; 0 for 0."""
    return 64 - leading_zeros(value)


@kernel
def write_bits(stream: Bytes, at: Ints, value: int, width: int) -> None:
    """Appends the `width` low bits of a value. The stream is zeroed and long enough."""
    position = at[0]
    at[0] = position + width
    while width > 0:
        free = 8 - (position & 7)
        take = min(free, width)
        part = (value >> (width - take)) & ((1 << take) - 1)
        stream[position >> 3] |= part << (free - take)
        position += take
        width -= take


@kernel
def _window(stream: Bytes, position: int) -> Any:
    """At least 57 bits from a position on, from the highest bit of a word down. Eight bytes must be there."""
    return turned(load_word(stream, position >> 3)) << uint64(position & 7)


@kernel
def read_bits(stream: Bytes, at: Ints, width: int) -> int:
    """The next `width` bits, at most 56."""
    if width == 0:
        return 0
    position = int64(at[0])
    at[0] = position + width
    first = position >> 3
    window = 0
    if first + 8 <= len(stream):
        for index in range(first, first + 8):
            window = (window << 8) | int64(stream[index])
    else:
        for index in range(first, first + 8):
            window = (window << 8) | (int64(stream[index]) if index < len(stream) else 0)
    # The top byte may have filled the sign: the mask drops it.
    return (window >> (64 - (position & 7) - width)) & ((1 << width) - 1)


@kernel
def read_unary(stream: Bytes, at: Ints) -> int:
    position = int64(at[0])
    zeros = 0
    while zeros < 64:
        index = position >> 3
        if index >= len(stream):
            return DAMAGED
        rest = stream[index] & (0xFF >> (position & 7))
        if rest:
            lead = 8 - bit_length(rest) - (position & 7)
            at[0] = position + lead + 1
            return zeros + lead
        step = 8 - (position & 7)
        zeros += step
        position += step
    return DAMAGED


@kernel
def gamma_length(value: int) -> int:
    return 2 * bit_length(value + 1) - 1


@kernel
def write_unary(stream: Bytes, at: Ints, value: int) -> None:
    at[0] += value
    write_bits(stream, at, 1, 1)


@kernel
def write_gamma(stream: Bytes, at: Ints, value: int) -> None:
    low = bit_length(value + 1) - 1
    write_unary(stream, at, low)
    write_bits(stream, at, (value + 1) & ((1 << low) - 1), low)


@kernel
def read_gamma(stream: Bytes, at: Ints) -> int:
    position = int64(at[0])
    if (position >> 3) + 8 <= len(stream):
        window = _window(stream, position)
        width = 2 * leading_zeros(int64(window)) + 1
        if width <= _SURE:  # all of it lies in the window
            at[0] = position + width
            return int64(window >> uint64(64 - width)) - 1
    low = read_unary(stream, at)
    if low < 0 or low > 48:
        return DAMAGED
    return ((1 << low) | read_bits(stream, at, low)) - 1


@kernel
def zeta_length(value: int, k: int) -> int:
    high = (bit_length(value + 1) - 1) // k
    left = 1 << (high * k)
    return high + 1 + high * k + k - (1 if value + 1 - left < left else 0)


@kernel
def write_zeta(stream: Bytes, at: Ints, value: int, k: int) -> None:
    high = (bit_length(value + 1) - 1) // k
    left = 1 << (high * k)
    write_unary(stream, at, high)
    if value + 1 - left < left:
        write_bits(stream, at, value + 1 - left, high * k + k - 1)
    else:
        write_bits(stream, at, value + 1, high * k + k)


@kernel
def read_zeta(stream: Bytes, at: Ints, k: int) -> int:
    position = int64(at[0])
    if (position >> 3) + 8 <= len(stream):
        window = _window(stream, position)
        high = leading_zeros(int64(window))
        width = high + high * k + k  # without the bit that only the longer codes have
        if width < _SURE:
            left = 1 << (high * k)
            value = int64(window >> uint64(64 - width)) & ((1 << (high * k + k - 1)) - 1)
            if value < left:
                at[0] = position + width
                return value + left - 1
            at[0] = position + width + 1
            return ((value << 1) | (int64(window >> uint64(63 - width)) & 1)) - 1
    high = read_unary(stream, at)
    if high < 0 or high * k + k > 52:
        return DAMAGED
    left = 1 << (high * k)
    value = read_bits(stream, at, high * k + k - 1)
    if value < left:
        return value + left - 1
    return ((value << 1) | read_bits(stream, at, 1)) - 1


@kernel
def fold_sign(value: int) -> int:
    """A signed number as a natural one: 0, -1, 1, -2, 2... become 0, 1, 2, 3, 4..."""
    return 2 * value if value >= 0 else -2 * value - 1


@kernel
def unfold_sign(value: int) -> int:
    return (value >> 1) if value & 1 == 0 else -((value + 1) >> 1)
