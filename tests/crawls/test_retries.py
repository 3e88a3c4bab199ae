"""What counts as an attempt."""

from __future__ import annotations

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving


def test_a_connection_that_ended_once_is_not_held_against_the_page(tmp_path):
    """Three attempts: two answers of 503 and a whole page, beside the one request that may have been lost."""

    def moody(time: int) -> bytes:
        if time == 1:
            return b""  # hangs up on a connection that served the page before
        return html("busy", "503 Service Unavailable") if time < 4 else html("at last")

    async def run() -> None:
        async with serving({"/": html("<a href=/moody>it</a>"), "/moody": moody}) as site:
            crawler = make_crawler(WebSpider, tmp_path, MAX_ATTEMPTS=3)
            await crawler.crawl_async(seeds=site.origin + "/")
        assert site.asked.count("/moody") == 4
        assert crawler.stats.get_value("downloader/response_status_count/200") == 2

    return deferred_from_coro(run())
