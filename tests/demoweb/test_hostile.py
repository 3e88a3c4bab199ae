"""The nuisances over the wire: what a client meets."""

import json
import os
import signal
import socket
import time

import pycurl
import pytest

from crawlerproj.judge.rules import judge
from crawlerproj.judge.visits import read_json_lines


def own(client, name):
    """The origins of the hosts that a nuisance has added."""
    layout = client.web.world.layout
    nuisance = next(n for n in client.web.world.nuisances if n.name == name)
    return [layout.origins[host] for host in nuisance.own]


def read_log(tmp_path):
    return [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]


def wait_for_log(tmp_path, count):
    """The server notices the end of a connection a moment after the client."""
    deadline = time.monotonic() + 20
    while len(lines := read_log(tmp_path)) < count:
        assert time.monotonic() < deadline
    return lines


def test_good_certificates_are_verified_and_bad_ones_are_not(serve, tmp_path):
    client = serve.curl(hosts=4, pages=12, nuisance="tls=1,tls_bad=1")
    authority = tmp_path / "authority.pem"
    authority.write_bytes(client.web.authority_pem())
    for host in range(4):
        url = client.web.world.layout.url(host, 0)
        assert url.startswith("https://")
        got = client.get(url, verify=authority)
        assert (got.error, got.status, got.body) == (0, 200, client.web.world.body(host, 0))
    bad = own(client, "tls_bad")
    assert len(bad) == 4
    for origin in bad:
        assert client.get(f"{origin}/", verify=authority).error == pycurl.E_PEER_FAILED_VERIFICATION
        assert client.get(f"{origin}/").status == 200


def test_a_connection_that_asks_for_nothing_is_in_the_log(serve, tmp_path):
    client = serve.curl(hosts=2, pages=6, nuisance="none")
    name = client.web.world.layout.names[0]
    socket.create_connection((client.address(name), client.web.http_port)).close()
    (line,) = wait_for_log(tmp_path, 1)
    assert list(line) == ["closed", "at", "since", "opened", "host", "address"]
    assert (line["host"], line["address"]) == (name, client.address(name))


def test_a_close_that_a_paused_server_notices_late_says_since_when_it_may_be(serve, tmp_path):
    client = serve.curl(hosts=2, pages=6, nuisance="none")
    layout, server = client.web.world.layout, client.web.process.pid
    with socket.create_connection((client.address(layout.names[0]), client.web.http_port)) as connection:
        connection.sendall(f"HEAD / HTTP/1.1\r\nHost: {layout.names[0]}\r\n\r\n".encode())
        assert connection.recv(100)
        os.kill(server, signal.SIGSTOP)
        os.waitpid(server, os.WUNTRACED)
    closed = time.time()
    os.kill(server, signal.SIGCONT)
    asked, line = wait_for_log(tmp_path, 2)
    assert line["closed"] == asked["connection"]
    assert asked["opened"] <= line["since"] <= closed <= line["at"]


def test_a_request_whose_client_left_while_the_server_was_paused_ended_when_it_left(serve, tmp_path):
    client = serve.curl(hosts=2, pages=6, nuisance="none")
    layout, server = client.web.world.layout, client.web.process.pid
    with socket.create_connection((client.address(layout.names[0]), client.web.http_port)) as connection:
        connection.sendall(f"HEAD / HTTP/1.1\r\nHost: {layout.names[0]}\r\n\r\n".encode())
        assert connection.recv(9) == b"HTTP/1.1 "  # accepted before the pause
        os.kill(server, signal.SIGSTOP)
        os.waitpid(server, os.WUNTRACED)
        while connection.recv(65536)[-4:] != b"\r\n\r\n":
            pass
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {layout.names[0]}\r\n\r\n".encode())
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    left = time.time()
    os.kill(server, signal.SIGCONT)
    _, asked, line = wait_for_log(tmp_path, 3)
    assert asked["method"] == "GET"
    assert line["since"] <= left <= line["at"] == asked["end"]


@pytest.mark.parametrize(
    ("name", "errors", "timeout"),
    [
        ("refusing", {pycurl.E_COULDNT_CONNECT}, 20),
        ("hanging", {pycurl.E_OPERATION_TIMEDOUT}, 0.2),
        ("resetting", {pycurl.E_RECV_ERROR}, 20),
    ],
)
def test_bad_hosts_fail_in_their_way(serve, name, errors, timeout):
    client = serve.curl(hosts=4, pages=12, nuisance=f"{name}=1")
    assert {client.get(f"{origin}/", timeout=timeout).error for origin in own(client, name)} == errors


def test_names_fail_in_every_way(serve):
    client = serve.curl(hosts=4, pages=12, nuisance="dns_failing=1")
    names = [origin.split("/")[2].partition(":")[0] for origin in own(client, "dns_failing")]
    answers = []
    for name in names:
        try:
            answers.append(serve.ask(client.web.dns_server, name, timeout=0.2))
        except TimeoutError:
            answers.append("lost")
    assert answers == [(3, []), (2, []), "lost", (0, [])]


