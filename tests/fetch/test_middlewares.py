import asyncio
import itertools
from collections.abc import AsyncIterator
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
import scrapy
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.test import get_crawler

from crawlerproj.fetch.middlewares import agent_token

from .servers import dns_server, on_loop, page, raw_server

HERE = "crawlerproj.fetch.middlewares"
SETTINGS: dict[str, Any] = {
    "DOWNLOADER_MIDDLEWARES": {
        f"{HERE}.RobotsCacheMiddleware": 100,
        f"{HERE}.AdaptiveDelayMiddleware": 560,
        f"{HERE}.DnsCacheMiddleware": 900,
    },
    "DOWNLOAD_HANDLERS": {"http": "crawlerproj.fetch.curl_handler.CurlDownloadHandler"},
    "FETCH_PRIVATE_ADDRESSES": True,
    "USER_AGENT": "ourbot/1.0 (+http://contact.test)",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "DELAY_MINIMUM": 0.05,
    "DELAY_FACTOR": 0,
    "BACKOFF_BASE": 0.1,
    "DNS_ATTEMPTS": 1,
}


class Asking(scrapy.Spider):
    name = "asking"

    async def start(self) -> AsyncIterator[Request]:
        for url, meta in self.asked:
            yield Request(url, meta=dict(meta), errback=self.failed, dont_filter=True)

    def parse(self, response: Response) -> None:
        self.got[response.url] = response.status

    def failed(self, failure: Any) -> None:
        self.got[failure.request.url] = type(failure.value).__name__


async def crawl(asked: list[tuple[str, dict[str, Any]]], **settings: Any) -> tuple[dict[str, Any], Any]:
    got: dict[str, Any] = {}
    crawler = get_crawler(Asking, SETTINGS | settings)
    await maybe_deferred_to_future(crawler.crawl(asked=asked, got=got))
    return got, crawler.stats


class Site:
    """A web server that notes when each request came and when its answer had been sent."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = {f"/{name.replace('_', '.')}": answer for name, answer in answers.items()}
        self.log: list[tuple[str, str, float, float]] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            came = monotonic()
            path = head.split()[1]
            host = head.partition("Host: ")[2].split("\r\n")[0].partition(":")[0]
            writer.write(self.answers.get(path, page()))
            await writer.drain()
            self.log.append((host, path, came, monotonic()))

    def gaps(self, host: str) -> list[float]:
        ours = [(came, left) for name, _, came, left in self.log if name == host]
        return [second[0] - first[1] for first, second in itertools.pairwise(ours)]


NAMES = {f"{name}.test": ["127.0.0.1"] for name in "abc"}
ROBOTS = page(
    b"User-agent: ourbot\nDisallow: /secret\nCrawl-delay: 0.2\n", "200 OK", "Content-Type: text/plain"
)


@on_loop
async def test_rules_are_fetched_once_obeyed_and_their_delay_kept() -> None:
    site = Site(robots_txt=ROBOTS)
    async with dns_server(NAMES) as (server, dns), raw_server(site) as port:
        urls = [f"http://{host}.test:{port}/{path}" for host in "ab" for path in ("x", "secret/y", "z")]
        got, stats = await crawl([(url, {}) for url in urls], DNS_SERVERS=[dns])
        assert {url.partition("test")[2].partition("/")[2]: got[url] for url in urls} == {
            "x": 200,
            "secret/y": "IgnoreRequest",
            "z": 200,
        }
        paths = [(host, path) for host, path, _, _ in site.log]
        assert sorted(paths) == sorted(
            (f"{host}.test", path) for host in "ab" for path in ("/robots.txt", "/x", "/z")
        )
        assert [paths.index((f"{h}.test", "/robots.txt")) < paths.index((f"{h}.test", "/x")) for h in "ab"]
        # Robots.txt itself counts as a contact; the crawl-delay holds from the first page on.
        for host in ("a.test", "b.test"):
            first, second = site.gaps(host)
            assert first >= 0.049 and second >= 0.199
        assert stats.get_value("robots/forbidden") == 2
        assert stats.get_value("dns/misses") == 2
        assert sorted(set(server.asked)) == [("a.test", 1), ("b.test", 1)]


@on_loop
async def test_a_host_that_is_busy_or_failing_is_left_in_peace_longer() -> None:
    site = Site(
        robots_txt=page(b"", "404 Not Found"),
        busy=page(b"", "503 Busy", "Retry-After: 1"),
        broken=b"rubbish\r\n\r\n",
    )
    async with dns_server(NAMES) as (_, dns), raw_server(site) as port:
        urls = [f"http://{host}.test:{port}/{path}" for host in "ab" for path in ("busy", "x") if host == "a"]
        urls += [f"http://b.test:{port}/broken", f"http://b.test:{port}/x"]
        got, _ = await crawl([(url, {}) for url in urls], DNS_SERVERS=[dns], RETRY_ENABLED=False)
        assert got[urls[1]] == got[urls[3]] == 200
        assert site.gaps("a.test")[1] >= 0.99
        assert site.gaps("b.test")[1] >= 0.099


@on_loop
async def test_unreachable_rules_forbid_and_missing_names_fail() -> None:
    site = Site(robots_txt=page(b"", "500 Oops"))
    async with dns_server(NAMES) as (_, dns), raw_server(site) as port:
        urls = [f"http://a.test:{port}/x", f"http://missing.test:{port}/x"]
        got, stats = await crawl([(url, {}) for url in urls], DNS_SERVERS=[dns], RETRY_ENABLED=False)
        assert got == dict.fromkeys(urls, "IgnoreRequest")
        assert stats.get_value("robots/unreachable") == 2
        got, _ = await crawl(
            [(urls[1], {"dont_obey_robotstxt": True})], DNS_SERVERS=[dns], RETRY_ENABLED=False
        )
        assert got == {urls[1]: "CannotResolveHostError"}


@on_loop
async def test_rules_may_lie_behind_a_redirect_to_another_host() -> None:
    async with dns_server(NAMES) as (_, dns):
        target = Site(rules=ROBOTS)
        async with raw_server(target) as there:
            moved = page(b"", "301 Moved", f"Location: http://b.test:{there}/rules")
            async with raw_server(Site(robots_txt=moved)) as port:
                urls = [f"http://a.test:{port}/{path}" for path in ("x", "secret")]
                got, _ = await crawl([(url, {}) for url in urls], DNS_SERVERS=[dns])
                assert list(got.values()) in ([200, "IgnoreRequest"], ["IgnoreRequest", 200])
                assert [path for _, path, _, _ in target.log] == ["/rules"]


@on_loop
async def test_a_request_with_a_ticket_is_left_alone() -> None:
    site = Site(robots_txt=ROBOTS)
    async with dns_server(NAMES) as (_, dns), raw_server(site) as port:
        errands = [SimpleNamespace(ticket=SimpleNamespace(host=n)) for n in range(4)]
        asked = [(f"http://c.test:{port}/secret{n}", {"frontier_ticket": e}) for n, e in enumerate(errands)]
        got, stats = await crawl(asked, DNS_SERVERS=[dns], DELAY_MINIMUM=60)
        assert list(got.values()) == [200] * 4
        assert "/robots.txt" not in [path for _, path, _, _ in site.log]
        assert stats.get_value("robots/fetched") is None


@pytest.mark.parametrize(
    ("user_agent", "token"), [("ourbot/1.0 (+x)", "ourbot"), ("Our_Bot", "Our_Bot"), ("", "*")]
)
def test_the_name_in_robots_txt_is_the_product_token(user_agent: str, token: str) -> None:
    assert agent_token(user_agent) == token
