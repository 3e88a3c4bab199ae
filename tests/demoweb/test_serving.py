"""The world over HTTP and DNS is the world that its truth tells of."""

import json
from collections import Counter

import pytest
from hostile_client import crawl as hostile_crawl
from protego import Protego

FIELDS = [
    "host", "address", "connection", "opened", "start", "end", "method", "url", "status", "bytes",
    "retry_after", "crawl_delay", "forbidden",
]  # fmt: skip


def read_log(tmp_path):
    return [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]


def crawl(visitor):
    """Statuses of all URLs reached, as a crawl that obeys robots.txt and retries would see them."""
    robots, statuses, queue = {}, {}, list(visitor.web.seeds)
    forbidden, bodies = set(), set()
    for url in queue:
        origin = "/".join(url.split("/")[:3])
        if origin not in robots:
            response, body = visitor.get(origin + "/robots.txt")
            robots[origin] = Protego.parse(body.decode() if response.status == 200 else "")
        if not robots[origin].can_fetch(url, "demo"):
            forbidden.add(url)
            continue
        response, body = visitor.get(url)
        if response.status in (429, 503):
            assert int(response.getheader("Retry-After")) <= 1
            response, body = visitor.get(url)
        statuses[url] = response.status
        if body in bodies:
            continue
        bodies.add(body)
        known = set(queue)
        queue += [link for link in dict.fromkeys(visitor.links(url, response, body)) if link not in known]
    return statuses, forbidden


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_plain_crawl_finds_the_truth(serve, seed):
    visitor = serve(seed=seed, hosts=12, pages=150, nuisance="mild,retry,crawl_delay" if seed > 1 else "mild")
    statuses, forbidden = crawl(visitor)
    truth = visitor.web.truth()
    may = {url for family in truth.may for url in family.urls}
    assert set(statuses) - may == set(truth.must)
    assert set(statuses.values()) <= {200, 301, 302, 307, 308}
    assert forbidden
    assert forbidden <= set(truth.never)
    for family in truth.may:
        assert len(statuses.keys() & set(family.urls)) <= family.cap


@pytest.mark.parametrize("seed", [1, 2])
def test_a_crawl_of_the_hostile_web_finds_the_truth(serve, seed):
    client = serve.curl(seed=seed, hosts=20, pages=200, nuisance="all")
    truth = client.web.truth()
    statuses, forbidden = hostile_crawl(client, truth)
    assert set(truth.must) - set(statuses) == set()
    assert {statuses[url] for url in truth.must} <= {200, 301, 302, 307, 308}
    others = set(statuses) - set(truth.must)
    assert {url for url in others if not any(family.holds(url) for family in truth.may)} == set()
    assert set(statuses) & set(truth.never) == set()
    assert forbidden & set(truth.must) == set()
    for family in truth.may:
        assert sum(map(family.holds, statuses)) <= family.cap


def test_redirect_chains_have_at_most_three_hops_and_some_cross_hosts(serve):
    visitor = serve(hosts=8, pages=80, nuisance="redirects=0.9")
    hops = Counter()
    crossings = 0
    for url in [url for url in visitor.web.truth().must if "/go/" in url]:
        count = 0
        while location := visitor.get(url)[0].getheader("Location"):
            crossings += location.startswith("http") and not location.startswith(url[: url.index("/", 7)])
            url = location if location.startswith("http") else url[: url.index("/", 7)] + location
            count += 1
        hops[count] += 1
    assert set(hops) == {1, 2, 3}
    assert crossings


def test_a_refused_page_comes_with_the_second_attempt(serve, tmp_path):
    visitor = serve(hosts=2, pages=20, nuisance="retry=1")
    url = visitor.web.world.layout.url(0, 1)
    first, second = visitor.get(url)[0], visitor.get(url)[0]
    assert first.status in (429, 503)
    assert second.status == 200
    assert [line["retry_after"] for line in read_log(tmp_path)] == [int(first.getheader("Retry-After")), None]


def test_the_log_says_what_was_asked(serve, tmp_path):
    visitor = serve(hosts=3, pages=30, nuisance="robots=1,crawl_delay=1")
    world = visitor.web.world
    root, private = world.layout.url(0, 0), world.layout.origins[0] + "/private/0.html"
    body = visitor.get(root)[1]
    visitor.get(private)
    visitor.get(root, "HEAD")
    visitor.get(world.layout.url(1, 0))
    visitor.close()
    assert visitor.web.stop() == 0
    lines = read_log(tmp_path)
    requests = [line for line in lines if "closed" not in line]
    assert [list(line) for line in requests] == [FIELDS] * 4
    assert [line["url"] for line in requests] == [root, private, root, world.layout.url(1, 0)]
    assert [line["method"] for line in requests] == ["GET", "GET", "HEAD", "GET"]
    assert [line["forbidden"] for line in requests] == [False, True, False, False]
    assert [line["address"] for line in requests[2:]] == world.addresses()[:2]
    assert requests[0]["bytes"] == len(body)
    assert requests[0]["crawl_delay"] == world.crawl_delay(0)
    assert requests[0]["host"] == world.layout.names[0]
    assert all(line["opened"] <= line["start"] <= line["end"] for line in requests)
    connections = [line["connection"] for line in requests]
    assert len(set(connections[:3])) == 1
    assert len(set(connections)) == 2
    assert {line["closed"] for line in lines if "closed" in line} == set(connections)


def test_a_slow_host_takes_its_time_and_answers_pipelined_requests_in_order(serve, tmp_path):
    visitor = serve(hosts=1, pages=5, nuisance="slow=1")
    layout = visitor.web.world.layout
    connection = visitor.connection(layout.names[0])
    connection.connect()
    heads = [f"GET {layout.path(0, n)} HTTP/1.1\r\nHost: {layout.names[0]}\r\n" for n in (1, 2)]
    connection.sock.sendall(f"{heads[0]}\r\n{heads[1]}Connection: close\r\n\r\n".encode())
    answers = b"".join(iter(lambda: connection.sock.recv(65536), b""))
    first, second = (answers.find(visitor.web.world.body(0, n)) for n in (1, 2))
    assert 0 < first < second
    assert all(line["end"] - line["start"] >= 0.019 for line in read_log(tmp_path) if "url" in line)


def test_dns_knows_its_hosts_and_no_others(serve):
    visitor = serve(hosts=3, pages=30)
    server, layout = visitor.web.dns_server, visitor.web.world.layout
    assert [serve.ask(server, name) for name in layout.names] == [
        (0, [address]) for address in visitor.web.world.addresses()
    ]
    assert serve.ask(server, layout.names[0].upper()) == (0, visitor.web.world.addresses()[:1])
    assert serve.ask(server, layout.names[0], kind=28) == (0, [])
    assert serve.ask(server, "www.elsewhere.example") == (3, [])
