"""When a crawl ends because what is left may not be fetched soon, and when it does not."""

from __future__ import annotations

import time
from pathlib import Path

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.spiders.web import WebSpider
from crawlerproj.storage.embedded import open_storage

from .site import Site, html, make_crawler, serving

ROUTES = {"/a": html("a"), "/b": html("b")}
WAIT_SECONDS = 1.5  # longer than the horizon, and for the test to sit out


async def _crawl(directory: Path, seed: str) -> str:
    crawler = make_crawler(WebSpider, directory, IDLE_HORIZON=0.5)
    await crawler.crawl_async(seeds=seed)
    return str(crawler.stats.get_value("finish_reason"))


async def _one_page_then_another(site: Site, directory: Path, **contact: float) -> str:
    """Between the two, what is on record of the host is changed; says how the second crawl ended."""
    assert await _crawl(directory, site.origin + "/a") == "finished"
    storage = open_storage(directory / "state")
    ((host, found),) = storage.items("contact")
    for name, value in contact.items():
        setattr(found, name, value)
    storage.put_contact(host, found)
    storage.close()
    return await _crawl(directory, site.origin + "/b")


def test_a_host_due_after_the_horizon_ends_the_crawl(tmp_path):
    async def run() -> None:
        async with serving(ROUTES) as site:
            later = time.time() + 60
            assert await _one_page_then_another(site, tmp_path, ready_at=later, delay=60.0) == "waiting"
            assert "/b" not in site.asked

    return deferred_from_coro(run())


def test_a_host_that_waits_because_the_process_was_killed_does_not(tmp_path):
    async def run() -> None:
        async with serving(ROUTES) as site:
            killed = {"started": time.time(), "ended": 0.0, "delay": WAIT_SECONDS}
            assert await _one_page_then_another(site, tmp_path, **killed) == "finished"
            assert "/b" in site.asked

    return deferred_from_coro(run())
