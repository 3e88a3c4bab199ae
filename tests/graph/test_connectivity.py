import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from crawlerproj.graph import serve
from crawlerproj.graph.arguments import add_arguments
from crawlerproj.graph.build import build
from crawlerproj.graph.classic_files import read_classic
from crawlerproj.graph.connectivity import ConnectivityServer, UnknownNode
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.graph.export import export_text, export_webgraph
from crawlerproj.graph.serve import GraphHttpServer
from crawlerproj.graph.walks import WalkTooLarge
from crawlerproj.items import Link

ROOT = Path(__file__).resolve().parents[2]


def page(number):
    return f"http://h{number % 3}.example/{number}"


def write_chain(edges):
    """0 -> 1 -> 2 ... -> 29, each also to 0; 40 stands alone."""
    log = EdgeLog(edges)
    for number in range(30):
        log.append(page(number), [Link(page(number + 1), f"to {number + 1}"), Link(page(0), "home")], 1.0)
    log.append(page(40), [], 1.0)
    log.close()


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    """The directory of a crawl whose graph is built."""
    directory = tmp_path_factory.mktemp("crawl")
    write_chain(directory / "edges")
    build(directory / "edges", directory / "graph", now=1.0)
    return directory


@pytest.fixture(scope="module")
def server(crawl):
    return ConnectivityServer.open(crawl / "graph")


def test_neighbourhood_by_distance(server):
    found = server.neighbourhood(page(3), depth=2)
    assert sorted(found) == sorted([(page(0), 1), (page(4), 1), (page(1), 2), (page(5), 2)])
    assert [distance for _, distance in found] == [1, 1, 2, 2]
    assert dict(server.neighbourhood(page(5), 3, "in")) == {page(4): 1, page(3): 2, page(2): 3}
    assert len(server.neighbourhood(page(3), depth=9, limit=3)) == 3
    assert server.neighbourhood(page(40), 5) == []


def test_shortest_paths(server):
    assert server.path(page(0), page(0)) == [page(0)]
    assert server.path(page(20), page(3)) == [page(n) for n in (20, 0, 1, 2, 3)]
    assert server.path(page(0), page(40)) is None
    with pytest.raises(WalkTooLarge, match="higher limit"):
        server.path(page(1), page(30), limit=5)
    with pytest.raises(UnknownNode):
        server.path(page(0), page(99))


def test_batches(server):
    assert server.outlinks_of([page(0), "http://unknown.example/", page(40)]) == [
        server.outlinks(page(0)), [], [],
    ]  # fmt: skip
    assert server.inlinks_of([page(7)]) == [[page(6)]]
    numbers = np.array([server.level("url").number(page(n)) for n in (5, 0, 5)])
    rows = server.rows(numbers, "in")
    assert [len(rows.row(index)) for index in range(3)] == [1, 30, 1]


@pytest.mark.parametrize(("level", "spellings", "number"), [
    ("url", ["HTTP://H2.Example/5", "http://h2.example:80/5#top", "h2.example/5", " http://h2.example/5"], 5),
    ("host", ["H2.example", "http://h2.example/5", "h2.example:80"], 5),
    ("domain", ["H2.example", "www.H2.example", "https://h2.example/some/where"], 5),
])  # fmt: skip
def test_names_as_people_write_them(server, level, spellings, number):
    right = page(number) if level == "url" else "h2.example"
    for spelling in spellings:
        assert server.level(level).number(spelling) == server.level(level).number(right), spelling


def test_a_name_that_is_there_as_written_is_that_one(tmp_path):
    log = EdgeLog(tmp_path / "edges")
    log.append("http://a.example/", [Link("http://a.example/#not-spelled"), Link("mailto:a@b.c")], 1.0)
    log.close()
    build(tmp_path / "edges", tmp_path / "graph", now=1.0)
    server = ConnectivityServer.open(tmp_path)
    assert server.inlinks("http://a.example/#not-spelled") == server.inlinks("mailto:a@b.c") == [
        "http://a.example/"
    ]
    for name in ("http://", "a.exa\0mple", "\ud800", "nothing", "http://[::"):
        for level in ("url", "host", "domain"):
            with pytest.raises(UnknownNode):
                server.outlinks(name, level)


