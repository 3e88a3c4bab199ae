"""The classic format: WebGraph's BV stream, bit for bit.

Boldi and Vigna, "The WebGraph framework I: compression techniques", WWW 2004. A row (the successors
of a node) is written as its difference to a *prototype*: one of the `window` rows before it, at
the distance called the *reference*. A prototype may itself lean on a prototype; at most `chain`
such steps follow each other, so that a row costs a bounded number of others. (The textbook's
similarity threshold for taking a prototype is replaced by this limit: the cheapest row of the
window is the prototype, "none" among them.)

The stream of one row of node x, codes as in `bits`:

    gamma     out-degree d; nothing follows if d = 0
    unary     reference r, 0 = no prototype (absent if window = 0)
    if r > 0:
      gamma   number of copy blocks; they alternate copied, skipped, copied... over the prototype
      gamma   length of the first block; then length - 1 of each other block
              what follows the last block is copied if the number of blocks is even, else skipped
    if successors remain that were not copied ("extras"):
      gamma   number of intervals, runs of at least `min_interval` consecutive extras
              (absent if min_interval = 0)
      gamma   fold_sign(left - x), length - min_interval        of the first interval
      gamma   left - end of the one before - 1, length - min_interval   of each other
      zeta_k  fold_sign(first residual - x); then the *gaps*, residual - the one before - 1

`.graph` is the rows one after the other; `.offsets` the gamma-coded bit length of each (the first
is a gamma-coded 0); `.properties` Java properties. `classic_files` reads and writes the three.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

import numpy as np

from crawlerproj.graph.bit_file import BitFile
from crawlerproj.graph.bits import (
    fold_sign,
    gamma_length,
    write_gamma,
    write_unary,
    write_zeta,
    zeta_length,
)
from crawlerproj.graph.jit import Bytes, Ints, kernel
from crawlerproj.graph.rows import Rows, Targets

_PIECE = 1 << 22  # bytes of a stream written at a time


@dataclass(slots=True, frozen=True)
class Shape:
    """The parameters of a stream; the defaults are WebGraph's."""

    window: int = 7
    chain: int = 3
    min_interval: int = 4
    zeta_k: int = 3


def encode(rows: Rows, shape: Shape | None = None) -> tuple[Bytes, Ints]:
    """The stream, and the bit offset of each row with the total length at the end."""
    file = BytesIO()
    encoder = Encoder(file, shape or Shape())
    offsets = np.zeros(rows.nodes + 1, np.int64)
    np.cumsum(encoder.add(rows), out=offsets[1:])
    encoder.finish()
    return np.frombuffer(file.getbuffer(), np.uint8), offsets


class Encoder:
    """Appends rows to a stream, in chunks of any size; of what was told only the window's rows are kept."""

    def __init__(self, file: BinaryIO, shape: Shape) -> None:
        self._stream, self._shape = BitFile(file), shape
        self.finish = self._stream.finish
        self._window = Rows(np.zeros(1, np.int64), np.zeros(0, np.uint32))
        self._chains = np.zeros(shape.window + 1, np.int64)
        self.nodes = self.arcs = 0

    @property
    def bits(self) -> int:
        return self._stream.bits

    def add(self, chunk: Rows) -> Ints:
        """Tells the rows after those told before; gives the bits of each. The chunk may be used again."""
        known, shape = self._window.nodes, self._shape
        starts = np.concatenate([self._window.starts, chunk.starts[1:] + self._window.arcs])
        targets = np.concatenate([self._window.targets, chunk.targets])
        longest = int(np.diff(starts).max(initial=0))
        bits = np.zeros(len(starts) - 1, np.int64)
        node = known
        while node < len(bits):
            room = min(_PIECE, 8 * len(bits) + 16 * len(targets)) + 16 * longest + 128
            stream, at = self._stream.piece(room)
            node = _encode_rows(
                starts, targets, self.nodes - known, node, stream, at, bits, self._chains, longest,
                shape.window, shape.chain, shape.min_interval, shape.zeta_k,
            )  # fmt: skip
            self._stream.keep(stream, at)
        self.nodes += chunk.nodes
        self.arcs += chunk.arcs
        first = max(0, len(bits) - shape.window)
        self._window = Rows(starts[first:] - starts[first], targets[starts[first] :].copy())
        return bits[known:]