def test_a_lossy_name_answers_the_second_question(serve):
    client = serve.curl(hosts=1, pages=3, nuisance="dns_lossy=1")
    name, server = client.web.world.layout.names[0], client.web.dns_server
    with pytest.raises(TimeoutError):
        serve.ask(server, name, timeout=0.1)
    assert serve.ask(server, name)[1] == client.web.world.addresses()


def test_a_changing_name_serves_at_both_its_addresses(serve):
    client = serve.curl(hosts=2, pages=6, nuisance="dns_changing=1")
    url, name = client.web.world.layout.url(0, 0), client.web.world.layout.names[0]
    found = [serve.ask(client.web.dns_server, name)[1][0] for _ in range(4)]
    assert found[0] == found[2] != found[1] == found[3]
    for address in found[:2]:
        client.addresses[name] = address
        assert client.get(url).status == 200


def test_a_slow_name_takes_its_time(serve):
    client = serve.curl(hosts=1, pages=3, nuisance="dns_slow=1")
    begun = time.monotonic()
    assert serve.ask(client.web.dns_server, client.web.world.layout.names[0])[0] == 0
    assert time.monotonic() - begun >= 0.19


def test_an_endless_page_ends_with_the_patience_of_the_client(serve, tmp_path):
    client = serve.curl(hosts=1, pages=3, nuisance="endless_body=1")
    url = own(client, "endless_body")[0] + "/story.html"
    got = client.get(url, timeout=10)
    assert got.error == pycurl.E_WRITE_ERROR
    assert len(got.body) > 3_000_000
    line = next(line for line in wait_for_log(tmp_path, 2) if "url" in line)
    assert line["url"] == url
    assert line["bytes"] >= 3_000_000
    assert line["end"] > line["start"]


def test_a_slow_page_comes_whole_and_another_never_ends(serve):
    client = serve.curl(hosts=1, pages=3, nuisance="slow_body=1")
    origin = own(client, "slow_body")[0]
    whole = client.get(f"{origin}/second.html", timeout=10)
    assert (whole.error, whole.status, whole.body.count(b"drop by drop")) == (0, 200, 20)
    never = client.get(f"{origin}/for-ever.html", timeout=0.3)
    assert (never.error, never.status) == (pycurl.E_OPERATION_TIMEDOUT, 200)


def test_a_page_that_breaks_comes_with_the_third_attempt_at_last(serve):
    client = serve.curl(hosts=2, pages=60, nuisance="resets=1")
    layout = client.web.world.layout
    attempts = []
    for page in range(1, layout.sizes[0]):
        errors = []
        while not errors or errors[-1]:
            errors.append(client.get(layout.url(0, page)).error)
        attempts.append(len(errors))
    assert set(attempts) == {2, 3}


def test_packed_and_chunked_pages_are_the_same_pages(serve):
    client = serve.curl(hosts=2, pages=20, nuisance="compression=1,chunked=1")
    url, body = client.web.world.layout.url(0, 1), client.web.world.body(0, 1)
    packed = client.get(url, "Accept-Encoding: gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["transfer-encoding"] == "chunked"
    assert len(packed.body) < len(body) / 2
    assert client.text(packed) == body
    assert client.get(url).body == body


def test_a_page_that_has_not_changed_is_not_sent_again(serve):
    client = serve.curl(hosts=2, pages=200, nuisance="changing=1")
    labels = client.web.truth().labels
    url = next(
        url for url, kind in labels["validators"].items()
        if kind == "right" and labels["period_seconds"][url] == 604_800
    )  # fmt: skip
    first = client.get(url)
    again = client.get(url, f"If-None-Match: {first.headers['etag']}")
    assert (first.status, again.status, again.body) == (200, 304, b"")
    assert client.get(url, f"If-Modified-Since: {first.headers['last-modified']}").status == 304
    assert client.get(url, 'If-None-Match: "other"').status == 200


@pytest.mark.parametrize(
    "name",
    ["wrong_length", "bad_chunks", "bad_gzip", "many_headers", "bad_status", "cut_bodies", "broken_html"],
)
def test_pages_that_misbehave_leave_the_server_well(serve, name):
    client = serve.curl(hosts=2, pages=40, nuisance=f"{name}=0.5")
    urls = client.web.truth().may[0].urls
    results = {client.get(url).error for url in urls}
    if name in ("wrong_length", "bad_chunks", "bad_status", "cut_bodies"):
        assert results - {0}
    assert client.get(client.web.seeds[0]).status == 200


def test_the_judge_reads_the_log_and_finds_a_hasty_client(serve, tmp_path):
    client = serve.curl(hosts=2, pages=10, nuisance="robots=1,crawl_delay=1")
    layout = client.web.world.layout
    for path in ("/robots.txt", "/", "/private/0.html"):
        client.get(layout.origins[0] + path)
    client.get(layout.url(1, 0))
    client.curl.close()
    client.web.stop()
    record = read_json_lines((tmp_path / "access.log").open())
    kinds = [found.kind for found in judge(record).violations]
    assert sorted(kinds) == ["forbidden", "gap", "gap", "robots_missing"]
    assert {"forbidden", "robots_missing"} <= {v.kind for v in judge(record, 0, 0).violations}