def test_it_is_opened_on_a_crawl_a_graph_or_a_build(crawl):
    build_dir = crawl / "graph" / "current"
    assert {
        ConnectivityServer.open(place).build.resolve() for place in (crawl, crawl / "graph", str(build_dir))
    } == {build_dir.resolve()}


def test_top(server):
    assert server.top(1) == [(page(0), 30.0)]
    assert [value for _, value in server.top(1_000, "out")][:2] == [2.0, 2.0]
    with pytest.raises(ValueError, match="give"):
        server.top(1, "sideways")


def test_many_threads_ask_at_once(server):
    wrong = []

    def ask():
        for number in range(200):
            if server.inlinks(page(number % 29 + 1)) != [page(number % 29)]:
                wrong.append(number)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_exports(server, tmp_path):
    export_webgraph(server, tmp_path / "web" / "crawl")
    names = (tmp_path / "web" / "crawl.nodes").read_text().splitlines()
    rows, turned = read_classic(tmp_path / "web" / "crawl"), read_classic(tmp_path / "web" / "crawl-t")
    assert [names[target] for target in rows.row(names.index(page(4)))] == server.outlinks(page(4))
    assert [names[target] for target in turned.row(names.index(page(4)))] == server.inlinks(page(4))
    export_text(server, tmp_path / "links.tsv")
    lines = (tmp_path / "links.tsv").read_text().splitlines()
    assert len(lines) == rows.arcs
    assert f"{page(4)}\t{page(5)}" in lines


# --- over HTTP ---


@pytest.fixture
def http_server(crawl):
    with GraphHttpServer(crawl / "graph") as opened:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def ask(http_server, path):
    connection = http.client.HTTPConnection("127.0.0.1", http_server.server_port, timeout=20)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_answers_are_paged(http_server):
    seen, offset = [], 0
    while offset is not None:
        status, answer = ask(http_server, f"/inlinks?url={quote(page(0))}&limit=7&offset={offset}")
        assert (status, answer["total"]) == (200, 30)
        seen += answer["entries"]
        offset = answer.get("next")
    assert sorted(seen) == sorted(page(number) for number in range(30))


def test_every_question(http_server):
    url = quote(page(3))
    assert ask(http_server, f"/outlinks?url={url}")[1]["entries"] == [page(0), page(4)]
    assert ask(http_server, f"/degree?url={url}")[1] == {"out": 2, "in": 1}
    assert ask(http_server, f"/anchors?url={url}")[1]["entries"] == [
        {"source": page(2), "text": "to 3", "rel": ""}
    ]
    near = ask(http_server, f"/neighbourhood?url={url}&depth=2&limit=3")[1]
    assert len(near["entries"]) == 3 and near["next"] == 3
    assert ask(http_server, f"/path?from={url}&to={quote(page(5))}")[1]["path"] == [page(3), page(4), page(5)]
    assert ask(http_server, "/top?limit=1")[1]["entries"] == [{"url": page(0), "value": 30.0}]
    assert ask(http_server, "/outlinks?url=h0.example&level=host")[1]["total"] == 2
    assert ask(http_server, "/stats")[1]["levels"]["url"]["nodes"] == 32


@pytest.mark.parametrize(("path", "entries"), [
    (f"/inlinks?url={quote(page(0))}", 30), (f"/anchors?url={quote(page(0))}", 30), ("/top?by=out", 32),
    (f"/neighbourhood?url={quote(page(9))}&depth=4", 8), ("/inlinks?url=h0.example&level=host", 3),
    ("/top?level=domain", 3),
])  # fmt: skip
def test_pages_make_up_the_whole(http_server, path, entries):
    seen, offset = [], 0
    while offset is not None:
        status, answer = ask(http_server, f"{path}&limit=4&offset={offset}")
        assert status == 200, answer
        assert len(answer["entries"]) <= 4
        seen += answer["entries"]
        offset = answer.get("next")
    assert seen == ask(http_server, f"{path}&limit=1000")[1]["entries"]
    assert len(seen) == entries


