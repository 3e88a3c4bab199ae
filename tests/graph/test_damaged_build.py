"""Whatever happens to the files of a build or to a log: an error that names the remedy, or an answer."""

import random

import pytest

from crawlerproj.graph.build import build
from crawlerproj.graph.classic_files import ClassicGraph, read_classic
from crawlerproj.graph.connectivity import ConnectivityServer, UnknownNode
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.graph.export import export_webgraph
from crawlerproj.graph.manifest import GraphError
from crawlerproj.items import Link

REMEDY = "graph build|build it anew"


def make(directory, pages):
    rng = random.Random(pages)
    log = EdgeLog(directory / "edges")
    for page in range(pages):
        ends = [rng.randrange(pages) for _ in range(6)]
        links = [Link(f"http://h{n % 17}.example/{n}", f"text {n % 50}") for n in ends]
        log.append(f"http://h{page % 17}.example/{page}", links, 1.0)
        if page % 40 == 0:
            log.lengths()
    log.close()
    return build(directory / "edges", directory / "graph", now=0.0)


@pytest.fixture
def builds(tmp_path):
    return make(tmp_path / "one", 300), make(tmp_path / "two", 450)


def harmed(rng, data, other):
    """Cut short, replaced by another graph's, bits flipped, zeroed, made longer, a wrong byte in the head."""
    broken = bytearray(data)
    place = rng.randrange(len(broken))
    match rng.randrange(6):
        case 0:
            del broken[place:]
        case 1:
            broken = bytearray(other)
        case 2:
            for _ in range(rng.randrange(1, 5)):
                broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        case 3:
            broken[place : place + 32] = bytes(len(broken[place : place + 32]))
        case 4:
            broken += rng.randbytes(20)
        case 5:
            broken[rng.randrange(min(60, len(broken)))] = rng.randrange(256)
    return bytes(broken)


def ask_everything(graph):
    server = ConnectivityServer.open(graph)
    for name in ("url", "host", "domain"):
        level = server.level(name)
        for number in (0, level.out.nodes // 2, level.out.nodes - 1):
            try:
                title = level.title(number)
                server.outlinks(title, name), server.inlinks(title, name), server.degree(title, name)
                server.neighbourhood(title, 2, "in", 100, name)
                if name == "url":
                    server.anchors(title)
            except UnknownNode:  # a name with another letter is not found again
                pass
        list(level.names.keys())
        level.out.all_rows(), level.back.all_rows()


def test_a_harmed_file_of_a_build(builds):
    build_dir, other = builds
    rng = random.Random(6)
    names = sorted(path.name for path in build_dir.iterdir())
    refused = 0
    for _ in range(400):
        path = build_dir / rng.choice(names)
        whole = path.read_bytes()
        path.write_bytes(harmed(rng, whole, (other / path.name).read_bytes()))
        try:
            ask_everything(build_dir)
        except (DamagedGraph, GraphError) as error:
            refused += 1
            assert any(word in str(error) for word in REMEDY.split("|"))
        path.write_bytes(whole)
    assert refused > 200
    ask_everything(build_dir)


def names_and_anchors(graph):
    server = ConnectivityServer.open(graph)
    names = [list(server.level(name).names.keys()) for name in ("url", "host", "domain")]
    return names, [server.anchors(url) for url in server.level("url").titles(range(0, len(names[0]), 16))]


def test_a_flipped_bit_is_no_wrong_letter(builds):
    build_dir, _ = builds
    rng = random.Random(9)
    right = names_and_anchors(build_dir)
    refused = 0
    for number in range(150):
        path = build_dir / ("urls", "hosts", "domains", "anchors", "anchor-texts")[number % 5]
        whole = path.read_bytes()
        broken = bytearray(whole)
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        try:
            assert names_and_anchors(build_dir) == right
        except DamagedGraph:
            refused += 1
        path.write_bytes(whole)
    assert refused > 140


@pytest.mark.parametrize("name", ["urls", "url-out", "host-in", "domains"])
def test_files_of_two_graphs_are_not_mixed(builds, name):
    build_dir, other = builds
    (build_dir / name).write_bytes((other / name).read_bytes() if name != "domains" else b"")
    with pytest.raises(DamagedGraph, match="graph build"):
        ConnectivityServer.open(build_dir)


def test_a_harmed_log(builds, tmp_path):
    log = next((tmp_path / "one" / "edges").iterdir())
    whole, rng = log.read_bytes(), random.Random(7)
    refused = 0
    for _ in range(25):
        log.write_bytes(harmed(rng, whole, rng.randbytes(500)))
        try:
            ask_everything(build(tmp_path / "one" / "edges", tmp_path / "again", now=0.0))
        except DamagedGraph as error:
            refused += 1
            assert log.name in str(error)
    assert refused > 5


def test_a_harmed_export(builds, tmp_path):
    for name, build_dir in zip(("a", "b"), builds, strict=True):
        export_webgraph(ConnectivityServer.open(build_dir), tmp_path / name)
    rng = random.Random(8)
    refused = 0
    for _ in range(300):
        ending = rng.choice([".graph", ".offsets", ".properties"])
        path = tmp_path / f"a{ending}"
        whole = path.read_bytes()
        path.write_bytes(harmed(rng, whole, (tmp_path / f"b{ending}").read_bytes()))
        try:
            read_classic(tmp_path / "a")
            graph = ClassicGraph(tmp_path / "a")
            for node in range(0, graph.nodes, 37):
                graph.row(node)
        except DamagedGraph:
            refused += 1
        path.write_bytes(whole)
    assert refused > 100
