"""A graph in memory, row by row (CSR), the plain form that the codecs read and write.

Row x is `targets[starts[x]:starts[x + 1]]`: the successors of node x, ascending, each once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.jit import Ints, kernel, uint64

Targets = NDArray[np.uint32]


@dataclass(slots=True, frozen=True)
class Rows:
    starts: Ints
    targets: Targets

    @property
    def nodes(self) -> int:
        return len(self.starts) - 1

    @property
    def arcs(self) -> int:
        return len(self.targets)

    def row(self, node: int) -> Targets:
        return self.targets[self.starts[node] : self.starts[node + 1]]

    def transposed(self) -> Rows:
        return Rows(*_transpose(self.starts, self.targets))

    @classmethod
    def of(cls, rows: list[list[int]]) -> Rows:
        """From lists of successors, in any order, repeats allowed."""
        clean = [sorted(set(row)) for row in rows]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in clean], out=starts[1:])
        return cls(starts, np.array([target for row in clean for target in row], np.uint32))

    @classmethod
    def of_pairs(cls, nodes: int, pairs: NDArray[np.uint64]) -> Rows:
        """From ascending distinct words `source << 32 | target`."""
        counts = np.bincount((pairs >> uint64(32)).astype(np.int64), minlength=nodes)
        starts = np.zeros(nodes + 1, np.int64)
        np.cumsum(counts, out=starts[1:])
        return cls(starts, (pairs & uint64(0xFFFFFFFF)).astype(np.uint32))


@kernel
def _transpose(starts: Ints, targets: Targets) -> tuple[Ints, Targets]:
    nodes = len(starts) - 1
    fresh = np.zeros(nodes + 1, np.int64)
    for target in targets:
        fresh[target + 1] += 1
    for node in range(nodes):
        fresh[node + 1] += fresh[node]
    fill = fresh[:-1].copy()
    sources = np.empty(len(targets), np.uint32)
    for node in range(nodes):
        for index in range(starts[node], starts[node + 1]):
            target = targets[index]
            sources[fill[target]] = node
            fill[target] += 1
    return fresh, sources
