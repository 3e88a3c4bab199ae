"""Parts switched off: the spider's items are the same, and what is off leaves nothing behind."""

from __future__ import annotations

import pytest
from crawls.site import html, serving
from scrapy import Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro

HASTE = {
    "DELAY_MINIMUM": 0, "DELAY_FACTOR": 0, "BACKOFF_BASE": 0.01, "BACKOFF_MAXIMUM": 0.05, "IDLE_HORIZON": 3,
    "FETCH_PRIVATE_ADDRESSES": True, "DISK_FREE_MINIMUM": 0, "LOG_LEVEL": "WARNING", "LOGSTATS_INTERVAL": 0,
    "TELNETCONSOLE_ENABLED": False, "REMOTE_CONTROL_ENABLED": False, "ROBOTSTXT_OBEY": True,
}
BUSY = html("x", "503 Service Unavailable")
ROUTES = {
    "/robots.txt": html("User-agent: *\nDisallow: /private"),
    "/": html("<title>Front</title><a href=/one>1</a><a href=/moved>2</a><a href=/private>3</a>"
              "<a href=/later>4</a><a href=/gone>5</a>"),
    "/one": html("<title>One</title>"),
    "/moved": html("", "301 Moved Permanently", "Location: /two"),
    "/two": html("<title>Two</title>"),
    "/private": html("<title>Private</title>"),
    "/later": lambda times: BUSY if times == 1 else html("<title>Later</title>"),
}


class Titles(Spider):
    name = "titles"

    def parse(self, response):
        yield {"title": response.css("title::text").get()}
        yield from response.follow_all(css="a", callback=self.parse, errback=self.failed)

    def failed(self, failure):
        yield {"failed": failure.value.__class__.__name__}


def _crawler(directory, **project):
    settings = Settings()
    settings.setdict({**HASTE, "ADDONS": {"crawlerproj.addon.Mercator": 100}, "CRAWL_DIR": str(directory),
                      **project}, priority="project")
    return Crawler(Titles, settings)


@pytest.mark.parametrize("off", [
    (), ("ARCHIVE",), ("GRAPH",), ("CONTENT_SEEN", "ARCHIVE", "GRAPH"), ("FETCHING",), ("FRONTIER",),
    ("ROBOTS",),
], ids=lambda off: "+".join(off) or "none")
def test_items_are_the_same_whatever_is_off(off, tmp_path, monkeypatch):
    monkeypatch.setattr(ExecutionEngine, "_SLOT_HEARTBEAT_INTERVAL", 60.0 if "FRONTIER" not in off else 0.1)
    directory = tmp_path / "crawl"

    async def run() -> None:
        async with serving(ROUTES) as site:
            crawler = _crawler(directory, **{f"MERCATOR_{part}": False for part in off})
            items = []
            crawler.signals.connect(lambda item: items.append(item), signals.item_scraped, weak=False)
            await crawler.crawl_async(start_urls=[site.origin + "/"])

        titles = {item.get("title") for item in items}
        refused = set() if "ROBOTS" in off else {"Private"}
        assert titles - {None} == {"Front", "One", "Two", "Private", "Later"} - refused
        assert {"failed": "HttpError"} in items  # /gone
        assert site.asked.count("/later") == 2 and site.asked.count("/one") == 1
        assert site.asked[0] == ("/" if "ROBOTS" in off else "/robots.txt")
        assert crawler.stats.get_value("finish_reason") == "finished"
        kept = {path.name for path in directory.iterdir()} if directory.exists() else set()
        assert ("warc" in kept) == ("ARCHIVE" not in off and "FRONTIER" not in off)
        assert ("edges" in kept) == ("GRAPH" not in off and "FRONTIER" not in off)

    return deferred_from_coro(run())


@pytest.mark.parametrize("follow, asked", [("demote", True), ("never", False)])
def test_requests_of_a_duplicate_wait_longest_or_are_dropped_if_the_project_says_so(follow, asked, tmp_path):
    words = " ".join(f"word{number}" for number in range(80))
    routes = {
        "/": html("<a href=/first>1</a>"),
        "/first": html(f"<p>{words}</p><a href=/second>2</a><a href=/of-first>3</a>"),
        "/second": html(f"<p>{words}</p><a href=/of-second>4</a>"),
        "/of-first": html("<title>a</title>"), "/of-second": html("<title>b</title>"),
    }

    async def run() -> None:
        async with serving(routes) as site:
            crawler = _crawler(tmp_path / "crawl", CONTENT_SEEN_FOLLOW=follow)
            await crawler.crawl_async(start_urls=[site.origin + "/"])

        assert ("/of-second" in site.asked) == asked and "/of-first" in site.asked
        assert sum(crawler.stats.get_value(f"content/{kind}", 0) for kind in ("exact", "near")) == 1

    return deferred_from_coro(run())
