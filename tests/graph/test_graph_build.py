import json
import os
import random
import resource
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.graph import id_table, key_runs, log_parse
from crawlerproj.graph.build import build
from crawlerproj.graph.check import check as check_files
from crawlerproj.graph.connectivity import ConnectivityServer, UnknownNode
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.graph.id_table import IdTable, hash_keys
from crawlerproj.graph.key_runs import KeyRuns
from crawlerproj.graph.manifest import GraphError, Manifest, current_build
from crawlerproj.items import Link
from crawlerproj.urls.hosts import registered_domain


def write(directory, pages, worker="0"):
    """pages: (url, links, time)"""
    log = EdgeLog(directory, worker)
    for url, links, time in pages:
        log.append(url, links, time)
        if len(url) % 3 == 0:
            log.lengths()
    log.close()


def world(pages, seed=1):
    """Pages with links, anchors and rel, and what the graph should say: {source: {target: (anchor, rel)}}."""
    rng = random.Random(seed)
    urls = [
        f"http{'s' * (n % 4 == 0)}://{'www.' * (n % 2)}h{n % 13}.{'co.uk' if n % 3 else 'example'}/{n}"
        for n in range(pages)
    ]
    truth, records = {}, []
    for url in urls:
        links = [
            Link(rng.choice(urls) if rng.random() < 0.9 else f"http://far{rng.randrange(50)}.test/x",
                 rng.choice(["", "read more", "näher", f"to {rng.randrange(30)}"]),
                 rng.choice(["", "nofollow"]))
            for _ in range(rng.randrange(12))
        ]  # fmt: skip
        said = {}
        for link in links:
            said.setdefault(link.url, (link.anchor, link.rel))
        truth[url] = said
        records.append((url, links, 100.0 + rng.random()))
    return truth, records


def check(server, truth):
    sources = {}
    for source, said in truth.items():
        assert sorted(server.outlinks(source)) == sorted(said)
        for target in said:
            sources.setdefault(target, []).append(source)
    for target, linking in sources.items():
        assert sorted(server.inlinks(target)) == sorted(linking)
        assert {a.source: (a.text, a.rel) for a in server.anchors(target)} == {
            source: truth[source][target] for source in linking
        }
        assert server.degree(target) == (len(truth.get(target, ())), len(linking))


def test_a_build_says_what_the_pages_said(tmp_path):
    truth, records = world(400)
    write(tmp_path / "edges", records[:250], "0")
    write(tmp_path / "edges", records[250:], "1")
    steps = []
    built = build(tmp_path / "edges", tmp_path / "graph", now=5.0, progress=lambda *told: steps.append(told))
    assert built == current_build(tmp_path / "graph")
    server = ConnectivityServer.open(tmp_path / "graph")
    check(server, truth)
    assert (server.manifest.pages, server.manifest.pages_void, server.manifest.built_at) == (400, 0, 5.0)
    assert all(0 <= done <= total for _, done, total in steps)
    assert not (built / "work").exists()


HOSTS = ["a.example", "[::1]", "[2001:db8::1]:8080", "1.2.3.4", "localhost", "a..b", ".", "a.co.uk:81", "com",
         "", "~", "~t.example", "x.~t", "A)b.example", "x@y.example", "a,b", "é.example", "co.uk", "a" * 300]
PARTS = ["/", "a", "é", "%20", "?", "&", "~", ")", " ", "\U0001f600", "x" * 50, ",", "\x80", "@"]


def odd_url(rng):
    path = "".join(rng.choices(PARTS, k=rng.randrange(9)))
    start = rng.choice(["http://", "https://"]) + rng.choice(HOSTS)
    return rng.choice([f"{start}/{path}"] * 3 + [start, f"mailto:{path}", f"~{path}", f"http:{path}"])


