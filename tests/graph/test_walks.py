"""Walks over links, against the plainest way to do the same."""

from collections import deque
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.graph import walks
from crawlerproj.graph.rows import Rows
from crawlerproj.graph.walks import WalkTooLarge, shortest_path, spread

GRAPHS = st.integers(1, 25).flatmap(
    lambda nodes: st.lists(st.lists(st.integers(0, nodes - 1), max_size=6), min_size=nodes, max_size=nodes)
)


class InMemory:
    """As much of a CompactGraph as a walk needs."""

    def __init__(self, rows):
        self.whole = rows

    def rows(self, nodes):
        found = [self.whole.row(int(node)) for node in nodes]
        starts = np.cumsum([0, *map(len, found)])
        return Rows(starts, np.concatenate([np.zeros(0, np.uint32), *found]))


def distances(rows, start):
    far, waiting = {start: 0}, deque([start])
    while waiting:
        node = waiting.popleft()
        for target in rows.row(node).tolist():
            if target not in far:
                far[target] = far[node] + 1
                waiting.append(target)
    return far


@pytest.fixture(autouse=True, scope="module")
def small_steps():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walks, "_AT_ONCE", 3)
        yield


@given(GRAPHS, st.integers(0, 5), st.integers(1, 30))
def test_what_lies_around_a_node(lists, depth, limit):
    rows = Rows.of(lists)
    far = distances(rows, 0)
    near = sorted((distance, node) for node, distance in far.items() if 0 < distance <= depth)

    assert spread(InMemory(rows), 0, depth, limit) == [(node, distance) for distance, node in near[:limit]]


@given(GRAPHS, st.integers(0, 24))
def test_a_shortest_way(lists, end):
    rows = Rows.of(lists)
    end %= len(lists)
    far = distances(rows, 0)

    way = shortest_path(InMemory(rows), InMemory(rows.transposed()), 0, end, 1_000)

    if end not in far:
        assert way is None
    else:
        assert way is not None and len(way) == far[end] + 1 and (way[0], way[-1]) == (0, end)
        assert all(after in rows.row(before) for before, after in pairwise(way))


def test_a_hub_does_not_take_a_walk_beyond_its_limit():
    # 1 leads to the hub 0, which leads to all others; the end cannot be reached.
    rows = Rows.of([list(range(2, 5_000)), [0], *[[] for _ in range(5_000)]])
    out, back = InMemory(rows), InMemory(rows.transposed())

    with pytest.raises(WalkTooLarge, match="higher limit"):
        shortest_path(out, back, 1, 5_001, 100)
