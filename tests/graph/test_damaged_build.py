"""Whatever happens to the files of a build or to a log: an error that names the remedy, or an answer."""

import random
import sys

import pytest

from crawlerproj.graph.build import build
from crawlerproj.graph.check import check
from crawlerproj.graph.checked_numbers import write_floats
from crawlerproj.graph.classic_files import ClassicGraph, read_classic
from crawlerproj.graph.connectivity import ConnectivityServer, UnknownNode, rank_file
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.graph.export import export_webgraph
from crawlerproj.graph.manifest import GraphError
from crawlerproj.graph.rank import pagerank
from crawlerproj.items import Link

REMEDY = "graph build|build it anew"


def make(directory, pages, seed=0):
    rng = random.Random(pages + seed)
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


def flipped(data):
    broken = bytearray(data)
    broken[len(broken) // 2] ^= 1
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


def answers(build_dir):
    """What a build says, asked for row by row."""
    server = ConnectivityServer.open(build_dir)
    told = [server.manifest.to_json()]
    for name in ("url", "host", "domain"):
        level = server.level(name)
        told += [list(level.names.keys()), server.ranks(name).tolist()]
        for graph in (level.out, level.back):
            told += [graph.row(node).tolist() for node in range(graph.nodes)]
    urls = server.level("url")
    return told + [server.anchors(url) for url in urls.titles(range(0, urls.out.nodes, 16))]


def test_a_flipped_bit_anywhere_is_an_error_never_a_wrong_answer(builds):
    build_dir, _ = builds
    server = ConnectivityServer.open(build_dir)
    for name in ("url", "host", "domain"):
        write_floats(rank_file(build_dir, name), pagerank(server.level(name).back).values)
    rng = random.Random(9)
    right = answers(build_dir)
    refused = 0
    names = sorted(path.name for path in build_dir.iterdir())
    for number in range(20 * len(names)):
        path = build_dir / names[number % len(names)]
        whole = path.read_bytes()
        broken = bytearray(whole)
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        try:
            assert answers(build_dir) == right, path.name
        except (DamagedGraph, GraphError) as error:
            refused += 1
            assert "scrapy graph" in str(error) or "build it anew" in str(error)
        path.write_bytes(whole)
    assert refused > 19 * len(names)


def test_a_check_tells_every_harmed_file_and_goes_on(builds):
    build_dir, _ = builds
    server = ConnectivityServer.open(build_dir)
    write_floats(rank_file(build_dir, "host"), pagerank(server.level("host").back).values)
    steps = set()
    whole = check(build_dir, lambda step, done, total: steps.add(step))
    urls = server.level("url")
    levels = [server.level(name) for name in ("url", "host", "domain")]
    assert whole.sound and whole.build == build_dir.name and whole.ranks == ["host"]
    assert whole.names == sum(level.out.nodes for level in levels)
    assert whole.links == 2 * sum(level.out.arcs for level in levels)
    assert whole.anchors == urls.out.arcs
    assert {"names of urls", "links of host-in", "anchors"} <= steps

    harmed_files = ["urls", "url-out", "url-in", "anchors", "anchor-texts", "host-out", "host-rank"]
    for name in harmed_files:
        path, sound = build_dir / name, (build_dir / name).read_bytes()
        path.write_bytes(flipped(sound))
        problems = check(build_dir, lambda *step: None).problems
        assert problems and all(str(path) in told and "scrapy graph" in told for told in problems), name
        path.write_bytes(sound)

    harmed_files = ["urls", "url-out", "anchors", "anchor-texts", "host-rank"]  # heads are sound
    for name in harmed_files:
        (build_dir / name).write_bytes(flipped((build_dir / name).read_bytes()))
    problems = check(build_dir, lambda *step: None).problems
    assert all(any(str(build_dir / name) in told for told in problems) for name in harmed_files)


def test_a_check_of_more_links_than_are_read_at_once(builds, monkeypatch):
    build_dir, _ = builds
    at_once = check(build_dir, lambda *step: None)
    monkeypatch.setattr(sys.modules[check.__module__], "_AT_ONCE", 50)
    assert check(build_dir, lambda *step: None) == at_once
    assert at_once.sound


def test_a_check_finds_sound_files_that_contradict_each_other(builds, tmp_path):
    build_dir, _ = builds
    twin = make(tmp_path / "twin", 300, seed=1)
    for name, foreign, said in (("url-in", build_dir / "url-out", "different links"),
                                ("anchors", twin / "anchors", "not as many as their in-links")):
        path, right = build_dir / name, (build_dir / name).read_bytes()
        path.write_bytes(foreign.read_bytes())
        problems = check(build_dir, lambda *step: None).problems
        assert any(said in told and "graph build" in told for told in problems), problems
        path.write_bytes(right)
    assert check(build_dir, lambda *step: None).sound
    assert "graph build" in check(tmp_path / "nothing", lambda *step: None).problems[0]


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
    right = every_row(tmp_path / "a")
    refused = 0
    for _ in range(300):
        ending = rng.choice([".graph", ".offsets", ".properties"])
        path = tmp_path / f"a{ending}"
        whole = path.read_bytes()
        path.write_bytes(harmed(rng, whole, (tmp_path / f"b{ending}").read_bytes()))
        try:
            assert every_row(tmp_path / "a") == right
        except DamagedGraph:
            refused += 1
        path.write_bytes(whole)
    assert refused > 250  # the others were cut, lengthened or harmed in their padding: the answers are right


def test_a_harmed_export_of_another_program(builds, tmp_path):
    # WebGraph's own properties hold no checks: an error or an answer, which may be wrong, but no crash.
    for name, build_dir in zip(("a", "b"), builds, strict=True):
        export_webgraph(ConnectivityServer.open(build_dir), tmp_path / name)
        path = tmp_path / f"{name}.properties"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith("crc32")))
    rng = random.Random(8)
    refused = 0
    for _ in range(300):
        path = tmp_path / f"a{rng.choice(['.graph', '.offsets', '.properties'])}"
        whole = path.read_bytes()
        path.write_bytes(harmed(rng, whole, (tmp_path / f"b{path.suffix}").read_bytes()))
        try:
            every_row(tmp_path / "a")
        except DamagedGraph:
            refused += 1
        path.write_bytes(whole)
    assert refused > 100


def every_row(basename):
    rows = read_classic(basename)
    graph = ClassicGraph(basename)
    return rows.starts.tolist(), [graph.row(node).tolist() for node in range(graph.nodes)]
