"""The twelve endings of a request: each URL is settled exactly once, after all that came of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.utils.defer import deferred_from_coro

from crawlerproj.assembly import Crawl
from crawlerproj.items import Page
from crawlerproj.spiders.web import WebSpider

from .site import HANG, html, make_crawler, serving


class Refusing:
    """A downloader middleware that refuses one page."""

    def process_request(self, request: Request) -> None:
        if request.url.endswith("/refused"):
            raise IgnoreRequest("not this one")


class Dropping:
    """A pipeline that drops one page and fails on another."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and item.url.endswith("/dropped"):
            raise DropItem("not this one")
        if isinstance(item, Page) and item.url.endswith("/pipeline-error"):
            raise RuntimeError("a bug in a pipeline")
        return item


class EndingsSpider(WebSpider):
    def parse(self, response, **kwargs):
        if response.url.endswith("/spider-error"):
            raise RuntimeError("a bug in a spider")
        if response.url.endswith("/nothing"):
            return
        yield from super().parse(response, **kwargs)


ENDINGS = {
    "/page": "200",
    "/missing": "404",
    "/final-503": "503",
    "/timeout": "timeout",
    "/moved": "301",
    "/forbidden": "forbidden",
    "/dropped": "200",
    "/pipeline-error": "item_error",
    "/spider-error": "spider_error",
    "/nothing": "200",
    "/refused": "ignored",
    "/retried": "200",
}


def _routes() -> dict[str, Any]:
    links = "".join(f'<a href="{path}">x</a>' for path in ENDINGS)
    pages = {path: html("a page") for path in ENDINGS}
    return {
        **pages,
        "/robots.txt": html("User-agent: *\nDisallow: /forbidden"),
        "/": html(links),
        "/missing": html("none", "404 Not Found"),
        "/final-503": html("later", "503 Service Unavailable"),
        "/timeout": HANG,
        "/moved": html("", "301 Moved Permanently", "Location: /target"),
        "/target": html("the target"),
        "/retried": lambda times: html("later", "503 Service Unavailable") if times == 1 else html("now"),
    }


@pytest.fixture
def slow_heartbeat(monkeypatch):
    """Scrapy's own heartbeat would hide a missing wake-up: with this one, a missing one hangs."""
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 60.0)


def test_each_ending_settles_its_url_exactly_once(tmp_path, slow_heartbeat):
    async def run() -> None:
        async with serving(_routes()) as site:
            crawler = make_crawler(
                EndingsSpider, tmp_path,
                DOWNLOADER_MIDDLEWARES={Refusing: 10}, MAX_ATTEMPTS=2,
                ITEM_PIPELINES={Dropping: 100,
                                "crawlerproj.documents.pipelines.DocumentStorePipeline": 300,
                                "crawlerproj.documents.pipelines.FollowLinksPipeline": 400},
            )
            crawl = Crawl.of(crawler)
            settled: Counter[str] = Counter()
            outcomes: dict[str, str] = {}
            original_open = crawl.open

            def open_and_watch(*args: Any, **kwargs: Any) -> None:
                original_open(*args, **kwargs)
                settle = crawl.frontier.settle

                def watched(ticket: Any, kind: str, outcome: str) -> None:
                    path = ticket.candidate.url.removeprefix(site.origin)
                    settled[path] += kind != "retry"
                    outcomes[path] = outcome
                    settle(ticket, kind, outcome)

                crawl.frontier.settle = watched

            crawl.open = open_and_watch
            await crawler.crawl_async(seeds=site.origin + "/")

        assert crawler.stats.get_value("finish_reason") == "finished"
        assert {path: outcomes[path] for path in ENDINGS} == ENDINGS
        assert set(settled.values()) == {1}
        assert set(settled) == {"/", "/target", *ENDINGS}
        assert "/forbidden" not in site.asked and "/refused" not in site.asked
        assert site.asked.count("/retried") == 2 and site.asked.count("/final-503") == 2
        assert crawl.final_counts["done"] == len(settled)

    return deferred_from_coro(run())
