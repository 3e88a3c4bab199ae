"""Reads the blocks of the compact format. What the bits mean: `compact`, `symbols`, `rans`.

A block is told only if the bytes it lies in are what was written (`page_checks`), so what is told is right.
All the same nothing is used before it was looked at: a stream that no encoder wrote ends in `DAMAGED`, never
in a crash, and a block that was told to its end leaves nothing over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.bits import read_bits, unfold_sign
from crawlerproj.graph.jit import DAMAGED, NO_ROOM, Bytes, Ints, int64, kernel, uint64
from crawlerproj.graph.page_checks import Stream, bits_are_sound
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
def tell_block(
    checked: Stream, start: int, end: int, clusters: NDArray[np.uint8], tables: Ints,
    rows: int, whole: bool, nodes: int, notes: Ints, heads: Ints, lengths: Ints,
) -> int:  # fmt: skip
    """Reads what the first `rows` rows of a block are told to be; 0, DAMAGED or NO_ROOM (in `notes`).

    What a row is told by depends on the lengths of the rows before it, not on what is in them. So the
    symbols are noted down, and only rows that are wanted, and their prototypes, are made: see `make_row`.
    `lengths[place]` is the number of links, `heads[place]` where the notes of the row begin: reference,
    number of extras, where the extras begin, the runs; then the first extra less the node, and the gaps.
    `whole`: these are all rows of the block.
    """
    if not bits_are_sound(checked, start, end):
        return DAMAGED
    stream = checked.data
    x, position = first_state(stream, start, end)
    kind_now = kind_before = count_before = first_before = 0
    noted = 0
    for place in range(rows):
        heads[uint64(place)] = noted
        context = kind_context(kind_now, kind_before, place)
        kind, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
        kind_before, kind_now = kind_now, kind
        if kind == 0:
            lengths[uint64(place)] = 0
            continue
        reference = kind - 1
        if reference > place:
            return DAMAGED
        length = lengths[uint64(place - reference)] if reference else 0
        if reference and length == 0:
            return DAMAGED
        if noted + length + 5 > len(notes):
            return NO_ROOM
        head = noted
        noted += 3
        # The runs of the prototype: copied, skipped, copied...
        used = copied = before = which = 0
        while used < length:
            context = run_context(which, length - used, before)
            value, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
            run = length - used if value == 0 else value - (which == 0)
            if run > length - used or (run == 0 and which):
                return DAMAGED
            if which != 2:
                copied += run
            notes[uint64(noted)] = run
            noted += 1
            used += run
            before = run
            which = 2 if which != 2 else 1
        context = count_context(count_before, reference, copied, length - copied, place)
        count, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
        count_before = count
        if copied + count > nodes:
            return DAMAGED
        if noted + count > len(notes):
            return NO_ROOM
        notes[uint64(head)], notes[uint64(head + 1)], notes[uint64(head + 2)] = reference, count, noted
        lengths[uint64(place)] = copied + count
        if count == 0:
            continue
        context = first_context(first_before, reference, count)
        value, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
        first_before = value
        notes[uint64(noted)] = unfold_sign(value)
        bucket, bucket_before = AFTER_FIRST, coarse(value, 12)
        stop = noted + count
        noted += 1
        while noted < stop:
            context = gap_context(bucket, bucket_before, reference, stop - noted)
            value, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
            bucket_before, bucket = bucket, gap_bucket(value)
            notes[uint64(noted)] = value
            noted += 1
            if bucket == 0 and bucket_before == 0 and noted < stop:
                context = zeros_context(reference, stop - noted)
                zeros, x, position = next_value(stream, tables, clusters[uint64(context)], x, position, end)
                if zeros > stop - noted:
                    return DAMAGED
                for _ in range(zeros):
                    notes[uint64(noted)] = 0
                    noted += 1
                bucket, bucket_before = AFTER_ZEROS, AFTER_ZEROS
    if whole and (x != 1 or position != end):
        return DAMAGED
    return 0


@kernel
def make_row(
    notes: Ints, head: int, length: int, node: int, nodes: int, lender: Targets, low: int, its_length: int,
    out: Targets, filled: int,
) -> bool:  # fmt: skip
    """Writes a row of `length` links to out[filled:]: its prototype is lender[low : low + its_length].

    False if the notes cannot be true.
    """
    count = notes[uint64(head + 1)]
    end = filled + length
    gaps = notes[uint64(head + 2)]
    run = head + 3  # the runs' lengths add up to the prototype's: while that lasts, there is a run
    run_end, copying = notes[uint64(run)], True
    its = 0
    if count:
        extra = node + notes[uint64(gaps)]
        while its < its_length and lender[uint64(low + its)] < extra:
            while its >= run_end:
                run += 1
                run_end += notes[uint64(run)]
                copying = not copying
            if copying:
                out[uint64(filled)] = lender[uint64(low + its)]
                filled += 1
            its += 1
        if extra < 0 or extra >= nodes or (its < its_length and lender[uint64(low + its)] == extra):
            return False
        out[uint64(filled)] = extra
        filled += 1
        for index in range(gaps + 1, gaps + count):
            extra += notes[uint64(index)] + 1
            while its < its_length and lender[uint64(low + its)] <= extra:
                extra += 1
                while its >= run_end:
                    run += 1
                    run_end += notes[uint64(run)]
                    copying = not copying
                if copying:
                    out[uint64(filled)] = lender[uint64(low + its)]
                    filled += 1
                its += 1
            if extra >= nodes:
                return False
            out[uint64(filled)] = extra
            filled += 1
    while filled < end:
        while its >= run_end:
            run += 1
            run_end += notes[uint64(run)]
            copying = not copying
        if copying:
            for index in range(low + its, low + run_end):
                out[uint64(filled)] = lender[uint64(index)]
                filled += 1
        its = run_end
    return True


@kernel
def decode_blocks(
    stream: Stream, offsets: Ints, blocks: Ints, clusters: NDArray[np.uint8], tables: Ints,
    first_block: int, last_block: int, out: Targets, starts: Ints, notes: Ints,
) -> int:  # fmt: skip
    """Decodes blocks one after the other; `starts` has a place for each row and one for the end."""
    heads, lengths = np.empty(256, np.int64), np.empty(256, np.int64)
    nodes = blocks[len(blocks) - 1]
    filled = at = 0
    starts[0] = 0
    for block in range(first_block, last_block):
        first, rows = blocks[block], blocks[block + 1] - blocks[block]
        told = tell_block(
            stream, offsets[block], offsets[block + 1], clusters, tables, rows, True, nodes,
            notes, heads, lengths,
        )  # fmt: skip
        if told < 0:
            return told
        if lengths[:rows].sum() > len(out) - filled:
            return NO_ROOM
        for place in range(rows):
            length = lengths[uint64(place)]
            if length:
                head = heads[uint64(place)]
                reference = notes[uint64(head)]
                low = starts[at - reference]
                its_length = lengths[uint64(place - reference)] if reference else 0
                if not make_row(notes, head, length, first + place, nodes, out, low, its_length, out, filled):
                    return DAMAGED
            filled += length
            at += 1
            starts[at] = filled
    return filled


@kernel
def decode_some(
    stream: Stream, offsets: Ints, blocks: Ints, hints: NDArray[np.uint32], clusters: NDArray[np.uint8],
    tables: Ints, wanted: Ints, done: int, out: Targets, ends: Ints, scratch: Targets, notes: Ints,
) -> tuple[int, int]:  # fmt: skip
    """The rows of the wanted nodes from number `done` on: how many are done, and what stopped it.

    That is 0 for nothing, DAMAGED, NO_ROOM in `scratch` or `notes`, or the room that the next row needs in
    `out`. `ends` receives where each row ends in `out`.
    """
    heads, lengths = np.empty(256, np.int64), np.empty(256, np.int64)
    chain = np.empty(256, np.int64)
    filled = ends[done - 1] if done else 0
    nodes = blocks[len(blocks) - 1]
    while done < len(wanted):
        node = wanted[done]
        block = int64(hints[node >> HINT_SHIFT])
        while blocks[block + 1] <= node:
            block += 1
        first = blocks[block]
        place = node - first
        whole = node + 1 == blocks[block + 1]
        told = tell_block(
            stream, offsets[block], offsets[block + 1], clusters, tables, place + 1, whole, nodes,
            notes, heads, lengths,
        )  # fmt: skip
        if told < 0:
            return done, told
        length = lengths[place]
        if length > len(out) - filled:
            return done, length
        if length:
            # The row's prototype, the prototype of that...
            links = room = 0
            while notes[heads[place]]:
                place -= notes[heads[place]]
                room += lengths[place]
                chain[links] = place
                links += 1
            if room > len(scratch):
                return done, NO_ROOM
            low = its_length = at = 0
            for link in range(links - 1, -1, -1):
                place = chain[link]
                if not make_row(
                    notes, heads[place], lengths[place], first + place, nodes, scratch, low, its_length,
                    scratch, at,
                ):  # fmt: skip
                    return done, DAMAGED
                low, its_length = at, lengths[place]
                at += its_length
            place = node - first
            if not make_row(notes, heads[place], length, node, nodes, scratch, low, its_length, out, filled):
                return done, DAMAGED
        filled += length
        ends[done] = filled
        done += 1
    return done, 0


@kernel
def make_hints(blocks: Ints | NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The block of every node whose number ends in HINT_SHIFT zero bits: where to begin to look."""
    nodes = blocks[len(blocks) - 1]
    hints = np.zeros((nodes >> HINT_SHIFT) + 1, np.uint32)
    block = 0
    for index in range(len(hints)):
        while block + 2 < len(blocks) and blocks[block + 1] <= index << HINT_SHIFT:
            block += 1
        hints[index] = block
    return hints