@pytest.mark.parametrize("seed", range(8))
def test_whatever_addresses_pages_name_the_graph_says_what_they_said(tmp_path, seed):
    rng = random.Random(seed)
    urls = [odd_url(rng) for _ in range(rng.randrange(2, 300))]
    truth, records = {}, []
    for at in range(150):
        source, targets = rng.choice(urls), rng.choices(urls, k=rng.randrange(15))
        truth[source] = dict.fromkeys(targets, ("", ""))
        records.append((source, [Link(target) for target in targets], float(at)))
    write(tmp_path / "edges", records)
    build(tmp_path / "edges", tmp_path / "graph", now=0.0, memory=rng.choice([30_000, 1 << 30]))
    server = ConnectivityServer.open(tmp_path)
    check(server, truth)
    assert check_files(tmp_path / "graph", lambda *step: None).problems == []
    for level in ("host", "domain"):
        nodes = server.level(level)
        for number in range(nodes.out.nodes):
            title = nodes.title(number)
            assert title == "(no web address)" or nodes.number(title) == number


def test_a_repeated_page_replaces_what_it_said(tmp_path):
    one, two = "http://a.example/", "http://b.example/"
    write(tmp_path / "edges", [(one, [Link(two, "old"), Link(one)], 1.0)], "0")
    write(tmp_path / "edges", [(one, [Link("http://c.example/")], 3.0), (one, [Link(two, "new")], 9.0)], "1")
    write(tmp_path / "edges", [(one, [Link("http://late-in-the-log.example/")], 2.0)], "2")
    build(tmp_path / "edges", tmp_path / "graph", now=0.0)
    server = ConnectivityServer.open(tmp_path / "graph")
    assert server.outlinks(one) == [two]
    assert [anchor.text for anchor in server.anchors(two)] == ["new"]
    assert server.inlinks("http://c.example/") == []
    assert server.manifest.pages_void == 3


def test_of_two_records_at_one_time_the_later_written_counts(tmp_path):
    one = "http://a.example/"
    write(
        tmp_path / "edges", [(one, [Link("http://x.example/")], 1.0), (one, [Link("http://y.example/")], 1.0)]
    )
    build(tmp_path / "edges", tmp_path / "graph", now=0.0)
    assert ConnectivityServer.open(tmp_path / "graph").outlinks(one) == ["http://y.example/"]


def test_little_memory_gives_the_same_graph(tmp_path, monkeypatch):
    # Every table forgets, every sort spills, every look-up takes several passes.
    truth, records = world(1_500, seed=2)
    monkeypatch.setattr(log_parse, "_MOST_SLOTS", 64)
    monkeypatch.setattr(key_runs, "_BLOCK_TEXT", 2_000)
    write(tmp_path / "edges", records)
    build(tmp_path / "edges", tmp_path / "graph", now=0.0, memory=30_000)
    check(ConnectivityServer.open(tmp_path / "graph"), truth)


@pytest.mark.parametrize("runs", [1, 2, 3, 7, 8, 9, 25])
def test_keys_in_more_runs_than_are_merged_at_a_time(tmp_path, monkeypatch, runs):
    monkeypatch.setattr(key_runs, "_MOST_RUNS", 3)
    rng = random.Random(runs)
    keys = [f"key {rng.randrange(5_000)}".encode() for _ in range(1_000 * runs)]
    sorter = KeyRuns(tmp_path, memory=1)  # a thousand keys
    for start in range(0, len(keys), 500):
        sorter.add(keys[start : start + 500])
    assert len(list(tmp_path.iterdir())) == runs
    told = list(sorter.merged())
    assert [key for some in told for key in some] == sorted(set(keys))
    assert not list(tmp_path.iterdir())


