import numpy as np
import pytest
from graph_samples import graphs, same, web
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlerproj.graph.classic import Shape, encode
from crawlerproj.graph.classic_decode import decode, decode_row
from crawlerproj.graph.classic_files import ClassicGraph, read_classic, write_classic
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.rows import Rows


def in_chunks(rows, size):
    """The same rows in chunks whose arrays are used again, as those of a scan."""
    for first in range(0, rows.nodes, size):
        starts = rows.starts[first : first + size + 1]
        targets = rows.targets[starts[0] : starts[-1]].copy()
        yield Rows(starts - starts[0], targets)
        targets[:] = 0


SHAPES = st.builds(
    Shape, st.integers(0, 9), st.integers(0, 4), st.sampled_from([0, 2, 4, 7]), st.integers(1, 6)
)


@settings(max_examples=150, deadline=None)
@given(graphs(), SHAPES)
def test_every_row_comes_back(rows, shape):
    stream, offsets = encode(rows, shape)
    if rows.nodes:
        assert same(decode(stream, rows.nodes, rows.arcs, shape), rows)
    for node in range(rows.nodes):
        assert decode_row(stream, offsets, node, shape).tolist() == rows.row(node).tolist()


@pytest.mark.parametrize("name", ["cnr-2000", "cnr-2000-t"])
def test_the_stream_is_bit_identical_to_the_official_files(cnr, tmp_path, name):
    rows = read_classic(cnr / name)
    write_classic(in_chunks(rows, 100_000), tmp_path / name)
    for ending in (".graph", ".offsets"):
        ours, official = (np.fromfile(folder / f"{name}{ending}", np.uint8) for folder in (tmp_path, cnr))
        both = min(len(ours), len(official))
        assert np.array_equal(ours[:both], official[:both])
        # Padded to whole words, as three of the four official files are.
        assert not ours[both:].any() and not official[both:].any() and abs(len(ours) - len(official)) <= 8


def test_the_official_graphs_are_each_others_transpose(cnr):
    assert same(read_classic(cnr / "cnr-2000").transposed(), read_classic(cnr / "cnr-2000-t"))


def test_rows_of_a_mapped_graph(cnr):
    graph = ClassicGraph(cnr / "cnr-2000")
    rows = read_classic(cnr / "cnr-2000")
    for node in (0, 1, 7_777, 200_000, graph.nodes - 1):
        assert graph.row(node).tolist() == rows.row(node).tolist()
    with pytest.raises(IndexError):
        graph.row(graph.nodes)


@settings(max_examples=60, deadline=None)
@given(graphs(), SHAPES, st.integers(1, 9))
def test_chunks_tell_the_same_stream(tmp_path_factory, rows, shape, size):
    # Prototypes lie in the chunk before, or in several before.
    folder = tmp_path_factory.mktemp("graph")
    write_classic([rows], folder / "whole", shape)
    write_classic(in_chunks(rows, size), folder / "chunks", shape)
    for ending in (".graph", ".offsets", ".properties"):
        assert (folder / f"whole{ending}").read_bytes() == (folder / f"chunks{ending}").read_bytes()


def test_files_are_read_again(tmp_path):
    rows = web(300)
    properties = write_classic([rows], tmp_path / "web")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["web.graph", "web.offsets", "web.properties"]
    assert (properties["nodes"], properties["arcs"]) == (str(rows.nodes), str(rows.arcs))
    assert same(read_classic(tmp_path / "web"), rows)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"web\.properties"):
        read_classic(tmp_path / "web")


def test_foreign_codes_are_refused(tmp_path):
    write_classic([web(20)], tmp_path / "web")
    path = tmp_path / "web.properties"
    path.write_text(path.read_text().replace("compressionflags=", "compressionflags=RESIDUALS_DELTA"))
    with pytest.raises(DamagedGraph, match="default flags"):
        read_classic(tmp_path / "web")


def test_damage_is_reported_never_a_crash():
    rows = web(400)
    stream, offsets = encode(rows)
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(600):
        broken = stream.copy()
        for _ in range(rng.integers(1, 4)):
            broken[rng.integers(len(broken))] ^= 1 << rng.integers(8)
        if rng.random() < 0.3:
            broken = broken[: rng.integers(1, len(broken))]
        try:
            assert decode(broken, rows.nodes, rows.arcs).arcs == rows.arcs
        except DamagedGraph:
            refused += 1
        for node in rng.integers(0, rows.nodes, 3):
            try:
                decode_row(broken, offsets, int(node))
            except DamagedGraph:
                refused += 1
    assert refused > 300
