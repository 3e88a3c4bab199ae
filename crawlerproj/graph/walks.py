"""Walks over compressed links: what lies around a node, and the shortest way between two."""

from __future__ import annotations

import numpy as np

from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.rows import Targets

_AT_ONCE = 1 << 12  # nodes or links looked at in one go


class WalkTooLarge(Exception):
    """A walk met more nodes than it was allowed to."""


def spread(graph: CompactGraph, start: int, depth: int, limit: int) -> list[tuple[int, int]]:
    """The nodes at most `depth` steps away with their distance, by distance and number; at most `limit`."""
    seen: Targets = np.array([start], np.uint32)
    frontier = seen
    found: list[tuple[int, int]] = []
    for distance in range(1, depth + 1):
        room = limit - len(found)
        fresh = _neighbours(graph, frontier, seen, room)
        found += [(node, distance) for node in fresh.tolist()]
        if len(fresh) >= room or not len(fresh):
            break
        seen = np.union1d(seen, fresh)
        frontier = fresh
    return found


def _neighbours(graph: CompactGraph, nodes: Targets, seen: Targets, most: int) -> Targets:
    """What these nodes link to and was not seen, ascending: the first ones of it, at most so many."""
    fresh: Targets = np.zeros(0, np.uint32)
    for first in range(0, len(nodes), _AT_ONCE):
        targets = np.sort(graph.rows(nodes[first : first + _AT_ONCE].astype(np.int64)).targets)
        new = np.ones(len(targets), np.bool_)
        new[1:] = targets[1:] != targets[:-1]
        places = np.minimum(np.searchsorted(seen, targets), len(seen) - 1)
        new &= seen[places] != targets
        fresh = np.union1d(fresh, targets[new])[:most] if len(fresh) else targets[new][:most]
    return fresh


def shortest_path(
    out: CompactGraph, back: CompactGraph, start: int, end: int, limit: int
) -> list[int] | None:
    """A shortest way from start to end; None if there is none. Both ends are walked from at once."""
    if start == end:
        return [start]
    # Each side: graph, the node before (towards its end) of every node met, and the nodes met last.
    before: dict[int, int] = {start: start}
    after: dict[int, int] = {end: end}
    heads, tails = [start], [end]
    while heads and tails:
        if len(heads) <= len(tails):
            heads, meeting = _step(out, heads, before, after, limit)
        else:
            tails, meeting = _step(back, tails, after, before, limit)
        if meeting is not None:
            return _trace(before, meeting)[::-1] + _trace(after, meeting)[1:]
    return None


def _step(
    graph: CompactGraph, nodes: list[int], mine: dict[int, int], theirs: dict[int, int], limit: int
) -> tuple[list[int], int | None]:
    fresh: list[int] = []
    for first in range(0, len(nodes), _AT_ONCE):
        some = nodes[first : first + _AT_ONCE]
        rows = graph.rows(np.array(some))
        for index, node in enumerate(some):
            row = rows.row(index)
            for start in range(0, len(row), _AT_ONCE):
                if len(mine) + len(theirs) > limit:
                    raise WalkTooLarge(f"more than {limit} nodes lie around both ends: give a higher limit")
                for neighbour in row[start : start + _AT_ONCE].tolist():
                    if neighbour not in mine:
                        mine[neighbour] = node
                        if neighbour in theirs:
                            return [], neighbour
                        fresh.append(neighbour)
    return fresh, None


def _trace(steps: dict[int, int], node: int) -> list[int]:
    way = [node]
    while steps[node] != node:
        node = steps[node]
        way.append(node)
    return way
