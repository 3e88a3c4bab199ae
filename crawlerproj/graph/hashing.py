"""A 64-bit hash of bytes: of URLs while a graph is built, and of what is read to see if it was written.

After wyhash (Wang Yi): eight bytes at a time, each word hidden by an exclusive or with a secret, then
multiplied with the state to 128 bits, of which both halves are taken. Who does not know the seed cannot
prepare texts of one hash: a page that links to two such URLs would stop every build. (A hash that multiplies
to 64 bits and folds was tried first; pairs that collide under most seeds were found in seconds.)
"""

from __future__ import annotations

from typing import Any

from crawlerproj.graph.jit import Bytes, kernel, load_word, multiply_fold, uint64


@kernel
def hash_bytes(text: Bytes, start: int, end: int, seed: int) -> Any:
    """Of text[start:end]. Never 0, which marks an empty slot."""
    secret = multiply_fold(uint64(seed) ^ uint64(0x2D358DCCAA6C78A5), uint64(0x8BB84B93962EACC9))
    state = multiply_fold(secret ^ uint64(end - start), uint64(0x4B33A62ED433D4A3))
    position = start
    while end - position > 8:
        state = multiply_fold(load_word(text, position) ^ secret, state)
        position += 8
    if end - start >= 8:
        word = load_word(text, end - 8)  # what of it was read before does no harm
    else:
        word = uint64(0)
        for index in range(start, end):
            word = (word << uint64(8)) | uint64(text[index])
    state = multiply_fold(word ^ secret, state)
    state = multiply_fold(state ^ secret, uint64(0x9E3779B97F4A7C15))
    return state | uint64(state == uint64(0))
