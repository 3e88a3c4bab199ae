import numpy as np
import pytest
from graph_samples import graphs, same, web
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlerproj.graph import compact
from crawlerproj.graph.classic_files import read_classic
from crawlerproj.graph.compact import Blocks, write_compact
from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.rows import Rows


def written(rows, path, **options):
    write_compact(lambda: [rows], rows.arcs, path, **options)
    return CompactGraph(path)


@settings(max_examples=150, deadline=None)
@given(graphs(), st.builds(Blocks, st.integers(1, 40), st.integers(1, 200)))
def test_every_row_comes_back(tmp_path_factory, rows, blocks):
    graph = written(rows, tmp_path_factory.mktemp("graph") / "g", blocks=blocks)
    assert (graph.nodes, graph.arcs) == (rows.nodes, rows.arcs)
    assert same(graph.all_rows(), rows)
    if rows.nodes:
        back = np.arange(rows.nodes)[::-1]
        answer = graph.rows(back)
        for index, node in enumerate(back):
            assert answer.row(index).tolist() == rows.row(node).tolist()


@pytest.mark.parametrize("name", ["cnr-2000", "cnr-2000-t"])
def test_a_real_graph_comes_back_and_is_small(cnr, tmp_path, name):
    rows = read_classic(cnr / name)
    graph = written(rows, tmp_path / name)
    assert same(graph.all_rows(), rows)
    some = np.random.default_rng(3).integers(0, rows.nodes, 2_000)
    answer = graph.rows(some)
    assert all(np.array_equal(answer.row(i), rows.row(node)) for i, node in enumerate(some))
    # All in: tables and offsets too. WebGraph's are 3.61 and 3.02.
    assert graph.bits_per_link <= {"cnr-2000": 2.05, "cnr-2000-t": 1.76}[name]


def test_chunks_and_a_model_of_a_part_tell_the_same_graph(tmp_path, monkeypatch):
    rows = web(1_000)
    monkeypatch.setattr(compact, "_WHOLE_LINKS", 4_000)
    monkeypatch.setattr(compact, "_TRAINING_LINKS", 500)

    def chunks():
        for first in range(0, 1_000, 300):
            last = min(first + 300, 1_000)
            start, end = rows.starts[first], rows.starts[last]
            yield Rows(rows.starts[first : last + 1] - start, rows.targets[start:end])

    write_compact(chunks, rows.arcs, tmp_path / "g")
    assert same(CompactGraph(tmp_path / "g").all_rows(), rows)


def test_numbers_up_to_the_largest_id(tmp_path):
    # A row may point anywhere below 2^32; only the rows themselves need room.
    far = Rows(np.array([0, 3, 5]), np.array([0, 7, 4_000_000_000, 1, 4_294_967_295], np.uint32))
    write_compact(lambda: [far], far.arcs, tmp_path / "g")
    with pytest.raises(DamagedGraph):  # but a reader refuses a target that is no node
        CompactGraph(tmp_path / "g").all_rows()


def test_scans_in_small_pieces(tmp_path):
    rows = web(700)
    graph = written(rows, tmp_path / "g")
    pieces = [(first, chunk.starts.copy(), chunk.targets.copy()) for first, chunk in graph.scan(500)]
    assert len(pieces) > 5
    assert np.concatenate([targets for _, _, targets in pieces]).tolist() == rows.targets.tolist()
    assert [first for first, _, _ in pieces] == sorted({first for first, _, _ in pieces})


def test_many_long_rows_at_once(tmp_path):
    # More than any guess of the room for the answer, in a graph that is smaller than the reader's scratch.
    rows = Rows.of([range(100)] * 100)
    answer = written(rows, tmp_path / "g").rows(np.arange(100).repeat(3))
    assert answer.targets.tolist() == list(range(100)) * 300


def test_a_node_that_is_not_there(tmp_path):
    graph = written(web(10), tmp_path / "g")
    for node in (-1, 10):
        with pytest.raises(IndexError):
            graph.row(node)


def test_a_file_that_is_no_graph(tmp_path):
    with pytest.raises(FileNotFoundError, match="graph build"):
        CompactGraph(tmp_path / "none")
    for data in (b"", b"CPGRAPH1", b"x" * 100):
        (tmp_path / "g").write_bytes(data)
        with pytest.raises(DamagedGraph, match="graph build"):
            CompactGraph(tmp_path / "g")


def test_damage_is_reported_never_a_crash(tmp_path):
    rows = web(500)
    written(rows, tmp_path / "g")
    whole = np.fromfile(tmp_path / "g", np.uint8)
    rng = np.random.default_rng(11)
    refused = 0
    for _ in range(400):
        broken = whole.copy()
        for _ in range(rng.integers(1, 4)):
            broken[rng.integers(len(broken))] ^= 1 << rng.integers(8)
        if rng.random() < 0.1:
            broken = broken[: rng.integers(1, len(broken))]
        broken.tofile(tmp_path / "broken")
        try:
            graph = CompactGraph(tmp_path / "broken")
            assert graph.all_rows().arcs == rows.arcs
            graph.rows(rng.integers(0, rows.nodes, 5))
        except DamagedGraph:
            refused += 1
    assert refused > 380  # what is left are the zero bytes at the end


def test_damage_met_by_single_rows_is_no_crash(tmp_path):
    # A row is made from its own chain of prototypes, without the rows in between: other checks than a scan's.
    rows = web(500)
    written(rows, tmp_path / "g")
    whole = np.fromfile(tmp_path / "g", np.uint8)
    bits = int(whole[24:32].view(np.uint64)[0])
    stream = len(whole) - 4 - (bits + 7) // 8  # damage there alone: the head has its own check
    rng = np.random.default_rng(12)
    refused = answered = 0
    for _ in range(150):
        broken = whole.copy()
        broken[rng.integers(stream, len(broken) - 4)] ^= 1 << rng.integers(8)
        broken.tofile(tmp_path / "broken")
        graph = CompactGraph(tmp_path / "broken")
        for node in rng.integers(0, rows.nodes, 40):
            try:
                row = graph.row(node)
            except DamagedGraph:
                refused += 1
            else:
                answered += 1
                assert (np.diff(row.astype(np.int64)) > 0).all() and (row < rows.nodes).all()
    assert refused and answered
