import numpy as np
import pytest
import scipy.sparse as sparse
from graph_samples import graphs, web
from hypothesis import given, settings
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve

from crawlerproj.graph.compact import write_compact
from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.rank import component_sizes, pagerank, strong_components
from crawlerproj.graph.rank_table import RankTable, write_rank_table
from crawlerproj.graph.rows import Rows
from crawlerproj.items import Candidate


def compressed(rows, path):
    write_compact(lambda: [rows], rows.arcs, path)
    return CompactGraph(path)


def solved(rows, damping=0.85):
    """PageRank as the solution of its linear system, by scipy."""
    nodes = rows.nodes
    links = sparse.csr_matrix((np.ones(rows.arcs), rows.targets, rows.starts), (nodes, nodes))
    degrees = np.diff(rows.starts)
    weights = sparse.diags(np.where(degrees > 0, 1 / np.maximum(degrees, 1), 0))
    walk = (weights @ links).T.tocsc() + sparse.csc_matrix(np.outer(np.full(nodes, 1 / nodes), degrees == 0))
    system = sparse.identity(nodes, format="csc") - damping * walk
    return spsolve(system.tocsc(), np.full(nodes, (1 - damping) / nodes))


def test_pagerank_is_scipys(tmp_path):
    rows = web(400)
    rows = Rows.of([[] if n % 7 == 0 else row.tolist() for n, row in enumerate(map(rows.row, range(400)))])
    ranks = pagerank(compressed(rows.transposed(), tmp_path / "g"), tolerance=1e-12)
    assert ranks.converged
    assert np.abs(ranks.values - solved(rows)).max() < 1e-8
    assert ranks.values.sum() == pytest.approx(1)
    assert all(after < before for before, after in zip(ranks.residuals, ranks.residuals[1:], strict=False))


def test_pagerank_straight_off_the_compressed_links(tmp_path):
    back = compressed(web(500).transposed(), tmp_path / "g")
    assert np.abs(pagerank(back, memory=1).values - pagerank(back).values).max() < 1e-15


def test_pagerank_says_when_it_has_not_settled(tmp_path):
    told = []
    back = compressed(web(100).transposed(), tmp_path / "g")
    ranks = pagerank(back, most_steps=3, progress=lambda *step: told.append(step))
    assert not ranks.converged
    assert [step for step, _ in told] == [1, 2, 3]
    assert [left for _, left in told] == ranks.residuals


def test_pagerank_of_nothing(tmp_path):
    assert len(pagerank(compressed(Rows.of([]), tmp_path / "g")).values) == 0


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_strong_components_are_scipys(rows):
    component, count = strong_components(rows)
    links = sparse.csr_matrix((np.ones(rows.arcs), rows.targets, rows.starts), (rows.nodes, rows.nodes))
    wanted, labels = connected_components(links, connection="strong") if rows.nodes else (0, np.zeros(0))
    assert count == wanted
    assert len(set(zip(component.tolist(), labels.tolist(), strict=True))) == count
    assert component_sizes(rows).sum() == rows.nodes


def test_a_long_chain_needs_no_call_stack():
    nodes = 200_000
    ring = Rows(np.arange(nodes + 1), np.roll(np.arange(nodes, dtype=np.uint32), -1))
    assert component_sizes(ring).tolist() == [nodes]


def test_the_rank_table_is_read_again_when_it_has_changed(tmp_path):
    now = [0.0]
    table = RankTable(tmp_path / "ranks.tsv", lambda: now[0])

    def queues(*numbers):
        return [table(Candidate(f"http://h{n}.example/x"), "example") for n in numbers]

    assert queues(0) == [0]
    hosts = [f"h{n}.example" for n in range(100)]
    assert write_rank_table(tmp_path / "ranks.tsv", hosts, [n / 100 for n in range(100)]) == 60
    assert queues(99) == [0]  # not looked at yet
    now[0] = 10.0
    assert queues(99, 95, 70, 10) == [2, 1, 0, -1]
    write_rank_table(tmp_path / "ranks.tsv", hosts, [-n / 100 for n in range(100)])
    now[0] = 20.0
    assert queues(99, 0) == [-1, 2]
    (tmp_path / "ranks.tsv").write_bytes(b"h1.example\t5\n\xff\xfe not text\n")
    now[0] = 30.0
    assert queues(99, 0, 1) == [-1, 2, 1]  # unreadable: what was read before stands
    lines = "h1.example\t3\nh2.example\t²\nh3.example\nh4.example\t--1\n"
    (tmp_path / "ranks.tsv").write_text(lines, "utf-8")
    now[0] = 40.0
    assert queues(0, 1, 2, 3, 4) == [0, 3, 0, 0, 0]
    (tmp_path / "ranks.tsv").unlink()
    now[0] = 50.0
    assert queues(1) == [0]
