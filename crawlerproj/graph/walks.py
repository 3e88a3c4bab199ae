"""Walks over compressed links: what lies around a node, and the shortest way between two."""

from __future__ import annotations

import numpy as np

from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.jit import Ints


class WalkTooLarge(Exception):
    """A walk met more nodes than it was allowed to."""


def spread(graph: CompactGraph, start: int, depth: int, limit: int) -> list[tuple[int, int]]:
    """The nodes at most `depth` steps away with their distance, by distance and number; at most `limit`."""
    seen = {start}
    found: list[tuple[int, int]] = []
    frontier: Ints = np.array([start])
    for distance in range(1, depth + 1):
        fresh = [int(node) for node in np.unique(graph.rows(frontier).targets) if int(node) not in seen]
        room = limit - len(found)
        found += [(node, distance) for node in fresh[:room]]
        if len(fresh) >= room or not fresh:
            break
        seen.update(fresh)
        frontier = np.array(fresh)
    return found


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
        if len(before) + len(after) > limit:
            raise WalkTooLarge(f"more than {limit} nodes lie around both ends: give a higher limit")
        if len(heads) <= len(tails):
            heads, meeting = _step(out, heads, before, after)
        else:
            tails, meeting = _step(back, tails, after, before)
        if meeting is not None:
            return _trace(before, meeting)[::-1] + _trace(after, meeting)[1:]
    return None


def _step(
    graph: CompactGraph, nodes: list[int], mine: dict[int, int], theirs: dict[int, int]
) -> tuple[list[int], int | None]:
    fresh: list[int] = []
    rows = graph.rows(np.array(nodes))
    for index, node in enumerate(nodes):
        for neighbour in rows.row(index).tolist():
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
