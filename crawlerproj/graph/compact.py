"""The compact format: blocks of rows, prototypes inside a block only, modelled and entropy coded.

From published ideas: Boldi and Vigna's references and gaps; Zuckerli's and JPEG XL's hybrid integers
and clustered contexts; Duda's asymmetric numeral systems. A block is decoded from its head, so within
it any earlier row may be a prototype and chains cost nothing, and ONE offset a block is enough. A block
ends after so many rows, or after so many links: a row need not be found behind a giant one (which,
being the root of a site, is often the first of many).

A file, numbers little-endian:

    0   magic "CPGRAPH2"
    8   nodes (8 bytes), links (8), bits of the stream (8)
    32  blocks (4), bytes of the model (4), bytes of the offsets (8)
    48  CRC-32 of the bytes before, the model, the offsets and the checks, in this order (4); zero (4)
    56  model: see `model`
        offsets: one byte, the most rows of a block; then two lists of one number a block, the rows
        it has less than that, and its bits. A list is one byte k, then each n as unary(n >> k) and
        the k low bits of n (Golomb and Rice; bits as in `bits`), to a whole byte
        checks: 4 bytes for each 2,048 of the stream: see `page_checks`
        stream: the blocks one after the other, each a whole number of bits; four zero bytes

A block is coded as `rans` says, and tells for each of its rows the symbols of `symbols`. The state
that contexts look back to is all zero at the head of a block.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.bit_file import BitFile
from crawlerproj.graph.bits import write_bits, write_unary
from crawlerproj.graph.jit import Bytes, Floats, Ints, int64, kernel
from crawlerproj.graph.model import Model, first_guess, fit
from crawlerproj.graph.page_checks import CHECK_BYTES, PAGE, checks_of, pages_of
from crawlerproj.graph.rans import alias_tables, encode_block, slots_of, token_starts
from crawlerproj.graph.references import (
    MOST_ROWS,
    begin_block,
    block_starts,
    choose,
    desk_for,
    scratch_room,
    tell_best,
)
from crawlerproj.graph.rows import Rows, Targets
from crawlerproj.graph.symbols import CONTEXTS, STATE, TOKENS, row_symbols

MAGIC = b"CPGRAPH2"
HEADER = struct.Struct("<8sQQQIIQII")

SPARE = 4  # zero bytes behind the stream
_AT_ONCE = 1 << 22  # bytes copied at a time, whole pages

# Prototypes told in full for a row: 1, 2, 4 and 6 give 1.830, 1.810, 1.801 and 1.799 bits a link on
# cnr-2000. Large graphs are built more often than they need the last half percent.
TRIES = 4
LARGE_TRIES = 2
_WHOLE_LINKS = 1 << 22  # above, the model is fitted to a part of the graph
_TRAINING_LINKS = 1 << 19  # of that part
_SLICES = 16  # of a chunk, each with its share of that part


class Blocks(NamedTuple):
    """A block ends when it has so many rows (at most 255), or so many links, or a long row."""

    rows: int = 34
    links: int = 2048


@dataclass(slots=True, frozen=True)
class Size:
    """What a file holds, and what that takes, in bits a link."""

    nodes: int
    arcs: int
    bytes: int

    @property
    def bits_per_link(self) -> float:
        return 8 * self.bytes / max(self.arcs, 1)


Chunks = Callable[[], Iterable[Rows]]
"""A graph told in order, several times if asked. Blocks do not cross chunks; chunks are not changed."""


def write_compact(
    chunks: Chunks, arcs: int, path: Path, blocks: Blocks | None = None, tries: int = 0, rounds: int = 2
) -> Size:
    """Writes a graph of `arcs` links, a chunk at a time in memory. `tries` 0: as the size suggests."""
    blocks = blocks or Blocks()
    tries = tries or (TRIES if arcs <= _WHOLE_LINKS else LARGE_TRIES)
    model, references = _train(chunks, arcs, blocks, tries, rounds)
    model_bytes = model.to_bytes()
    body = path.with_name(path.name + ".stream")
    with body.open("wb") as stream:
        encoder = _Encoder(model, blocks, tries, stream)
        for chunk in chunks():
            encoder.write(chunk, references)
        encoder.finish()
        stream.write(bytes(SPARE))
    lengths = np.concatenate([*encoder.lengths, np.zeros(0, np.int64)])
    rows = np.concatenate([*encoder.rows, np.zeros(0, np.int64)])
    most = int(rows.max(initial=1))
    offsets = bytes([most]) + rice_stream(most - rows).tobytes() + rice_stream(lengths).tobytes()
    bits = int(lengths.sum())
    head = HEADER.pack(
        MAGIC, encoder.nodes, encoder.arcs, bits, len(rows), len(model_bytes), len(offsets), 0, 0
    )
    with path.open("wb") as file, body.open("rb") as stream:
        file.seek(HEADER.size + len(model_bytes) + len(offsets) + CHECK_BYTES * pages_of(body.stat().st_size))
        parts = [np.zeros(0, np.uint32)]
        while data := stream.read(_AT_ONCE):
            parts.append(checks_of(np.frombuffer(data, np.uint8), (len(parts) - 1) * (_AT_ONCE // PAGE)))
            file.write(data)
        size = file.tell()
        checks = np.concatenate(parts).tobytes()
        check = zlib.crc32(checks, zlib.crc32(offsets, zlib.crc32(model_bytes, zlib.crc32(head[:48]))))
        file.seek(0)
        file.write(head[:48] + struct.pack("<II", check, 0) + model_bytes + offsets + checks)
    body.unlink()
    return Size(encoder.nodes, encoder.arcs, size)


def _train(
    chunks: Chunks, arcs: int, shape: Blocks, tries: int, rounds: int
) -> tuple[Model, NDArray[np.uint8] | None]:
    """The model, and each row's reference if the whole graph was looked at."""
    whole = arcs <= _WHOLE_LINKS
    share = 1.0 if whole else _TRAINING_LINKS / arcs
    seen: list[tuple[int, Rows]] = []
    node = 0
    for chunk in chunks():
        if whole:
            seen.append((node, chunk))
        else:
            step = -(-chunk.nodes // _SLICES)
            for first in range(0, chunk.nodes, step):
                last = min(chunk.nodes, first + int(step * share) + 1)
                start, end = chunk.starts[first], chunk.starts[last]
                # A copy, or the part would keep the whole chunk in memory.
                part = Rows(chunk.starts[first : last + 1] - start, chunk.targets[start:end].copy())
                seen.append((node + first, part))
        node += chunk.nodes
    clusters, costs = first_guess()
    model = None
    references: list[NDArray[np.uint8]] = []
    for _ in range(rounds):
        counts = np.zeros((CONTEXTS, TOKENS), np.int64)
        references = []
        for node, chunk in seen:
            mine = np.zeros(chunk.nodes, np.uint8)
            blocks = block_starts(chunk.starts, *shape)
            choose(chunk.starts, chunk.targets, node, blocks, clusters, costs, tries, mine, counts)
            references.append(mine)
        model = fit(counts, every_token=not whole)
        clusters, costs = model.clusters, model.costs()
    assert model is not None
    return model, np.concatenate([*references, np.zeros(0, np.uint8)]) if whole else None


class _Encoder:
    """Appends chunks of rows to a stream of blocks."""

    def __init__(self, model: Model, shape: Blocks, tries: int, file: BinaryIO) -> None:
        self._model, self._shape, self._tries = model, shape, tries
        self._costs = model.costs()
        self._slots = slots_of(alias_tables(model.frequencies))
        self._starts = token_starts(model.frequencies)
        self._bits = BitFile(file)
        self.finish = self._bits.finish
        self.nodes = self.arcs = 0
        self.lengths: list[Ints] = []
        self.rows: list[Ints] = []

    def write(self, chunk: Rows, references: NDArray[np.uint8] | None) -> None:
        blocks = block_starts(chunk.starts, *self._shape)
        mine = np.zeros(0, np.uint8)
        if references is not None:
            mine = references[self.nodes : self.nodes + chunk.nodes]
        stream, at = self._bits.piece(chunk.nodes * 8 + chunk.arcs * 16 + 64)
        lengths = np.zeros(len(blocks) - 1, np.int64)
        model = self._model
        told = _encode_rows(
            chunk.starts, chunk.targets, self.nodes, blocks, mine, model.clusters, self._costs, self._tries,
            model.frequencies, self._starts, self._slots, stream, at, lengths,
        )  # fmt: skip
        if not told:
            raise AssertionError("the model lacks a token: rows differ from those it was fitted to")
        self._bits.keep(stream, at)
        self.lengths.append(lengths)
        self.rows.append(np.diff(blocks))
        self.nodes += chunk.nodes
        self.arcs += chunk.arcs


@kernel
def _encode_rows(
    starts: Ints, targets: Targets, first_node: int, blocks: Ints, references: NDArray[np.uint8],
    clusters: NDArray[np.uint8], costs: Floats, tries: int, frequencies: Ints, token_start: Ints,
    slots: NDArray[np.int16], stream: Bytes, at: Ints, lengths: Ints,
) -> bool:  # fmt: skip
    """Appends blocks to the stream. References not given (none at all) are chosen."""
    desk = desk_for(starts, blocks)
    longest, largest = scratch_room(starts, blocks)
    room = 3 * largest + 4 * MOST_ROWS + 3 * longest + 8
    contexts, values = np.empty(room, np.int64), np.empty(room, np.int64)
    words = np.empty(4 * room, np.uint16)
    state = np.zeros(STATE, np.int64)
    for block in range(len(blocks) - 1):
        begin_block(starts, blocks, block, state, desk)
        told = 0
        for node in range(blocks[block], blocks[block + 1]):
            if len(references) == 0:
                more, _, _ = tell_best(
                    starts, targets, first_node, blocks[block], node, clusters, costs, tries, state, desk,
                    contexts[told:], values[told:],
                )  # fmt: skip
                told += more
                continue
            row = targets[starts[node] : starts[node + 1]]
            reference = int64(references[node])
            prototype = targets[starts[node - reference] : starts[node - reference + 1]]
            if reference == 0:
                prototype = prototype[:0]
            more, count, first = row_symbols(
                first_node + node, node - blocks[block], row, reference, prototype, state, desk.scratch,
                contexts[told:], values[told:],
            )  # fmt: skip
            state[1], state[0], state[2], state[3] = state[0], values[told], count, first
            told += more
        before = at[0]
        if not encode_block(
            contexts, values, told, clusters, frequencies, token_start, slots, words, stream, at
        ):
            return False
        lengths[block] = at[0] - before
    return True


@kernel
def rice_stream(lengths: Ints) -> Bytes:
    """One byte k, then every length as unary of its high part and its k low bits."""
    mean = lengths.sum() // max(len(lengths), 1)
    k = 0
    while (2 << k) * 3 < mean * 4 and k < 40:
        k += 1
    bits = 8
    for length in lengths:
        bits += (length >> k) + 1 + k
    stream = np.zeros((bits + 7) >> 3, np.uint8)
    at = np.zeros(1, np.int64)
    write_bits(stream, at, k, 8)
    for length in lengths:
        write_unary(stream, at, length >> k)
        write_bits(stream, at, length & ((1 << k) - 1), k)
    return stream
