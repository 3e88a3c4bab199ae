"""Which nodes matter? PageRank (Brin and Page, 1998), and strongly connected components (Tarjan, 1972).

PageRank here: with probability `damping` a reader follows one of the page's links at random, else, and
always on a page without links, goes to any page at random. Power iteration from the uniform
distribution until the ranks change by less than `tolerance` in all (L1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.jit import Floats, Ints, int64, kernel, uint64
from crawlerproj.graph.rows import Rows, Targets

MEMORY = 1 << 30


@dataclass(slots=True)
class Ranks:
    """PageRank of every node; they sum to 1. `residuals` shows how they settled, step by step."""

    values: Floats
    residuals: list[float] = field(default_factory=list)
    converged: bool = True


def pagerank(
    back: CompactGraph, out: CompactGraph | None = None, damping: float = 0.85, tolerance: float = 1e-9,
    most_steps: int = 200, memory: int = MEMORY,
    progress: Callable[[int, float], None] = lambda step, left: None,
) -> Ranks:  # fmt: skip
    """From the in-links. They are unpacked once if they fit into half of the memory, else at every step."""
    nodes = back.nodes
    if nodes == 0:
        return Ranks(np.zeros(0))
    unpacked = [(0, back.all_rows())] if 4 * back.arcs + 8 * nodes <= memory // 2 else None

    def chunks() -> Iterator[tuple[int, Rows]]:
        return iter(unpacked) if unpacked else back.scan()

    degrees = np.zeros(nodes, np.int64)
    for _, rows in chunks():
        _count(rows.targets, degrees)
    dangling = np.flatnonzero(degrees == 0)
    shares = np.where(degrees > 0, 1.0 / np.maximum(degrees, 1), 0.0)
    ranks = np.full(nodes, 1.0 / nodes)
    answer = Ranks(ranks, converged=False)
    fresh = np.empty(nodes)
    for step in range(1, most_steps + 1):
        given = ranks * shares
        base = (1.0 - damping + damping * float(ranks[dangling].sum())) / nodes
        for first, rows in chunks():
            _receive(rows.starts, rows.targets, given, base, damping, fresh[first : first + rows.nodes])
        left = float(np.abs(fresh - ranks).sum())
        ranks, fresh = fresh, ranks
        answer.residuals.append(left)
        progress(step, left)
        if left < tolerance:
            answer.converged = True
            break
    answer.values = ranks / ranks.sum()
    return answer


@kernel
def _count(sources: Targets, degrees: Ints) -> None:
    for source in sources:
        degrees[source] += 1


@kernel
def _receive(
    starts: Ints, sources: Targets, given: Floats, base: float, damping: float, into: Floats
) -> None:
    for node in range(len(starts) - 1):
        total = 0.0
        for index in range(starts[node], starts[node + 1]):
            total += given[uint64(sources[index])]
        into[node] = base + damping * total


def strong_components(rows: Rows) -> tuple[NDArray[np.int64], int]:
    """The component of every node (numbered in the order they are completed), and how many there are."""
    component = np.full(rows.nodes, -1, np.int64)
    return component, int(_tarjan(rows.starts, rows.targets, component))


def component_sizes(rows: Rows) -> NDArray[np.int64]:
    """The sizes of the strongly connected components, the largest first."""
    component, count = strong_components(rows)
    return np.sort(np.bincount(component, minlength=count))[::-1]


@kernel
def _tarjan(starts: Ints, targets: Targets, component: Ints) -> int:
    """Tarjan's algorithm with its own stack: a web's paths are longer than a call stack."""
    nodes = len(starts) - 1
    order = np.zeros(nodes, np.int64)  # 0 = not met
    low = np.zeros(nodes, np.int64)
    next_link = starts[:-1].copy()
    stack, path = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    stacked = paths = met = components = 0
    for root in range(nodes):
        if order[root]:
            continue
        path[paths] = root
        paths += 1
        while paths:
            node = path[paths - 1]
            if order[node] == 0:
                met += 1
                order[node] = low[node] = met
                stack[stacked] = node
                stacked += 1
            descended = False
            while next_link[node] < starts[node + 1]:
                target = int64(targets[next_link[node]])
                next_link[node] += 1
                if order[target] == 0:
                    path[paths] = target
                    paths += 1
                    descended = True
                    break
                if component[target] < 0:
                    low[node] = min(low[node], order[target])
            if descended:
                continue
            paths -= 1
            if paths:
                parent = path[paths - 1]
                low[parent] = min(low[parent], low[node])
            if low[node] == order[node]:
                while True:
                    stacked -= 1
                    member = stack[stacked]
                    component[member] = components
                    if member == node:
                        break
                components += 1
    return components
