"""A host over its budget is parked and counted; a larger budget goes on with it."""

from __future__ import annotations

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving


def test_a_host_over_its_budget_is_parked_and_goes_on_with_a_larger_one(tmp_path):
    routes = {"/": html("".join(f"<a href=/{n}>{n}</a>" for n in range(30))),
              **{f"/{n}": html(f"page {n}") for n in range(30)}}

    async def run() -> None:
        async with serving(routes) as site:
            first = make_crawler(WebSpider, tmp_path, HOST_PAGE_BUDGET=10, SOFT_404_PROBE=False)
            await first.crawl_async(seeds=site.origin + "/")
            asked = len(site.asked)
            second = make_crawler(WebSpider, tmp_path, HOST_PAGE_BUDGET=1000, SOFT_404_PROBE=False)
            await second.crawl_async(seeds=site.origin + "/")
        assert first.stats.get_value("finish_reason") == "finished"
        assert first.stats.get_value("frontier/parked_hosts/host_budget") == 1
        assert asked == 11  # ten pages and robots.txt
        assert len(site.asked) == 32
        assert max(map(site.asked.count, site.asked)) == 1

    return deferred_from_coro(run())


def test_a_domain_has_a_budget_of_its_own(tmp_path):
    routes = {"/": html("".join(f"<a href=/{n}>{n}</a>" for n in range(9)))}

    async def run() -> None:
        async with serving(routes) as site:
            crawler = make_crawler(WebSpider, tmp_path, DOMAIN_PAGE_BUDGET=5)
            await crawler.crawl_async(seeds=site.origin + "/")
        assert len(site.asked) == 6
        assert crawler.stats.get_value("frontier/parked_hosts/domain_budget") == 1

    return deferred_from_coro(run())
