"""CRAWL_DIR/stats.jsonl: how a crawl went, for whoever looks later."""

from __future__ import annotations

import json

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving


def lines_of(path):
    found = []
    for line in path.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            found.append(None)
    return found


def crawled(tmp_path, **settings):
    async def run() -> None:
        async with serving({"/": html("<a href=/a>one</a>"), "/a": html("a")}) as site:
            crawler = make_crawler(WebSpider, tmp_path, **settings)
            await crawler.crawl_async(seeds=site.origin + "/")

    return deferred_from_coro(run())


def test_the_last_line_of_a_run_tells_how_it_ended(tmp_path):
    def look(_: object) -> None:
        last = lines_of(tmp_path / "stats.jsonl")[-1]
        assert last["reason"] == "finished"
        assert last["counts"]["done"] == 2
        assert last["stats"]["downloader/response_status_count/200"] == 2
        assert (last["worker"], last["in_flight"]) == ("0", 0)

    return crawled(tmp_path).addCallback(look)


def test_a_line_torn_by_a_crash_costs_no_other_and_a_full_file_makes_way(tmp_path):
    path = tmp_path / "stats.jsonl"
    path.write_text('{"time": 1}\n{"time": 2, "cou')

    def look(_: object) -> None:
        assert lines_of(tmp_path / "stats.jsonl.1") == [{"time": 1}, None]
        (last,) = lines_of(path)
        assert last["reason"] == "finished"

    return crawled(tmp_path, STATS_MAX_BYTES=20).addCallback(look)


def test_no_interval_no_file(tmp_path):
    def look(_: object) -> None:
        assert not (tmp_path / "stats.jsonl").exists()

    return crawled(tmp_path, STATS_INTERVAL=0).addCallback(look)
