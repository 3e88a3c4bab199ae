"""What a whole crawl keeps of Scrapy's own parts, and what it shows of itself."""

import gzip
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd
from crawls.site import html, make_crawler, serving
from scrapy import Request, Spider, signals
from scrapy.downloadermiddlewares import cookies
from scrapy.exceptions import NotSupported
from scrapy.http import Response
from tldextract import TLDExtract

from crawlerproj import __version__
from crawlerproj import settings as project_settings
from crawlerproj.assembly import Crawl
from crawlerproj.spiders.web import WebSpider

from .servers import Conversation, answering, dns_server, on_loop, page, raw_server

SCRAPYS = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
ROBOTS = b"User-agent: *\nDisallow: /no\nSitemap: /s.xml"
PAGES = {
    "/": html("<a href=/one>1</a><a href=/moved>2</a>"), "/one": html("one"),
    "/moved": page(b"", "301 Moved", "Location: /target"), "/target": html("target"),
    "/robots.txt": page(ROBOTS, "200 OK", "Content-Type: text/plain"),
}  # fmt: skip


class Asking(Spider):
    """Asks for the URLs given, one after the other, and keeps the answers."""

    name = "asking"
    urls: list[str]
    headers: dict[str, str] = {}

    async def start(self) -> AsyncIterator[Request]:
        self.got: dict[str, Any] = {}
        yield self.ask(0)

    def ask(self, number: int) -> Request:
        return Request(self.urls[number], headers=self.headers, cb_kwargs={"number": number},
                       errback=self.failed)  # fmt: skip

    def parse(self, response: Response, number: int) -> Any:
        self.got[response.url] = response
        if number + 1 < len(self.urls):
            yield self.ask(number + 1)

    def failed(self, failure: Any) -> None:
        self.got[failure.request.url] = failure.value


async def ask(directory: Path, *urls: str, headers: dict[str, str] | None = None, **settings: Any) -> Asking:
    crawler = make_crawler(Asking, directory, **{"DOWNLOAD_TIMEOUT": 20, **settings})
    await crawler.crawl_async(urls=list(urls), headers=headers or {})
    assert isinstance(crawler.spider, Asking)
    return crawler.spider


def noting(heads: list[str], *fields: str) -> Conversation:
    """Answers every request with a page of these fields; keeps the heads, robots.txt apart."""

    class Kept(list[bytes]):
        def append(self, head: bytes) -> None:
            if b" /robots.txt " not in head:
                heads.append(head.decode())

    return answering(page(b"<p>ok", "200 OK", "Content-Type: text/html", *fields), Kept())


@pytest.mark.parametrize("handler", ["ours", "Scrapy's"])
@on_loop
async def test_a_whole_crawl_with_either_handler(tmp_path: Path, handler: str) -> None:
    chosen = {} if handler == "ours" else {"DOWNLOAD_HANDLERS": {"http": SCRAPYS, "https": SCRAPYS}}
    async with serving(PAGES) as site:
        crawler = make_crawler(WebSpider, tmp_path, DOWNLOAD_TIMEOUT=20, **chosen)
        await crawler.crawl_async(seeds=site.origin + "/")
        assert crawler.stats.get_value("finish_reason") == "finished"
        assert sorted(site.asked) == ["/", "/moved", "/one", "/robots.txt", "/target"]


