"""The two doors for custom spiders: links in a Page, and Scrapy's own Requests."""

from __future__ import annotations

from scrapy import Request, Spider
from scrapy.core.engine import ExecutionEngine
from scrapy.utils.defer import deferred_from_coro

from crawlerproj.items import Page
from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving


class OrdinarySpider(Spider):
    """As in any Scrapy project: Requests with callbacks, methods, bodies, meta and cb_kwargs."""

    name = "ordinary"

    async def start(self):
        yield Request(self.origin + "/", callback=self.parse_front)

    def parse_front(self, response):
        for number in range(3):
            yield response.follow(f"/item?n={number}", self.parse_item, cb_kwargs={"number": number},
                                  meta={"mark": [number, "x"]})
        yield Request(self.origin + "/search", self.parse_search, method="POST", body=b"q=1",
                      headers={"X-Mark": "1"})
        yield Request(self.origin + "/moved", self.parse_search)
        yield Request(self.origin + "/item?n=0", self.parse_item, cb_kwargs={"number": 99})  # seen
        for _ in range(2):
            yield Request(self.origin + "/again", self.parse_search, dont_filter=True)
        yield Request(self.origin + "/lambda", lambda response: [{"lambda": response.text}])

    def parse_item(self, response, number):
        yield {"item": number, "mark": response.meta["mark"], "depth": response.meta["depth"]}

    def parse_search(self, response):
        yield {"url": response.url.removeprefix(self.origin), "method": response.request.method}




def test_an_ordinary_spider_gets_what_scrapy_would_give_it(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 60.0)
    routes = {
        "/": html("front"), "/search": html("found"), "/again": html("again"), "/lambda": html("lambda"),
        "/moved": html("", "302 Found", "Location: /landed"), "/landed": html("landed"),
        **{f"/item?n={number}": html(f"item {number}") for number in range(3)},
    }

    async def run() -> None:
        async with serving(routes) as site:
            crawler = make_crawler(OrdinarySpider, tmp_path)
            from scrapy import signals

            items = []
            crawler.signals.connect(lambda item: items.append(item), signals.item_scraped, weak=False)
            await crawler.crawl_async(origin=site.origin)
        numbers = sorted(item["item"] for item in items if "item" in item)
        assert numbers == [0, 1, 2]
        assert all(item["mark"] == [item["item"], "x"] and item["depth"] == 1
                   for item in items if "item" in item)
        assert {"lambda": "lambda"} in items
        assert sorted((item["url"], item["method"]) for item in items if "url" in item) == [
            ("/again", "GET"), ("/again", "GET"), ("/landed", "GET"), ("/search", "POST")]
        assert site.asked.count("/robots.txt") == 1 and site.asked[0] == "/robots.txt"
        assert "lives in memory" in caplog.text
        assert crawler.stats.get_value("finish_reason") == "finished"

    return deferred_from_coro(run())


class FocusedSpider(WebSpider):
    """The fast door: choose links, rank them, make items."""

    name = "choosing"

    def wanted(self, link):
        return "skip" not in link.url

    def score(self, page, link):
        return 8 if "first" in link.anchor else 1

    def extract(self, page):
        if page.title:
            yield {"title": page.title}


def test_the_fast_door_chooses_ranks_and_extracts(tmp_path):
    routes = {
        "/": html("<title>Front</title><a href=/late>later</a><a href=/skip>no</a><a href=/soon>first</a>"),
        "/late": html("<title>Late</title>"), "/soon": html("<title>Soon</title>"), "/skip": html("no"),
    }

    async def run() -> None:
        async with serving(routes) as site:
            crawler = make_crawler(FocusedSpider, tmp_path, FRONTIER_SEED=5)
            from scrapy import signals

            items = []
            crawler.signals.connect(lambda item: items.append(item), signals.item_scraped, weak=False)
            await crawler.crawl_async(seeds=site.origin + "/")
        assert "/skip" not in site.asked
        assert site.asked.index("/soon") < site.asked.index("/late")
        assert {"title": "Soon"} in items and {"title": "Late"} in items
        assert sum(isinstance(item, Page) for item in items) == 3
        assert crawler.stats.get_value("filter/not_wanted") == 1

    return deferred_from_coro(run())
