"""What does a text say, in a few bytes? A digest for equal texts, a MinHash signature for similar ones.

Normal form: lower case, punctuation and spaces are one separator, so markup and layout do not count.
Tokens are words (letters, digits, marks, underscore); in scripts that do not separate words (Chinese,
Japanese, Thai, Lao, Burmese, Khmer) each character is a token. A shingle is 4 tokens in a row, and
similarity is the Jaccard index of the two sets of shingles.

MinHash with one permutation (Li, Owen, Zhang 2012): the hashes of the shingles fall into as many bins as a
signature has positions, a position keeps the least of its bin, and the share of equal positions among those
not empty in both texts estimates the index. It is at least as exact as a permutation for each position,
which is 128 times the arithmetic. Bins of short texts may be empty; for the bands of a look-up, where
two empty positions would be equal for nothing, they borrow the value of another bin (`dense`: optimal
densification, Shrivastava 2017).
A position keeps only `bits` of its minimum (b-bit MinHash, Li and König 2010): one of 2^bits - 1 values, the
last code being "empty". The estimate takes off what is equal by chance. With 4 bits a signature of 128
positions is 64 bytes, and its standard error grows by a fourteenth.
Shingles are hashed without making strings: words by differences of a running polynomial hash over the
whole text, shingles by combining 4 word hashes.

Signatures are comparable only under one `SCHEME`, which is stored beside them and grows with any change.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_128_digest

SCHEME = 3
SHINGLE_WORDS = 4
MIN_WORDS = 50  # below, a changed word or two is half the text, and a signature says little
DEFAULT_VALUES = 128

Hashes: TypeAlias = NDArray[np.uint64]
Codes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]

_SPACE = 32
_CHUNK = 1 << 16  # code units, or shingles, hashed at a time: the table of powers is this long
_NONE = np.uint32(0xFFFFFFFF)
_BASE = 0x9E3779B97F4A7C15
_SMALL_BASE = 0x9E3779B5  # 5 modulo 8: powers less one have few factors of two, so short words differ
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_COMBINE = tuple(map(np.uint64, (
    0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)))
_SPREAD = np.uint64(_BASE)
_SHIFT_29, _SHIFT_32, _SHIFT_33 = map(np.uint64, (29, 32, 33))
_UNSEPARATED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
)


@dataclass(slots=True, frozen=True)
class Fingerprint:
    """`signature` is empty where the text has fewer than `MIN_WORDS` words."""

    digest: bytes
    words: int
    signature: bytes


class Fingerprinter:
    """Makes and compares fingerprints. A signature has `values` positions, an even number, of `bits` each."""

    def __init__(self, values: int = DEFAULT_VALUES, bits: Literal[4, 8, 16] = 16) -> None:
        self.values, self.bits = values, bits
        self.empty = (1 << bits) - 1  # the code of a bin that no shingle fell into
        self._ones = sum(1 << bits * position for position in range(values))
        self._full = self._ones * self.empty

    def of(self, text: str, signed: bool = True) -> Fingerprint:
        """Without a signature (`signed` off) it costs half."""
        codes = normal_codes(text)
        hashes = word_hashes(codes)
        signature = self._signature(hashes) if signed and len(hashes) >= MIN_WORDS else b""
        return Fingerprint(xxh3_128_digest(codes.tobytes()), len(hashes), signature)

    def _signature(self, hashes: Hashes) -> bytes:
        """The least of each bin, over some of the shingles at a time: a text may be as long as a page."""
        minima = np.full(self.values, _NONE, np.uint32)
        for start in range(0, len(hashes) - SHINGLE_WORDS + 1, _CHUNK):
            high = shingles(hashes[start : start + _CHUNK + SHINGLE_WORDS - 1])
            high >>= _SHIFT_32
            bins = (high * np.uint64(self.values) >> _SHIFT_32).view(np.int64)
            np.minimum.at(minima, bins, high.astype(np.uint32))
        positions = (minima & np.uint32(0xFFFF)) % np.uint32(self.empty)
        positions[minima == _NONE] = self.empty
        return self._packed(positions)

    def estimate(self, first: bytes, second: bytes) -> float:
        """The estimated Jaccard index of two texts, from their signatures."""
        a, b = int.from_bytes(first, "little"), int.from_bytes(second, "little")
        filled_a, filled_b = self._not_zero(a ^ self._full), self._not_zero(b ^ self._full)
        both, either = (filled_a & filled_b).bit_count(), (filled_a | filled_b).bit_count()
        if not either:
            return 0.0
        equal = either - self._not_zero(a ^ b).bit_count()
        by_minimum = (self.empty * equal - both) / (self.empty - 1)  # equal = it + (both - it) / codes
        return max(0.0, by_minimum / either)

    def dense(self, signature: bytes) -> bytes:
        """The signature with every empty position filled from another one, the same for equal sets."""
        if self._not_zero(int.from_bytes(signature, "little") ^ self._full) == self._ones:
            return signature
        positions = self._unpacked(signature)
        is_empty = positions == self.empty
        if is_empty.all():
            return signature
        empty = np.flatnonzero(is_empty)
        lenders = _lenders(self.values)[empty]
        first = np.argmin(is_empty[lenders], axis=1)
        positions[empty] = positions[lenders[np.arange(len(empty)), first]]
        return self._packed(positions)

    def _not_zero(self, fields: int) -> int:
        """A one for each position that is not zero, at its lowest bit."""
        shift = 1
        while shift < self.bits:
            fields |= fields >> shift
            shift *= 2
        return fields & self._ones

    def _packed(self, positions: NDArray[Any]) -> bytes:
        if self.bits == 4:
            positions = positions[::2] << 4 | positions[1::2]
        packed: bytes = positions.astype("<u2" if self.bits == 16 else np.uint8).tobytes()
        return packed

    def _unpacked(self, signature: bytes) -> NDArray[Any]:
        if self.bits == 16:
            return np.frombuffer(signature, "<u2").copy()
        positions = np.frombuffer(signature, np.uint8)
        if self.bits == 4:
            return np.stack((positions >> 4, positions & 15), axis=1).ravel()
        return positions.copy()


def normal_codes(text: str) -> Codes:
    """The normal form as UTF-16 code units, or as bytes if it is ASCII: words with one space between them."""
    if text.isascii():
        codes: Codes = np.frombuffer(text.encode().translate(_ascii_table()), np.uint8)
    else:
        text = unicodedata.normalize("NFC", text)
        codes = _fold_table().take(np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2"))
        if codes.max(initial=0) < 128:
            codes = codes.astype(np.uint8)  # typographic quotes alone make no other text
    is_word = codes != _SPACE
    keep = is_word.copy()
    keep[1:] |= is_word[:-1]  # the first separator after a word stays
    codes = codes[keep]
    return codes[:-1] if len(codes) and codes[-1] == _SPACE else codes


def word_hashes(codes: Codes) -> Hashes:
    """A 64-bit hash for each token of a normal form, in order."""
    parts = []
    start = 0
    while start < len(codes):
        end = start + _CHUNK
        if end < len(codes):
            spaces = np.flatnonzero(codes[start : end + 1] == _SPACE)
            # A "word" longer than a chunk is cut: it is data, not language.
            end = start + int(spaces[-1]) if len(spaces) else end
        parts.append(_chunk_hashes(codes[start:end]))
        start = end + 1 if end < len(codes) and codes[end] == _SPACE else end
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def shingles(hashes: Hashes) -> Hashes:
    """One well-mixed hash for each run of 4 tokens; a shorter text is one shingle."""
    if not len(hashes):
        return hashes
    width = min(SHINGLE_WORDS, len(hashes))
    count = len(hashes) - width + 1
    mixed = hashes[:count] * _COMBINE[0]
    term = np.empty_like(mixed)
    for position in range(1, width):
        mixed += np.multiply(hashes[position : position + count], _COMBINE[position], out=term)
    mixed ^= np.right_shift(mixed, _SHIFT_33, out=term)
    mixed *= _MIX
    mixed ^= np.right_shift(mixed, _SHIFT_29, out=term)
    mixed *= _SPREAD
    return mixed


def _chunk_hashes(codes: Codes) -> Hashes:
    starts, ends = _token_bounds(codes)
    powers, inverses = _powers()
    # In 32 bits: twice as much of it stays in the processor's cache.
    terms = np.multiply(codes, powers[: len(codes)], dtype=np.uint32)
    running = np.empty(len(codes) + 1, np.uint32)
    running[0] = 0
    np.add.accumulate(terms, out=running[1:])
    # The sum between two positions, moved to position 0, is the hash of what lies between them.
    sums = running.take(ends)
    sums -= running.take(starts)
    sums *= inverses.take(starts)
    hashes: Hashes = sums.astype(np.uint64)
    hashes *= _SPREAD
    hashes ^= hashes >> _SHIFT_32
    return hashes


def _token_bounds(codes: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
    if codes.dtype == np.uint8 or codes.max(initial=0) < _UNSEPARATED[0][0]:
        spaces = (codes == _SPACE).nonzero()[0]
        starts, ends = np.empty(len(spaces) + 1, np.intp), np.empty(len(spaces) + 1, np.intp)
        starts[0], ends[-1] = 0, len(codes)
        np.add(spaces, 1, out=starts[1:])
        ends[:-1] = spaces
        return starts, ends
    alone = _alone_table().take(codes)
    is_word = codes != _SPACE
    begins, finishes = alone.copy(), alone.copy()
    begins[0] = finishes[-1] = True
    begins[1:] |= alone[:-1] | ~is_word[:-1]
    finishes[:-1] |= alone[1:] | ~is_word[1:]
    return np.flatnonzero(begins & is_word), np.flatnonzero(finishes & is_word) + 1


@cache
def _fold_table() -> NDArray[np.uint16]:
    """For each code unit its lower case, or a space if it is no part of a word.

    Marks belong to words: without them the vowels of Hindi and Thai would be separators. Halves of
    surrogate pairs (rare scripts, emoji) are kept as they are.
    """
    table = np.array([_folded(code) for code in range(1 << 16)], np.uint16)
    table[0xD800:0xE000] = np.arange(0xD800, 0xE000)
    return table


@cache
def _ascii_table() -> bytes:
    return bytes([_folded(code) for code in range(128)]) + bytes(128)


def _folded(code: int) -> int:
    character = chr(code)
    if unicodedata.category(character)[0] not in "LNM" and character != "_":
        return _SPACE
    lower = character.lower()
    return ord(lower) if len(lower) == 1 and ord(lower) < 1 << 16 else code


@cache
def _alone_table() -> NDArray[np.bool_]:
    table = np.zeros(1 << 16, np.bool_)
    for first, last in _UNSEPARATED:
        table[first : last + 1] = True
    return table


@cache
def _lenders(values: int) -> NDArray[np.int64]:
    """For each position all others, in the order in which it borrows from them."""
    return np.argsort(np.random.default_rng(1).random((values, values)), axis=1)


@cache
def _powers() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The powers of the small base and of its inverse modulo 2^32."""
    inverse = pow(_SMALL_BASE, -1, 1 << 32)
    both = []
    for factor in (_SMALL_BASE, inverse):
        steps = np.full(_CHUNK + 1, factor, np.uint32)
        steps[0] = 1
        both.append(np.multiply.accumulate(steps))
    return both[0], both[1]
