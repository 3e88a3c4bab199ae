"""Which row is the best prototype of a row? The one under which the model tells it in fewest bits.

Every earlier row of the block may be one. A table of the block's targets says how many each has in
common with the row at hand; the most alike few are then told under the model's costs, and the
cheapest wins, "no prototype" among them. A long row ends its block and is told without one: what
stands before it is little beside it, and the table would take more memory than the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.bits import bit_length
from crawlerproj.graph.jit import Floats, Ints, int64, kernel
from crawlerproj.graph.rows import Targets
from crawlerproj.graph.symbols import STATE, Scratch, raw_bits, row_symbols, scratch_for, token_of

MOST_ROWS = 255  # in a block: a reference is one byte
LONG = 1 << 16  # links: from here on a row ends its block and is told without a prototype
_RECENT = 12  # rows with the same target that are looked at, the nearest first
_HASH = 0x9E3779B1


@kernel
def block_starts(starts: Ints, block_rows: int, block_links: int) -> Ints:
    """The first row of each block, and the end."""
    nodes = len(starts) - 1
    first = np.zeros(nodes + 1, np.int64)
    blocks = 0
    for node in range(nodes):
        begin = first[blocks]
        full = node + 1 - begin == block_rows or starts[node + 1] - starts[begin] >= block_links
        if full or starts[node + 1] - starts[node] >= LONG:
            blocks += 1
            first[blocks] = node + 1
    if nodes and first[blocks] < nodes:
        blocks += 1
        first[blocks] = nodes
    return first[: blocks + 1].copy()


@kernel
def scratch_room(starts: Ints, blocks: Ints) -> tuple[int, int]:
    """The most links of a row and of a block."""
    longest = largest = 0
    for node in range(len(starts) - 1):
        longest = max(longest, starts[node + 1] - starts[node])
    for block in range(len(blocks) - 1):
        largest = max(largest, starts[blocks[block + 1]] - starts[blocks[block]])
    return longest, largest


class Desk(NamedTuple):
    """Room to choose prototypes in: a table of the block's targets, and symbols on trial."""

    table: Ints  # the last link to the target of each slot; a slot is free if that is of an earlier block
    mask: Ints  # one number: how much of the table this block uses, so that it stays in the cache
    older: Ints  # of each link of the block, the one to the same target before it
    owners: Ints  # of each link of the block, its row
    votes: Ints  # for each row of the block, the targets it shares with the row at hand
    scratch: Scratch
    contexts: Ints
    values: Ints


@kernel
def desk_for(starts: Ints, blocks: Ints) -> Desk:
    longest, _ = scratch_room(starts, blocks)
    most = 0
    for block in range(len(blocks) - 1):
        most = max(most, _compared(starts, blocks, block))
    return Desk(
        np.full(_slots(most), -1), np.zeros(1, np.int64), np.zeros(most + 1, np.int64),
        np.zeros(most + 1, np.int64), np.zeros(MOST_ROWS, np.int64), scratch_for(longest),
        np.empty(3 * longest + 8, np.int64), np.empty(3 * longest + 8, np.int64),
    )  # fmt: skip


@kernel
def _compared(starts: Ints, blocks: Ints, number: int) -> int:
    """The links of a block without those of a long row at its end."""
    first, end = blocks[number], blocks[number + 1]
    long = starts[end] - starts[end - 1] >= LONG
    return int64(starts[end - 1 if long else end] - starts[first])


@kernel
def _slots(links: int) -> int:
    return 2 << bit_length(links)


@kernel
def choose(
    starts: Ints, targets: Targets, first_node: int, blocks: Ints, clusters: NDArray[np.uint8], costs: Floats,
    tries: int, references: NDArray[np.uint8], counts: Ints,
) -> float:  # fmt: skip
    """Chooses the reference of every row; adds up the tokens told in each context; gives the bits.

    Row 0 of `starts` is node `first_node`, the first of a block.
    """
    desk = desk_for(starts, blocks)
    contexts, values = np.empty_like(desk.contexts), np.empty_like(desk.values)
    state = np.zeros(STATE, np.int64)
    total = 0.0
    for number in range(len(blocks) - 1):
        begin_block(starts, blocks, number, state, desk)
        for node in range(blocks[number], blocks[number + 1]):
            told, references[node], bits = tell_best(
                starts, targets, first_node, blocks[number], node, clusters, costs, tries, state, desk,
                contexts, values,
            )  # fmt: skip
            total += bits
            for index in range(told):
                counts[contexts[index], token_of(values[index])] += 1
    return total