@on_loop
async def test_dns_is_told_in_the_stats_of_a_crawl_and_sitemaps_can_be_had(tmp_path: Path) -> None:
    async with serving(PAGES) as site, dns_server({"a.test": ["127.0.0.1"]}) as (_, dns):
        crawler = make_crawler(WebSpider, tmp_path, DNS_SERVERS=[dns], DOWNLOAD_TIMEOUT=20)
        found: list[str] = []
        origin = site.origin.replace("127.0.0.1", "a.test")

        def look() -> None:
            rules = Crawl.of(crawler).robots.get(origin)
            if rules is not None:
                found[:] = rules.sitemaps

        crawler.signals.connect(look, signals.response_received)
        crawler.signals.connect(look, signals.item_scraped)
        await crawler.crawl_async(seeds=origin + "/")
        stats = crawler.stats
        assert (stats.get_value("dns/misses"), stats.get_value("dns/failures")) == (1, 0)
        assert stats.get_value("dns/hits") >= 4
        assert stats.get_value("dns/joins") == 0
        assert stats.get_value("dns/latency") == stats.get_value("dns/seconds") > 0
        assert found == ["/s.xml"]


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstd.compress)]
)
@on_loop
async def test_compression_is_asked_for_and_undone(
    tmp_path: Path, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    seen: list[bytes] = []
    answer = page(pack(b"<p>words"), "200 OK", "Content-Type: text/html", f"Content-Encoding: {encoding}")
    async with raw_server(answering(answer, seen)) as port:
        url = f"http://127.0.0.1:{port}/"
        spider = await ask(tmp_path, url)
        assert spider.got[url].text == "<p>words"
        offered = seen[-1].partition(b"Accept-Encoding: ")[2].partition(b"\r\n")[0].decode()
        assert encoding in offered.split(", ")


@pytest.mark.parametrize("enabled", [False, True])
@on_loop
async def test_cookies_are_off_and_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    heads: list[str] = []
    # Scrapy's would fetch the list of public suffixes from the web when it is first asked.
    monkeypatch.setattr(cookies, "_split_domain", TLDExtract(suffix_list_urls=(), cache_dir=str(tmp_path)))
    async with raw_server(noting(heads, "Set-Cookie: a=b")) as port:
        chosen = {"COOKIES_ENABLED": True} if enabled else {}
        await ask(tmp_path, *(f"http://127.0.0.1:{port}/{n}" for n in range(2)), **chosen)
        # The answer to robots.txt set it already.
        assert ["Cookie: a=b" in head for head in heads] == [enabled, enabled]


@on_loop
async def test_conditional_headers_are_sent_and_304_is_an_answer(tmp_path: Path) -> None:
    seen: list[bytes] = []
    async with raw_server(answering(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n", seen)) as port:
        headers = {"If-None-Match": '"x"', "If-Modified-Since": "Thu, 01 Jan 2026 00:00:00 GMT"}
        url = f"http://127.0.0.1:{port}/"
        spider = await ask(tmp_path, url, headers=headers, HTTPERROR_ALLOWED_CODES=[304])
        assert spider.got[url].status == 304
        assert b'If-None-Match: "x"\r\nIf-Modified-Since: Thu, 01 Jan' in seen[-1]


@on_loop
async def test_a_request_is_tried_again_by_scrapys_middleware(tmp_path: Path) -> None:
    def sometimes(times: int) -> bytes:
        return html("at last") if times > 1 else html("", "500 Oops")

    async with serving({"/x": sometimes}) as site:
        spider = await ask(tmp_path, f"{site.origin}/x")
        assert spider.got[f"{site.origin}/x"].status == 200
        assert site.asked.count("/x") == 2


@on_loop
async def test_the_proxy_of_the_environment_carries_the_whole_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    async with raw_server(answering(page(b"<p>by proxy"), seen)) as port:
        monkeypatch.setenv("http_proxy", f"http://user:word@127.0.0.1:{port}")
        async with dns_server({}) as (_, dns):  # the proxy knows the name, we do not
            spider = await ask(tmp_path, "http://far.test/x", DNS_SERVERS=[dns])
    heads = [head.decode() for head in seen]
    assert spider.got["http://far.test/x"].text == "<p>by proxy"
    assert [head.split()[1] for head in heads] == ["http://far.test/robots.txt", "http://far.test/x"]
    assert all("Proxy-Authorization: Basic dXNlcjp3b3Jk" in head for head in heads)


@on_loop
async def test_only_http_and_https_are_fetched_unless_enabled(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("inside")
    url = secret.as_uri()
    assert isinstance((await ask(tmp_path / "1", url)).got[url], NotSupported)
    handlers = {"file": "scrapy.core.downloader.handlers.file.FileDownloadHandler"}
    assert (await ask(tmp_path / "2", url, DOWNLOAD_HANDLERS=handlers)).got[url].body == b"inside"
    # Another protocol does not take ours away, and with it the address guard.
    assert project_settings.DOWNLOAD_HANDLERS_BASE["http"] == project_settings.DOWNLOAD_HANDLERS["http"]


def test_scrapys_consoles_are_off() -> None:
    assert not project_settings.TELNETCONSOLE_ENABLED and not project_settings.REMOTE_CONTROL_ENABLED


@pytest.mark.parametrize(
    ("chosen", "agent", "warned"),
    [
        ({}, f"crawlerproj/{__version__}", True),
        ({"CRAWLER_CONTACT": "me@a.test"}, f"crawlerproj/{__version__} (+me@a.test)", False),
        ({"USER_AGENT": "mine/2 (+http://a.test)"}, "mine/2 (+http://a.test)", False),
        ({"USER_AGENT": "mine/2"}, "mine/2", True),
    ],
)
@on_loop
async def test_the_crawler_says_who_it_is_and_a_start_without_contact_warns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, chosen: dict[str, str], agent: str, warned: bool
) -> None:
    heads: list[str] = []
    with caplog.at_level(logging.WARNING):
        async with raw_server(noting(heads)) as port:
            await ask(tmp_path, f"http://127.0.0.1:{port}/", **chosen)
    assert f"User-Agent: {agent}\r\n" in heads[0]
    told = [record.getMessage() for record in caplog.records if "CRAWLER_CONTACT" in record.getMessage()]
    assert [("-s CRAWLER_CONTACT=" in text) for text in told] == [True] * warned
