"""Reads the blocks of the compact format. What the bits mean: `compact`, `symbols`, `rans`.

Everything read is checked before it is used: a damaged block ends in `DAMAGED`, never in a crash. A
block that was told to its end leaves nothing over, or it is damaged as well.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.bits import read_bits, unfold_sign
from crawlerproj.graph.jit import DAMAGED, NO_ROOM, Bytes, Ints, int64, kernel, uint64
from crawlerproj.graph.rans import first_state, next_value
from crawlerproj.graph.rows import Targets
from crawlerproj.graph.symbols import (
    AFTER_FIRST,
    AFTER_ZEROS,
    coarse,
    count_context,
    first_context,
    gap_bucket,
    gap_context,
    kind_context,
    run_context,
    zeros_context,
)

HINT_SHIFT = 6


@kernel
def read_rice(packed: Bytes, start: int, count: int) -> tuple[Ints, int]:
    """The running sums of a list of numbers, from 0 on, and where it ends; negative if it is damaged."""
    sums = np.zeros(count + 1, np.int64)
    at = np.array([8 * start])
    k = read_bits(packed, at, 8)
    for number in range(count):
        high = 0
        while True:
            index = at[0] >> 3
            if k > 48 or index >= len(packed):
                return sums, DAMAGED
            bit = (packed[index] >> (7 - (at[0] & 7))) & 1
            at[0] += 1
            if bit:
                break
            high += 1
        sums[number + 1] = sums[number] + (high << k) + read_bits(packed, at, k)
    end = (at[0] + 7) >> 3
    return sums, end if end <= len(packed) else DAMAGED


@kernel
def decode_block(
    stream: Bytes, start: int, end: int, clusters: NDArray[np.uint8], tables: Ints,
    first_node: int, rows: int, whole: bool, nodes: int,
    out: Targets, filled: int, starts: Ints, runs: Ints,
) -> int:  # fmt: skip
    """Decodes the first `rows` rows of a block into `out` from `filled` on; gives where they end.

    `starts` receives where each row begins, and the end. `whole`: these are all rows of the block.
    """
    x, position = first_state(stream, start, end)
    kind_now = kind_before = count_before = first_before = 0
    starts[0] = filled
    for place in range(rows):
        node = first_node + place
        context = kind_context(kind_now, kind_before, place)
        kind, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
        kind_before, kind_now = kind_now, kind
        if kind == 0:
            starts[place + 1] = filled
            continue
        reference = kind - 1
        if reference > place:
            return DAMAGED
        low, length = 0, 0
        if reference:
            low = starts[place - reference]
            length = starts[place - reference + 1] - low
        # The runs of the prototype: copied, skipped, copied...
        told = used = copied = before = which = 0
        while used < length:
            context = run_context(which, length - used, before)
            value, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
            run = length - used if value == 0 else value - (which == 0)
            if run > length - used or (run == 0 and which):
                return DAMAGED
            if told >= len(runs):
                return NO_ROOM
            if which != 2:
                copied += run
            runs[told] = run
            told += 1
            used += run
            before = run
            which = 2 if which != 2 else 1
        context = count_context(count_before, reference, copied, length - copied, place)
        count, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
        count_before = count
        if count > nodes or copied + count > nodes:
            return DAMAGED
        if copied + count > len(out) - filled:
            return NO_ROOM
        # Extras and copies are merged as the gaps are read: `its` walks over the prototype.
        its, run, run_end = 0, 0, runs[0] if told else 0
        left = count
        extra = int64(-1)
        bucket = bucket_before = zeros = 0
        while left:
            if zeros:
                zeros -= 1
                extra += 1
            elif left == count:
                context = first_context(first_before, reference, count)
                value, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
                first_before = value
                extra = node + unfold_sign(value)
                bucket, bucket_before = AFTER_FIRST, coarse(value, 12)
            else:
                context = gap_context(bucket, bucket_before, reference, left)
                value, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
                extra += value + 1
                bucket_before, bucket = bucket, gap_bucket(value)
            first_one = left == count
            while its < length and out[low + its] <= extra:
                if not first_one:
                    extra += 1
                elif out[low + its] == extra:
                    return DAMAGED
                while its >= run_end:
                    run += 1
                    run_end += runs[run]
                if run & 1 == 0:
                    out[filled] = out[low + its]
                    filled += 1
                its += 1
            if extra < 0 or extra >= nodes:
                return DAMAGED
            out[filled] = extra
            filled += 1
            left -= 1
            if bucket == 0 and bucket_before == 0 and left:
                zeros, x, position = next_value(
                    stream, tables, clusters[zeros_context(reference, left)], x, position, end
                )
                if zeros > left:
                    return DAMAGED
                bucket, bucket_before = AFTER_ZEROS, AFTER_ZEROS
        while its < length:
            while its >= run_end:
                run += 1
                run_end += runs[run]
            if run & 1 == 0:
                for index in range(low + its, low + run_end):
                    out[filled] = out[index]
                    filled += 1
            its = run_end
        starts[place + 1] = filled
    if whole and (x != 1 or position != end):
        return DAMAGED
    return filled


@kernel
def decode_blocks(
    stream: Bytes, offsets: Ints, blocks: Ints, clusters: NDArray[np.uint8], tables: Ints,
    first_block: int, last_block: int, out: Targets, starts: Ints, runs: Ints,
) -> int:  # fmt: skip
    """Decodes blocks one after the other; `starts` has a place for each row and one for the end."""
    filled = 0
    nodes = blocks[len(blocks) - 1]
    for block in range(first_block, last_block):
        first, rows = blocks[block], blocks[block + 1] - blocks[block]
        into = first - blocks[first_block]
        filled = decode_block(
            stream, offsets[block], offsets[block + 1], clusters, tables, first, rows, True, nodes,
            out, filled, starts[into : into + rows + 1], runs,
        )  # fmt: skip
        if filled < 0:
            return filled
    return filled


@kernel
def decode_some(
    stream: Bytes, offsets: Ints, blocks: Ints, hints: NDArray[np.uint32], clusters: NDArray[np.uint8],
    tables: Ints, wanted: Ints, done: int, out: Targets, ends: Ints, scratch: Targets, runs: Ints,
) -> tuple[int, int]:  # fmt: skip
    """The rows of the wanted nodes from number `done` on: how many are done, and what stopped it.

    That is 0 for nothing, DAMAGED, NO_ROOM in `scratch` or `runs`, or the room that the next row needs in
    `out`. `ends` receives where each row ends in `out`.
    """
    starts = np.empty(257, np.int64)
    filled = ends[done - 1] if done else 0
    nodes = blocks[len(blocks) - 1]
    while done < len(wanted):
        node = wanted[done]
        block = int64(hints[node >> HINT_SHIFT])
        while blocks[block + 1] <= node:
            block += 1
        place = node - blocks[block]
        whole = node + 1 == blocks[block + 1]
        told = decode_block(
            stream, offsets[block], offsets[block + 1], clusters, tables, blocks[block], place + 1, whole,
            nodes, scratch, 0, starts, runs,
        )  # fmt: skip
        if told < 0:
            return done, told
        length = told - starts[place]
        if length > len(out) - filled:
            return done, length
        out[filled : filled + length] = scratch[starts[place] : told]
        filled += length
        ends[done] = filled
        done += 1
    return done, 0


@kernel
def make_hints(blocks: Ints) -> NDArray[np.uint32]:
    """The block of every node whose number ends in HINT_SHIFT zero bits: where to begin to look."""
    nodes = blocks[len(blocks) - 1]
    hints = np.zeros((nodes >> HINT_SHIFT) + 1, np.uint32)
    block = 0
    for index in range(len(hints)):
        while block + 2 < len(blocks) and blocks[block + 1] <= index << HINT_SHIFT:
            block += 1
        hints[index] = block
    return hints