@kernel
def begin_block(starts: Ints, blocks: Ints, number: int, state: Ints, desk: Desk) -> None:
    state[:] = 0
    desk.mask[0] = _slots(_compared(starts, blocks, number)) - 1


@kernel
def tell_best(
    starts: Ints, targets: Targets, first_node: int, block: int, node: int, clusters: NDArray[np.uint8],
    costs: Floats, tries: int, state: Ints, desk: Desk, contexts: Ints, values: Ints,
) -> tuple[int, int, float]:  # fmt: skip
    """Tells a row in the cheapest way: the number of symbols, the reference, the bits. Rows come in order."""
    place = node - block
    row = targets[starts[node] : starts[node + 1]]
    if len(row) >= LONG:
        tries = 0
    if tries:
        _vote(starts, targets, block, node, desk)
    best = 0
    told, count, first = row_symbols(
        first_node + node, place, row, 0, row[:0], state, desk.scratch, contexts, values
    )
    best_bits = _bits(told, contexts, values, clusters, costs, np.inf)
    for _ in range(tries):
        candidate, score = -1, 0.0
        for other in range(place - 1, -1, -1):
            if desk.votes[other] > 0:
                length = starts[block + other + 1] - starts[block + other]
                its_score = desk.votes[other] - 0.3 * (length - desk.votes[other])
                if candidate < 0 or its_score > score:
                    candidate, score = other, its_score
        if candidate < 0:
            break
        desk.votes[candidate] = 0
        prototype = targets[starts[block + candidate] : starts[block + candidate + 1]]
        its_told, its_count, its_first = row_symbols(
            first_node + node, place, row, place - candidate, prototype, state, desk.scratch,
            desk.contexts, desk.values,
        )  # fmt: skip
        bits = _bits(its_told, desk.contexts, desk.values, clusters, costs, best_bits)
        if bits < best_bits:
            best, best_bits = place - candidate, bits
            told, count, first = its_told, its_count, its_first
            for index in range(told):
                contexts[index], values[index] = desk.contexts[index], desk.values[index]
    state[1], state[0], state[2], state[3] = state[0], values[0], count, first
    return told, best, best_bits


@kernel
def _vote(starts: Ints, targets: Targets, block: int, node: int, desk: Desk) -> None:
    """Enters a row into the block's table, and counts what it shares with each row before it."""
    base = starts[block]
    mask = desk.mask[0]
    for other in range(node - block):
        desk.votes[other] = 0
    for index in range(starts[node], starts[node + 1]):
        slot = ((int64(targets[index]) * _HASH) >> 8) & mask
        while desk.table[slot] >= base and targets[desk.table[slot]] != targets[index]:
            slot = (slot + 1) & mask
        mine = index - base
        desk.owners[mine] = node - block
        earlier = desk.table[slot] - base  # negative: this row is the first of the block that has it
        desk.older[mine] = earlier
        desk.table[slot] = index
        steps = 0
        while earlier >= 0 and steps < _RECENT:
            desk.votes[desk.owners[earlier]] += 1
            earlier = desk.older[earlier]
            steps += 1


@kernel
def _bits(
    told: int, contexts: Ints, values: Ints, clusters: NDArray[np.uint8], costs: Floats, limit: float
) -> float:
    """What symbols cost under the model; any number from the limit on if it is more than that."""
    bits = 0.0
    for index in range(told):
        token = token_of(values[index])
        bits += costs[clusters[contexts[index]], token] + raw_bits(token)
        if bits >= limit:
            break
    return bits
