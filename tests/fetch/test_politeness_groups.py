"""One connection and one clock for each politeness group, seen from the server's side."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from crawls.site import html, make_crawler
from scrapy import Request
from scrapy.utils.test import get_crawler

from crawlerproj.fetch.curl_handler import CurlDownloadHandler
from crawlerproj.spiders.web import WebSpider

from .servers import answering, dns_server, on_loop, page, raw_server
from .tls import certificate, server_context


class Place:
    """Serves every host; notes for each answer who was asked when, and how many connections were open."""

    def __init__(self) -> None:
        self.open = 0
        self.most_open = 0
        self.visits: list[tuple[str, float, float]] = []  # host, request read, answer written

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(5):
            await asyncio.sleep(0)  # an end that came before is seen to first
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                came = monotonic()
                links = "".join(f'<a href="http://{name}:{self.port}/{n}">x</a>'
                                for name in self.names for n in range(3))  # fmt: skip
                writer.write(html(links))
                self.visits.append((head.partition("Host: ")[2].partition(":")[0], came, monotonic()))
                await writer.drain()
        finally:
            self.open -= 1

    names: list[str]
    port: int


async def crawl(directory: Path, names: list[str], **settings: Any) -> Place:
    place = Place()
    place.names = names
    table = {name: ["127.0.0.1"] for name in names}
    async with dns_server(table) as (_, dns), raw_server(place) as place.port:
        crawler = make_crawler(
            WebSpider, directory, DNS_SERVERS=[dns], CONTENT_SEEN="off", URL_TRAPS=False,
            DELAY_MINIMUM=0.05, DOWNLOAD_TIMEOUT=20, **settings,
        )  # fmt: skip
        await crawler.crawl_async(seeds=",".join(f"http://{name}:{place.port}/" for name in names))
        assert crawler.stats.get_value("finish_reason") == "finished"
    # A connection that gave way to another host's is no failure of the page that would have used it again.
    assert crawler.stats.get_value("frontier/retry") is None
    # Of each host: robots.txt, the seed and three pages.
    assert sorted(host for host, _, _ in place.visits) == sorted(names * 5)
    return place


def gaps(place: Place) -> Iterator[float]:
    for (_, _, before), (_, came, _) in zip(place.visits, place.visits[1:], strict=False):
        yield came - before


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("domain", ["a.one.test", "b.one.test", "one.test"]),
        ("file", ["a.test", "b.test", "c.test"]),
        ("ip", ["a.test", "b.test", "c.test"]),
    ],
)
@on_loop
async def test_hosts_of_a_group_share_one_connection_and_one_clock(
    tmp_path: Path, group: str, names: list[str]
) -> None:
    if group == "file":
        named = tmp_path / "groups"
        named.write_text("".join(f"ours\t{name}\n" for name in names))
        group = str(named)
    place = await crawl(tmp_path / "crawl", names, POLITENESS_GROUP=group)
    assert place.most_open == 1
    # The server stamps after it has read and before it has written: never less than the crawler waited.
    assert min(gaps(place)) >= 0.049


@on_loop
async def test_the_two_schemes_of_a_host_do_not_keep_a_connection_each() -> None:
    ended = asyncio.Event()

    async def until_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(page())
        await reader.read()
        ended.set()

    crawler = get_crawler(settings_dict={"FETCH_PRIVATE_ADDRESSES": True})
    handlers = [CurlDownloadHandler.from_crawler(crawler) for _ in ("http", "https")]
    errand = SimpleNamespace(ticket=SimpleNamespace(host=b"group"))
    async with (
        raw_server(until_the_end) as plain,
        raw_server(answering(page()), server_context(certificate("127.0.0.1"))) as tls,
    ):
        origins = (f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{tls}")
        for handler, url in zip(handlers, origins, strict=True):
            assert not ended.is_set()
            await handler.download_request(Request(f"{url}/", meta={"frontier_ticket": errand}))
        await ended.wait()  # though nobody has closed the first handler
    for handler in handlers:
        await handler.close()
