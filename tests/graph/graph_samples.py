"""Graphs for the codec tests: small arbitrary ones by hypothesis, and larger ones that look like a web."""

import random

from hypothesis import strategies as st

from crawlerproj.graph.rows import Rows


@st.composite
def graphs(draw):
    """Rows that are near copies of earlier ones, with runs, gaps and empty rows."""
    nodes = draw(st.integers(0, 90))
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    rows = []
    for _ in range(nodes):
        kind = rng.randrange(5)
        row = set()
        if kind and rows and rng.random() < 0.7:
            row = {t for t in rng.choice(rows[-12:]) if rng.random() < 0.8}
        if kind >= 2:
            row |= {rng.randrange(nodes) for _ in range(rng.randrange(6))}
        if kind >= 3:
            left = rng.randrange(nodes)
            row |= set(range(left, min(nodes, left + rng.randrange(20))))
        rows.append(sorted(row))
    return Rows.of(rows)


def web(nodes, seed=1):
    """A graph of sites of 50 pages: navigation that all pages share, neighbours, a few far links."""
    rng = random.Random(seed)
    rows = []
    for node in range(nodes):
        site = node - node % 50
        row = {site + n for n in range(10)} | {rng.randrange(nodes) for _ in range(rng.randrange(4))}
        row |= {min(nodes - 1, node + rng.randrange(1, 30)) for _ in range(5)}
        rows.append([target for target in row if target < nodes])
    return Rows.of(rows)


def same(one, other):
    return one.starts.tolist() == other.starts.tolist() and one.targets.tolist() == other.targets.tolist()
