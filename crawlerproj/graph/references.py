"""Which row is the best prototype of a row? The one under which the model tells it in fewest bits.

Every earlier row of the block may be one. A table of the block's targets says how many each has in
common with the row at hand; the most alike few are then told under the model's costs, and the
cheapest wins, "no prototype" among them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.jit import Floats, Ints, int64, kernel
from crawlerproj.graph.rows import Targets
from crawlerproj.graph.symbols import STATE, raw_bits, row_symbols, token_of

MOST_ROWS = 255  # in a block: a reference is one byte
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
        if node + 1 - begin == block_rows or starts[node + 1] - starts[begin] >= block_links:
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


@kernel
def choose(
    starts: Ints, targets: Targets, first_node: int, blocks: Ints, clusters: NDArray[np.uint8], costs: Floats,
    tries: int, references: NDArray[np.uint8], counts: Ints,
) -> float:  # fmt: skip
    """Chooses the reference of every row; adds up the tokens told in each context; gives the bits.

    Row 0 of `starts` is node `first_node`, the first of a block.
    """
    longest, largest = scratch_room(starts, blocks)
    contexts, values = np.empty(3 * longest + 8, np.int64), np.empty(3 * longest + 8, np.int64)
    bits = 64
    while 1 << (64 - bits) < 2 * largest + 2:
        bits -= 1
    mask = (1 << (64 - bits)) - 1
    table, stamps = np.zeros(mask + 1, np.int64), np.full(mask + 1, -1)
    older, owners = np.zeros(largest + 1, np.int64), np.zeros(largest + 1, np.int64)
    votes = np.zeros(MOST_ROWS, np.int64)
    state = np.zeros(STATE, np.int64)
    total = 0.0
    for number in range(len(blocks) - 1):
        state[:] = 0
        block = blocks[number]
        base = starts[block]
        for node in range(block, blocks[number + 1]):
            place = node - block
            row = targets[starts[node] : starts[node + 1]]
            votes[:place] = 0
            for index in range(starts[node], starts[node + 1]):
                slot = _find(table, stamps, block, targets, targets[index], mask)
                mine = index - base
                owners[mine] = place
                older[mine] = table[slot] - base if stamps[slot] == block else -1
                table[slot], stamps[slot] = index, block
                earlier, steps = older[mine], 0
                while earlier >= 0 and steps < _RECENT:
                    votes[owners[earlier]] += 1
                    earlier = older[earlier]
                    steps += 1
            best, best_bits = 0, _told_bits(
                first_node + node, place, row, 0, row[:0], state, contexts, values, clusters, costs, np.inf
            )  # fmt: skip
            for _ in range(tries):
                candidate, score = -1, 0.0
                for other in range(place - 1, -1, -1):
                    if votes[other] > 0:
                        length = starts[block + other + 1] - starts[block + other]
                        its_score = votes[other] - 0.3 * (length - votes[other])
                        if candidate < 0 or its_score > score:
                            candidate, score = other, its_score
                if candidate < 0:
                    break
                votes[candidate] = 0
                prototype = targets[starts[block + candidate] : starts[block + candidate + 1]]
                told = _told_bits(
                    first_node + node, place, row, place - candidate, prototype, state,
                    contexts, values, clusters, costs, best_bits,
                )  # fmt: skip
                if told < best_bits:
                    best, best_bits = place - candidate, told
            references[node] = best
            total += best_bits
            prototype = targets[starts[node - best] : starts[node - best + 1]]
            if best == 0:
                prototype = prototype[:0]
            told, count, first = row_symbols(
                first_node + node, place, row, best, prototype, state, contexts, values
            )
            for index in range(told):
                counts[contexts[index], token_of(values[index])] += 1
            state[1], state[0], state[2], state[3] = state[0], values[0], count, first
    return total


@kernel
def _find(table: Ints, stamps: Ints, block: int, targets: Targets, target: int, mask: int) -> int:
    """The place of a target in the block's table: open addressing, emptied by the stamp of a block."""
    slot = ((int64(target) * _HASH) >> 8) & mask
    while stamps[slot] == block and targets[table[slot]] != target:
        slot = (slot + 1) & mask
    return slot


@kernel
def _told_bits(
    node: int, place: int, row: Targets, reference: int, prototype: Targets, state: Ints,
    contexts: Ints, values: Ints, clusters: NDArray[np.uint8], costs: Floats, limit: float,
) -> float:  # fmt: skip
    told, _, _ = row_symbols(node, place, row, reference, prototype, state, contexts, values)
    bits = 0.0
    for index in range(told):
        token = token_of(values[index])
        bits += costs[clusters[contexts[index]], token] + raw_bits(token)
        if bits >= limit:
            break
    return bits