@kernel
def _encode_rows(
    starts: Ints, targets: Targets, first: int, node: int, stream: Bytes, at: Ints, bits: Ints, chains: Ints,
    longest: int, window: int, chain: int, min_interval: int, zeta_k: int,
) -> int:  # fmt: skip
    """Writes rows while the stream has room; gives the first row not written. Row 0 is node `first`."""
    nodes = len(starts) - 1
    blocks = np.empty(longest + 2, np.int64)
    extras = np.empty(longest + 1, np.int64)
    size = window + 1
    while node < nodes and (at[0] >> 3) + 16 * longest + 64 < len(stream):
        row = targets[starts[node] : starts[node + 1]]
        before = at[0]
        write_gamma(stream, at, len(row))
        chains[(first + node) % size] = 0
        if len(row):
            best, best_cost = 0, -1
            for reference in range(min(window, node) + 1):
                prototype = targets[starts[node - reference] : starts[node - reference + 1]]
                if reference and (len(prototype) == 0 or chains[(first + node - reference) % size] >= chain):
                    continue
                if reference == 0:
                    prototype = prototype[:0]
                cost = reference + 1 + _row(
                    first + node, row, reference, prototype, blocks, extras, min_interval, zeta_k, stream, at,
                    False,
                )  # fmt: skip
                if best_cost < 0 or cost < best_cost:
                    best, best_cost = reference, cost
            if best:
                chains[(first + node) % size] = chains[(first + node - best) % size] + 1
            if window:
                write_unary(stream, at, best)
            prototype = targets[starts[node - best] : starts[node - best + 1]]
            if best == 0:
                prototype = prototype[:0]
            _row(first + node, row, best, prototype, blocks, extras, min_interval, zeta_k, stream, at, True)
        bits[node] = at[0] - before
        node += 1
    return node


@kernel
def _row(
    node: int, row: Targets, reference: int, prototype: Targets, blocks: Ints, extras: Ints,
    min_interval: int, zeta_k: int, stream: Bytes, at: Ints, write: bool,
) -> int:  # fmt: skip
    """The bits of a row after its reference; written only if asked for."""
    block_count, extra_count = _compare(row, prototype, blocks, extras)
    bits = 0
    if reference:
        bits += gamma_length(block_count)
        if write:
            write_gamma(stream, at, block_count)
        for index in range(block_count):
            value = blocks[index] - (1 if index else 0)
            bits += gamma_length(value)
            if write:
                write_gamma(stream, at, value)
    if extra_count == 0:
        return bits
    if min_interval:
        bits += _intervals(node, extras, extra_count, min_interval, stream, at, write)
    before = -1
    index = 0
    while index < extra_count:
        run = _run_length(extras, index, extra_count)
        if min_interval and run >= min_interval:
            index += run
            continue
        value = extras[index] - before - 1 if before >= 0 else fold_sign(extras[index] - node)
        bits += zeta_length(value, zeta_k)
        if write:
            write_zeta(stream, at, value, zeta_k)
        before = extras[index]
        index += 1
    return bits


@kernel
def _compare(row: Targets, prototype: Targets, blocks: Ints, extras: Ints) -> tuple[int, int]:
    """Copy blocks over the prototype, and what it does not have: the numbers of both."""
    block_count = extra_count = length = 0
    mine = its = 0
    copying = True
    while mine < len(row) and its < len(prototype):
        if row[mine] < prototype[its]:
            extras[extra_count] = row[mine]
            extra_count += 1
            mine += 1
        elif (row[mine] == prototype[its]) == copying:
            if copying:
                mine += 1
            its += 1
            length += 1
        else:
            blocks[block_count] = length
            block_count += 1
            length = 0
            copying = not copying
    if copying and its < len(prototype):
        blocks[block_count] = length
        block_count += 1
    while mine < len(row):
        extras[extra_count] = row[mine]
        extra_count += 1
        mine += 1
    return block_count, extra_count


@kernel
def _run_length(values: Ints, index: int, count: int) -> int:
    end = index + 1
    while end < count and values[end] == values[end - 1] + 1:
        end += 1
    return end - index


@kernel
def _intervals(
    node: int, extras: Ints, count: int, min_interval: int, stream: Bytes, at: Ints, write: bool
) -> int:
    intervals = index = 0
    while index < count:
        run = _run_length(extras, index, count)
        intervals += run >= min_interval
        index += run
    bits = gamma_length(intervals)
    if write:
        write_gamma(stream, at, intervals)
    end = -1
    index = 0
    while index < count and intervals:
        run = _run_length(extras, index, count)
        if run >= min_interval:
            left = extras[index] - end - 1 if end >= 0 else fold_sign(extras[index] - node)
            bits += gamma_length(left) + gamma_length(run - min_interval)
            if write:
                write_gamma(stream, at, left)
                write_gamma(stream, at, run - min_interval)
            end = extras[index] + run
        index += run
    return bits
