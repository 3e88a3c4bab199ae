"""Pages past Scrapy's scraper: nobody can tell by which way a page has come."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.utils.defer import deferred_from_coro

from crawlerproj.assembly import Crawl
from crawlerproj.frontier.short_way import ShortWay
from crawlerproj.items import Page
from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving

PATHS = ("/page", "/missing", "/moved", "/dropped", "/pipeline-error", "/spider-error", "/retried")
WATCHED = ("response_received", "item_scraped", "item_dropped", "item_error", "spider_error", "spider_closed")


class Pipeline:
    """Drops one page, fails on another; awaits with all of them."""

    async def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and item.url.endswith("/dropped"):
            raise DropItem("not this one")
        if isinstance(item, Page) and item.url.endswith("/pipeline-error"):
            raise RuntimeError("a bug in a pipeline")
        return item


class Plain(WebSpider):
    def _page(self, response):
        if response.url.endswith("/spider-error"):
            raise RuntimeError("a bug in a spider")
        return super()._page(response)


class WithExtract(Plain):
    def extract(self, page):
        return ()


class Looking:
    """A spider middleware that wants to see every response."""

    def process_spider_input(self, response):
        return None


def routes() -> dict[str, Any]:
    links = "".join(f'<a href="{path}">x</a>' for path in PATHS)
    return {
        **dict.fromkeys(PATHS, html("a page")),
        "/": html(links),
        "/missing": html("none", "404 Not Found"),
        "/moved": html("", "301 Moved Permanently", "Location: /target"),
        "/target": html("the target"),
        "/retried": lambda times: html("later", "503 Service Unavailable") if times == 1 else html("now"),
    }


async def crawl_with(spider: type[WebSpider], directory: Any, **settings: Any) -> dict[str, Any]:
    """What can be seen of a crawl from outside."""
    seen: dict[str, list[str]] = {name: [] for name in WATCHED}
    async with serving(routes()) as site:
        crawler = make_crawler(spider, directory, MAX_ATTEMPTS=2, ITEM_PIPELINES={
            Pipeline: 100, "crawlerproj.documents.pipelines.DocumentStorePipeline": 300,
            "crawlerproj.documents.pipelines.FollowLinksPipeline": 400}, **settings)

        def watch(name: str) -> Any:
            def receiver(response: Any = None) -> None:
                seen[name].append(response.url.removeprefix(site.origin) if response is not None else "")
            return receiver

        receivers = {name: watch(name) for name in WATCHED}
        for name, receiver in receivers.items():
            crawler.signals.connect(receiver, getattr(signals, name))
        await crawler.crawl_async(seeds=site.origin + "/")
        told = {name: sorted(paths) for name, paths in seen.items()}
        stats = crawler.stats.get_stats()
        compared = ("spider_exceptions", "frontier/", "filter/")
        counted = {name: value for name, value in stats.items()
                   if name.endswith("_count") or name.startswith(compared)}
        outcomes = {name: n for name, n in Crawl.of(crawler).final_counts.items() if name.startswith("done")}
        return {"told": told, "counted": counted, "outcomes": outcomes, "asked": sorted(site.asked)}


@pytest.fixture
def short_ways(monkeypatch):
    """The URLs that went the short way."""
    went: list[str] = []
    go = ShortWay.go

    async def watched(self, request, response):
        went.append(request.url)
        return await go(self, request, response)

    monkeypatch.setattr(ShortWay, "go", watched)
    return went


def test_signals_counts_and_outcomes_are_those_of_the_long_way(tmp_path, short_ways):
    async def run() -> None:
        short = await crawl_with(Plain, tmp_path / "short")
        assert len(short_ways) == len(PATHS) + 3  # with the seed, the target and the second attempt
        long = await crawl_with(WithExtract, tmp_path / "long")
        assert len(short_ways) == len(PATHS) + 3
        assert short == long
        assert short["told"]["spider_error"] == ["/spider-error"]
        assert short["outcomes"]["done/item_error"] == 1

    return deferred_from_coro(run())


@pytest.mark.parametrize("reason", ["a spider middleware", "a listener for scheduled requests"])
def test_whoever_would_miss_something_keeps_the_long_way(tmp_path, short_ways, reason):
    class Listening:
        def __init__(self, crawler):
            crawler.signals.connect(self.scheduled, signals.request_scheduled)

        @classmethod
        def from_crawler(cls, crawler):
            return cls(crawler)

        def scheduled(self, request: Request) -> None:
            raise AssertionError(f"{request} was never scheduled")

    more = ({"SPIDER_MIDDLEWARES": {Looking: 10}} if reason == "a spider middleware" else
            {"EXTENSIONS": {Listening: 0}})

    async def run() -> None:
        seen = await crawl_with(Plain, tmp_path, **more)
        assert short_ways == []
        assert seen["outcomes"]["done"] == len(PATHS) + 2

    return deferred_from_coro(run())
