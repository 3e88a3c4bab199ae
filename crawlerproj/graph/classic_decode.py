"""Reads the classic format (`classic` has the bit stream): every row in order, or any row by itself.

Everything read is checked before it is used, so a damaged stream ends in `DAMAGED`, never in a crash.
"""

from __future__ import annotations

import numpy as np

from crawlerproj.graph.bits import read_gamma, read_unary, read_zeta, unfold_sign
from crawlerproj.graph.classic import Shape
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.jit import DAMAGED, NO_ROOM, Bytes, Ints, int64, kernel, uint64
from crawlerproj.graph.rows import Rows, Targets

_REMEDY = "copy the file again from where it came, or make it anew"


def decode(stream: Bytes, nodes: int, arcs: int, shape: Shape | None = None) -> Rows:
    """Every row, in one pass."""
    shape = shape or Shape()
    if nodes > 1 << 32 or nodes > 8 * len(stream) or arcs < 0:
        raise DamagedGraph(f"{nodes} rows cannot lie in {len(stream)} bytes: {_REMEDY}")
    starts = np.zeros(nodes + 1, np.int64)
    targets = np.empty(arcs, np.uint32)
    done = _decode_all(stream, starts, targets, shape.window, shape.min_interval, shape.zeta_k)
    if done != arcs:
        raise DamagedGraph(f"the graph stream is damaged (or not of {arcs} links): {_REMEDY}")
    return Rows(starts, targets)


def decode_row(stream: Bytes, offsets: Ints, node: int, shape: Shape | None = None) -> Targets:
    """The successors of one node, by its chain of prototypes."""
    shape = shape or Shape()
    room = 1 << 10
    while True:
        one, other = np.empty(room, np.uint32), np.empty(room, np.uint32)
        length = _decode_row(
            stream, offsets, node, one, other, shape.window, shape.min_interval, shape.zeta_k
        )
        if length >= 0:
            return one[:length]
        if length == DAMAGED or room > len(offsets):
            raise DamagedGraph(f"row {node} of the graph stream is damaged: {_REMEDY}")
        room *= 8


@kernel
def read_offsets(stream: Bytes, count: int) -> Ints:
    """The running sums of a gamma-coded `.offsets` stream; the first is -1 if it is damaged."""
    offsets = np.zeros(count, np.int64)
    at = np.zeros(1, np.int64)
    total = 0
    for index in range(count):
        step = read_gamma(stream, at)
        if step < 0 or total + step >= 1 << 60:
            offsets[0] = DAMAGED
            return offsets
        total += step
        offsets[index] = total
    return offsets


@kernel
def _decode_all(
    stream: Bytes, starts: Ints, targets: Targets, window: int, min_interval: int, zeta_k: int
) -> int:
    at = np.zeros(1, np.int64)
    lefts, lengths = np.empty(64, np.int64), np.empty(64, np.int64)
    filled = 0
    nodes = len(starts) - 1
    for node in range(nodes):
        degree = read_gamma(stream, at)
        reference = read_unary(stream, at) if degree > 0 and window else 0
        if degree < 0 or reference < 0 or reference > min(window, node):
            return DAMAGED
        if degree > len(targets) - filled:
            return NO_ROOM
        if degree:
            prototype = targets[starts[node - reference] : starts[node - reference + 1]]
            if reference == 0:
                prototype = prototype[:0]
            need = degree // min_interval + 1 if min_interval else 1
            if need > len(lefts):
                lefts, lengths = np.empty(2 * need, np.int64), np.empty(2 * need, np.int64)
            row = targets[filled : filled + degree]
            if _fill(
                stream, at, node, nodes, reference, prototype, row, lefts, lengths, min_interval, zeta_k
            ):
                return DAMAGED
        filled += degree
        starts[node + 1] = filled
    return filled