@pytest.mark.parametrize(("path", "status", "hint"), [
    ("/neighbourhood?url=x&offset=200001", 400, "0 to 200000"),
    ("/neighbourhood?url=x&depth=5", 400, "0 to 4"),
    ("/top?offset=10000000000000", 400, "0 to 10000"),
    ("/path?from=x&to=x", 404, "no url"),
    ("/degree?url=x&level=planet", 400, "give one of"),
    ("/outlinks?url=http://x.example/", 404, "no url"),
    ("/outlinks", 400, "url="),
    ("/outlinks?url=x&level=planet", 400, "give one of"),
    ("/inlinks?url=x&limit=99999", 400, "0 to 1000"),
    ("/neighbourhood?url=x&depth=-1", 400, "whole number"),
    ("/nothing", 404, "ask for one of"),
    ("/top?by=rank", 500, "graph rank"),
    ("/outlinks?url=" + "x" * 20_000, 414, "at most"),
])  # fmt: skip
def test_errors_tell_what_to_do(http_server, path, status, hint):
    got, answer = ask(http_server, path)
    assert got == status
    assert hint in answer["error"]


def sent(http_server, data):
    """The status, the headers and the body that raw bytes are answered by."""
    with socket.create_connection(("127.0.0.1", http_server.server_port), timeout=20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    return int(line.split()[1]), dict(header.split(": ", 1) for header in headers), body


@pytest.mark.parametrize(("data", "status"), [
    (b"POST /stats HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405), (b"DELETE / HTTP/1.1\r\n\r\n", 405),
    (b"BREW / HTTP/1.1\r\n\r\n", 501), (b"no http at all\r\n\r\n", 400), (b"GET / HTTP/9.0\r\n\r\n", 505),
    (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431), (b"GET /" + b"a" * 70_000 + b"\r\n\r\n", 414),
])  # fmt: skip
def test_what_is_no_question_is_told_in_json(http_server, data, status):
    got, headers, body = sent(http_server, data)
    assert got == status
    assert json.loads(body)["error"]
    assert headers["Connection"] == "close"
    assert ("Allow" in headers) == (status == 405)


def test_head_tells_the_length_alone(http_server):
    path = f"/outlinks?url={quote(page(3))}".encode()
    _, head, nothing = sent(http_server, b"HEAD " + path + b" HTTP/1.1\r\nConnection: close\r\n\r\n")
    _, _, body = sent(http_server, b"GET " + path + b" HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert (nothing, int(head["Content-Length"])) == (b"", len(body))


def test_connections_that_say_nothing_are_bounded(crawl, monkeypatch):
    monkeypatch.setattr(serve, "CONNECTIONS", 3)
    with GraphHttpServer(crawl) as opened, ExitStack() as idle:
        thread = threading.Thread(target=opened.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        address = ("127.0.0.1", opened.server_port)
        held = [idle.enter_context(socket.create_connection(address, timeout=20)) for _ in range(3)]
        for connection in held:  # until it is answered, it may not have been counted yet
            connection.sendall(b"GET /stats HTTP/1.1\r\n\r\n")
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        with socket.create_connection(address, timeout=20) as refused:
            assert refused.recv(1) == b""
        held[0].close()
        while True:
            with suppress(ConnectionError, http.client.RemoteDisconnected):
                assert ask(opened, "/stats")[0] == 200
                break
        opened.shutdown()
        thread.join()


@pytest.mark.parametrize("place", ["", "graph"])
def test_a_new_build_is_taken_up(tmp_path, place):
    edges, graph = tmp_path / "edges", tmp_path / "graph"
    write_chain(edges)
    build(edges, graph, now=1.0)
    now = [0.0]
    with GraphHttpServer(tmp_path / place) as opened:
        opened.questions._clock = lambda: now[0]
        opened.questions._looked = 0.0
        assert opened.questions.ask("/stats", {})["built_at"] == 1.0
        build(edges, graph, now=2.0)
        assert opened.questions.ask("/stats", {})["built_at"] == 1.0
        now[0] = 5.0
        assert opened.questions.ask("/stats", {})["built_at"] == 2.0


# --- as a command ---


def scrapy(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "scrapy", "graph", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}
    )


def test_the_command_builds_asks_and_ranks(tmp_path):
    write_chain(tmp_path / "edges")
    built = scrapy("build", "--dir", tmp_path, "--json")
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout)["levels"]["url"]["links"] == 60
    out = scrapy("outlinks", page(3), "--dir", tmp_path)
    assert (out.returncode, out.stdout.split()) == (0, [page(0), page(4)])
    assert json.loads(scrapy("degree", page(0), "--dir", tmp_path, "--json").stdout) == {"out": 2, "in": 30}
    ranked = scrapy("rank", "--dir", tmp_path, "--feed-frontier", "--json")
    assert ranked.returncode == 0, ranked.stderr
    assert all(json.loads(line)["converged"] for line in ranked.stdout.splitlines())
    assert (tmp_path / "host-ranks.tsv").read_text().count("\t") >= 1
    top = scrapy("top", "--by", "rank", "--dir", tmp_path, "--limit", 1, "--json")
    assert json.loads(top.stdout)["url"] == page(0)
    stats = scrapy("stats", "--dir", tmp_path, "--components")
    assert "strongly connected" in stats.stdout, stats.stderr
    stats = scrapy("stats", "--dir", tmp_path, "--components", "--level", "host", "--json")
    assert json.loads(stats.stdout)["components"] == 1
    checked = scrapy("check", "--dir", tmp_path, "--json")
    report = json.loads(checked.stdout)
    assert (checked.returncode, report["sound"], report["anchors"]) == (0, True, 60), checked.stderr
    links = tmp_path / "graph" / "current" / "url-in"
    links.write_bytes(links.read_bytes()[:-9] + bytes(9))
    checked = scrapy("check", "--dir", tmp_path)
    assert checked.returncode == 1 and "NOT sound" in checked.stdout and "url-in" in checked.stdout
    near = scrapy("neighbourhood", "h1.example", "--level", "host", "--dir", tmp_path, "--depth", 2, "--json")
    assert [json.loads(line)["distance"] for line in near.stdout.splitlines()] == [1, 1]


def test_the_command_fails_with_a_remedy(crawl, tmp_path):
    for arguments, hint in (
        (("outlinks", "http://x.example/", "--dir", crawl), "no url"),
        (("path", page(0), page(40), "--dir", crawl), "no way"),
        (("build", "--dir", tmp_path), "no edge logs"),
        (("stats", "--dir", tmp_path), "graph build"),
        (("top", "--dir", tmp_path / "missing"), "--dir"),
    ):
        run = scrapy(*arguments)
        assert run.returncode == 1, run.stdout
        assert hint in run.stderr
    assert scrapy("export", "--dir", crawl).returncode == 2  # --to is missing
    assert scrapy().returncode == 2


@pytest.mark.parametrize("wrong", [
    ("outlinks", "x", "--limit", "-2"), ("neighbourhood", "x", "--depth", "-1"), ("build", "--memory", "-5"),
    ("rank", "--damping", "1.5"), ("rank", "--tolerance", "none"), ("top", "--level", "planet"),
])  # fmt: skip
def test_arguments_out_of_range_are_refused(wrong):
    parser = argparse.ArgumentParser()
    add_arguments(wrong[0], parser)
    with pytest.raises(SystemExit):
        parser.parse_args(wrong[1:])


def test_each_action_has_help():
    run = scrapy("neighbourhood", "--help")
    assert run.returncode == 0
    assert "--depth" in run.stdout and "--json" in run.stdout