@given(st.integers(0, 1 << 22), st.integers(12 << 10, 1 << 24))
def test_a_part_of_the_table_of_urls_fits_into_memory(keys, memory):
    parts = IdTable.parts_for(keys, memory)
    assert IdTable(keys, 0, parts).bytes <= memory
    assert parts == 1 or IdTable(keys, 0, parts // 2).bytes > memory // 2  # and no more parts than it takes


def test_what_is_built_does_not_depend_on_the_seed_of_hashes(tmp_path):
    _, records = world(300, seed=3)
    write(tmp_path / "edges", records)
    seen = set()
    for seed in (0, 1, (1 << 63) - 1):
        built = build(tmp_path / "edges", tmp_path / str(seed), now=0.0, draw_seed=lambda seed=seed: seed)
        seen.add(tuple((path.name, path.read_bytes()) for path in sorted(built.iterdir())))
    assert len(seen) == 1


def test_two_urls_of_one_hash_are_hashed_anew(tmp_path, monkeypatch):
    truth, records = world(50)
    write(tmp_path / "edges", records)
    seeds, drawn = iter(range(100)), []

    def fill(table, numbers, hashes, *rest):
        return len(drawn) > 2 and _fill(table, numbers, hashes, *rest)

    def draw():
        drawn.append(next(seeds))
        return drawn[-1]

    _fill = id_table._fill
    monkeypatch.setattr(id_table, "_fill", fill)
    build(tmp_path / "edges", tmp_path / "graph", now=0.0, draw_seed=draw)
    assert drawn == [0, 1, 2]
    check(ConnectivityServer.open(tmp_path), truth)

    table = IdTable(10, 0, 1)
    table.add(np.array([7, 8], np.uint64), 0)
    assert not _fill(table._hashes, table._numbers, np.array([7], np.uint64), 2, np.uint64(0), np.uint64(9))


# Under the hash that was used first, these were equal whatever its seed from 0 to 7.
TWINS = [
    ("UBC4JXRrN4X90iPgtail5678", "UBC4JXR2N4Xy0iP'tail5678"),
    ("909ipwE-y4wiZ9-8tail5678", "909ipwEmy4w)Z9-xtail5678"),
]


@pytest.mark.parametrize("twins", TWINS)
@pytest.mark.parametrize("seed", range(8))
def test_urls_prepared_to_collide_do_not(twins, seed):
    texts = [f"example,evil)/xx{twin}".encode() for twin in twins]
    hashes = hash_keys(np.frombuffer(b"".join(texts), np.uint8), np.array(list(map(len, texts))), seed)
    assert hashes[0] != hashes[1]


@given(st.binary(max_size=40), st.integers(0, 39), st.integers(0, 7), st.integers(0, (1 << 63) - 1))
def test_a_flipped_bit_gives_another_hash(text, place, bit, seed):
    flipped = bytearray(text or b"x")
    flipped[place % len(flipped)] ^= 1 << bit
    both = np.frombuffer((text or b"x") + flipped, np.uint8)
    one, other = hash_keys(both, np.array([len(flipped)] * 2), seed)
    assert one != other and 0 not in (one, other) and (one ^ other) & np.uint64(0xFFFFFFFF)


def test_hosts_and_domains(tmp_path):
    write(tmp_path / "edges", [
        ("http://www.a.co.uk/1", [Link("http://b.co.uk/"), Link("https://shop.a.co.uk/x")], 1.0),
        ("https://www.a.co.uk/2", [Link("http://b.co.uk:8080/y")], 1.0),
        ("http://10.0.0.1/", [Link("http://www.a.co.uk/1")], 1.0),
    ])  # fmt: skip
    build(tmp_path / "edges", tmp_path / "graph", now=0.0)
    server = ConnectivityServer.open(tmp_path / "graph")
    assert sorted(server.outlinks("www.a.co.uk", "host")) == ["b.co.uk", "b.co.uk:8080", "shop.a.co.uk"]
    assert server.inlinks("www.a.co.uk", "host") == ["10.0.0.1"]
    assert sorted(server.outlinks("a.co.uk", "domain")) == ["a.co.uk", "b.co.uk"]
    assert server.degree("b.co.uk", "domain") == (0, 1)


def test_more_hosts_than_fit_into_memory(tmp_path):
    # Hosts and domains are sorted like URLs, and one domain's hosts need not be neighbours: buckets of a
    # storage service are domains of their own, between the hosts of the service.
    rng = random.Random(4)
    hosts = [f"h{n}.d{n % 900}.{'com' if n % 3 else 'co.uk'}" for n in range(2_500)]
    hosts += ["amazonaws.com", "a.amazonaws.com", "bucket.s3.amazonaws.com", "z.amazonaws.com"]
    linked = {host: {rng.choice(hosts) for _ in range(4)} for host in hosts}
    pages = [(f"http://{h}/", [Link(f"http://{t}/x") for t in linked[h]], 1.0) for h in hosts]
    write(tmp_path / "edges", pages)
    build(tmp_path / "edges", tmp_path / "graph", now=0.0, memory=30_000)
    server = ConnectivityServer.open(tmp_path / "graph")
    domains = {}
    for host in hosts:
        assert set(server.outlinks(host, "host")) == linked[host]
        theirs = {registered_domain(target) for target in linked[host]}
        domains.setdefault(registered_domain(host), set()).update(theirs)
    assert len(domains) == server.level("domain").out.nodes < len(hosts)
    for domain, theirs in domains.items():
        assert set(server.outlinks(domain, "domain")) == theirs


def test_the_links_of_one_site_to_itself_are_one_link_of_its_host(tmp_path):
    # Told for each link between pages, it would be sorted in one piece, however much memory that takes.
    names = [f"http://only.example/{n}" for n in range(200)]
    write(tmp_path / "edges", [(name, [Link(target) for target in names], 1.0) for name in names])
    sorted_links = {}

    def progress(step, done, total):
        sorted_links[step] = max(total, sorted_links.get(step, 0))

    build(tmp_path / "edges", tmp_path / "graph", now=0.0, progress=progress)

    assert (sorted_links["sorting out"], sorted_links["sorting host-out"]) == (40_000, 1)
    assert ConnectivityServer.open(tmp_path / "graph").outlinks("only.example", "host") == ["only.example"]


def test_readers_see_the_old_build_or_the_new_one(tmp_path):
    edges, graph = tmp_path / "edges", tmp_path / "graph"
    write(edges, [("http://a.example/", [Link("http://b.example/")], 1.0)])
    first = build(edges, graph, now=1.0)
    old = ConnectivityServer.open(graph)
    write(edges, [("http://a.example/", [Link("http://c.example/")], 2.0)])
    second = build(edges, graph, now=2.0)
    third = build(edges, graph, now=3.0)
    assert old.outlinks("http://a.example/") == ["http://b.example/"]
    assert ConnectivityServer.open(graph).outlinks("http://a.example/") == ["http://c.example/"]
    assert [path.exists() for path in (first, second, third)] == [False, True, True]
    assert current_build(graph) == third


KILLED = """
import os, signal, sys
from pathlib import Path
from crawlerproj.graph.build import build
from crawlerproj.graph.connectivity import ConnectivityServer

edges, graph = map(Path, sys.argv[1:])
steps = []  # what the child did before it died

def dying(function, at):
    def call(*arguments, **options):
        steps.append(str(arguments[0]))
        if len(steps) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call

def killed_at(at):
    child = os.fork()
    if child == 0:
        os.fsync, os.replace = dying(os.fsync, at), dying(os.replace, at)
        build(edges, graph, 2.0, progress=dying(lambda *told: None, at))
        os._exit(0)
    return os.waitpid(child, 0)[1]

at = 1
while killed_at(at):
    server = ConnectivityServer.open(graph)
    print(server.build.name, server.manifest.built_at, *server.outlinks("http://a.example/"), flush=True)
    at += 1
"""


def test_a_build_killed_at_any_step_leaves_the_old_one_or_is_whole_and_its_rest_is_cleared(tmp_path):
    edges, graph = tmp_path / "edges", tmp_path / "graph"
    write(edges, [("http://a.example/", [Link("http://old.example/")], 1.0)])
    build(edges, graph, now=1.0)
    write(edges, [("http://a.example/", [Link("http://new.example/")], 2.0)])

    command = [sys.executable, "-c", KILLED, str(edges), str(graph)]
    run = subprocess.run(command, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
    seen = [line.split() for line in run.stdout.splitlines()]
    assert len(seen) > 30
    at_last = seen.index(next(line for line in seen if line[1] == "2.0"))
    assert all(line == ["build-000001", "1.0", "http://old.example/"] for line in seen[:at_last])
    assert all(line[1:] == ["2.0", "http://new.example/"] for line in seen[at_last:])
    assert 0 < len(seen) - at_last < 4  # the switch is among the last steps
    built = build(edges, graph, now=3.0)
    assert len(list(graph.glob("build-*"))) == 2 and current_build(graph) == built
    assert Manifest.read(built).built_at == 3.0


def test_a_build_that_finds_the_disk_full_says_so_and_takes_no_room(tmp_path):
    edges, graph = tmp_path / "edges", tmp_path / "graph"
    names = [f"http://h{n % 40}.example/{n}" for n in range(400)]
    write(edges, [(name, [Link(target, target) for target in names[n : n + 9]], 1.0)
                  for n, name in enumerate(names)])
    build(edges, graph, now=1.0)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    refused = 0
    for most in (1 << power for power in range(8, 30)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))  # fails as a full disk does
        try:
            build(edges, graph, now=2.0)
            break
        except GraphError as error:
            assert f"the disk of {graph} is full" in str(error)
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert [path.name for path in graph.glob("build-*")] == ["build-000001"]
    assert refused > 4 and current_build(graph).name == "build-000002"


def test_an_interrupted_build_takes_no_room(tmp_path):
    edges, graph = tmp_path / "edges", tmp_path / "graph"
    write(edges, [("http://a.example/", [Link("http://b.example/")], 1.0)])

    def interrupted(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(edges, graph, now=1.0, progress=interrupted)
    assert [path.name for path in graph.iterdir()] == [".lock"]


def test_two_builds_at_once_are_refused(tmp_path):
    edges, graph = tmp_path / "edges", tmp_path / "graph"
    write(edges, [("http://a.example/", [], 1.0)])

    def second(*_):
        with pytest.raises(GraphError, match="another build"):
            build(edges, graph, now=0.0)

    build(edges, graph, now=0.0, progress=second)


def test_errors_tell_the_remedy(tmp_path):
    with pytest.raises(GraphError, match="no edge logs"):
        build(tmp_path / "edges", tmp_path / "graph", now=0.0)
    with pytest.raises(GraphError, match="graph build"):
        ConnectivityServer.open(tmp_path)
    write(tmp_path / "edges", [("http://a.example/", [], 1.0)])
    built = build(tmp_path / "edges", tmp_path / "graph", now=0.0, anchors=False)
    server = ConnectivityServer.open(tmp_path / "graph")
    with pytest.raises(UnknownNode, match="no url http://b"):
        server.outlinks("http://b.example/")
    with pytest.raises(GraphError, match="no-anchors"):
        server.anchors("http://a.example/")
    with pytest.raises(GraphError, match="graph rank"):
        server.ranks()
    manifest = json.loads((built / "manifest.json").read_text())
    (built / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(GraphError, match="format 99"):
        ConnectivityServer.open(tmp_path / "graph")


def test_a_log_cut_off_in_its_last_frame_counts_without_it(tmp_path):
    write(tmp_path / "edges", [("http://ab.example/", [], 1.0), ("http://lost.example/", [], 1.0)])
    path = next((tmp_path / "edges").iterdir())
    os.truncate(path, path.stat().st_size - 2)
    build(tmp_path / "edges", tmp_path / "graph", now=0.0)
    assert ConnectivityServer.open(tmp_path / "graph").manifest.pages == 1


def test_pages_without_any_link(tmp_path):
    write(tmp_path / "edges", [("http://a.example/", [], 1.0)])
    build(tmp_path / "edges", tmp_path / "graph", now=0.0)
    server = ConnectivityServer.open(tmp_path / "graph")
    assert server.outlinks("http://a.example/") == server.inlinks("http://a.example/") == []
    assert server.anchors("http://a.example/") == []


def test_a_page_that_cannot_be_named_takes_its_links_with_it(tmp_path):
    linked = [Link("http://x.example/")]
    write(tmp_path / "edges", [
        ("http://a.example/", [Link("http://b.example/")], 1.0), ("", linked, 1.0),
        ("http://a.example/" + "long" * 20_000, linked, 1.0), ("http://a.example/\t", linked, 1.0),
        ("http://c.example/", [Link("http://d.example/"), Link("http://d.example/" + "long" * 20_000)], 1.0),
    ])  # fmt: skip
    build(tmp_path / "edges", tmp_path / "graph", now=0.0)
    server = ConnectivityServer.open(tmp_path)
    assert server.outlinks("http://a.example/") == ["http://b.example/"]
    assert server.outlinks("http://c.example/") == ["http://d.example/"]
    assert (server.manifest.pages, server.level("url").out.nodes) == (2, 4)