@kernel
def _decode_row(
    stream: Bytes, offsets: Ints, node: int, one: Targets, other: Targets,
    window: int, min_interval: int, zeta_k: int,
) -> int:  # fmt: skip
    """The row of `node` in `one`: its chain is walked back to a row without prototype, then undone."""
    nodes = len(offsets) - 1
    at = np.zeros(1, np.int64)
    chain = [node]
    while True:
        at[0] = offsets[chain[-1]]
        degree = read_gamma(stream, at)
        reference = read_unary(stream, at) if degree > 0 and window else 0
        if degree < 0 or degree > nodes or reference < 0 or reference > min(window, chain[-1]):
            return DAMAGED
        if degree > len(one):
            return NO_ROOM
        if reference == 0:
            break
        chain.append(chain[-1] - reference)
    room = len(one) // min_interval + 1 if min_interval else 1
    lefts, lengths = np.empty(room, np.int64), np.empty(room, np.int64)
    length = 0
    # The rows alternate between the two buffers so that the last one ends in `one`.
    for back in range(len(chain) - 1, -1, -1):
        into = one if back % 2 == 0 else other
        prototype = other[:length] if back % 2 == 0 else one[:length]
        at[0] = offsets[chain[back]]
        degree = read_gamma(stream, at)
        reference = read_unary(stream, at) if degree > 0 and window else 0
        row = into[:degree]
        if degree and _fill(
            stream, at, chain[back], nodes, reference, prototype, row, lefts, lengths, min_interval, zeta_k
        ):
            return DAMAGED
        length = degree
    return length


@kernel
def _fill(
    stream: Bytes, at: Ints, node: int, nodes: int, reference: int, prototype: Targets, row: Targets,
    lefts: Ints, lengths: Ints, min_interval: int, zeta_k: int,
) -> int:  # fmt: skip
    """Decodes one row after its reference; 0 if all is well. Copies go to the row's tail first."""
    degree = len(row)
    copied = 0
    if reference:
        copied = _copy(stream, at, prototype, row)
        if copied < 0:
            return DAMAGED
    extras = degree - copied
    if extras == 0:
        return 0  # part of a row that is as it should be
    intervals = 0
    in_intervals = 0
    if min_interval:
        intervals = read_gamma(stream, at)
        if intervals < 0 or intervals * min_interval > extras:
            return DAMAGED
        end = 0
        for index in range(intervals):
            left = read_gamma(stream, at)
            length = read_gamma(stream, at)
            if left < 0 or length < 0:
                return DAMAGED
            left = left + end + 1 if index else node + unfold_sign(left)
            length += min_interval
            end = left + length
            in_intervals += length
            if left < 0 or end > nodes or in_intervals > extras:
                return DAMAGED
            lefts[index], lengths[index] = left, length
    # Three ascending sequences are merged: copies, intervals, residuals. The copies wait in the last
    # `copied` places: the place to write never passes the first copy not yet taken.
    residuals = extras - in_intervals
    copy, interval, inside = extras, 0, 0
    residual = nodes
    if residuals:
        first = read_zeta(stream, at, zeta_k)
        residual = node + unfold_sign(first)
        if first < 0 or residual < 0 or residual >= nodes:
            return DAMAGED
    before = -1
    for place in range(degree):
        next_copy = int64(row[copy]) if copy < degree else nodes
        next_interval = lefts[interval] + inside if interval < intervals else nodes
        value = min(next_copy, next_interval, residual)
        if value <= before or value >= nodes:
            return DAMAGED
        if value == residual:
            residuals -= 1
            residual = nodes
            if residuals > 0:
                gap = read_zeta(stream, at, zeta_k)
                residual = value + gap + 1
                if gap < 0 or residual >= nodes:
                    return DAMAGED
        elif value == next_copy:
            copy += 1
        else:
            inside += 1
            if inside == lengths[interval]:
                interval, inside = interval + 1, 0
        row[place] = value
        before = value
    return 0


@kernel
def _copy(stream: Bytes, at: Ints, prototype: Targets, row: Targets) -> int:
    """Puts what the copy blocks take of the prototype at the end of the row; says how much it is."""
    blocks = read_gamma(stream, at)
    if blocks < 0 or blocks > len(prototype) + 1:
        return DAMAGED
    start = at[0]
    copied = 0
    # Two passes over the few blocks: the first only counts, so that the second knows where to begin.
    for count_only in (True, False):
        at[0] = start
        place = len(row) - copied
        position = 0
        for index in range(blocks + 1):
            if index < blocks:
                length = read_gamma(stream, at)
                if length < 0:
                    return DAMAGED
                length += 1 if index else 0
            else:
                length = len(prototype) - position
            if length > len(prototype) - position or length < 0:
                return DAMAGED
            if index % 2 == 0:
                if count_only:
                    copied += length
                else:
                    for its in range(position, position + length):
                        row[uint64(place)] = prototype[uint64(its)]
                        place += 1
            position += length
        if copied > len(row):
            return DAMAGED
    return copied
