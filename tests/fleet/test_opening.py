"""What a fleet refuses, with the remedy; names of workers; regions."""

from __future__ import annotations

import asyncio

import pytest
from crawls.site import html, make_crawler, serving
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro
from storage.redis_server import redis_server

from crawlerproj.control.server import ControlServer
from crawlerproj.fleet import TICK_SECONDS, start_url
from crawlerproj.opening import open_state
from crawlerproj.spiders.web import WebSpider
from crawlerproj.storage.interface import StorageError
from crawlerproj.storage.redis.regions import Regions
from crawlerproj.worker_name import WorkerName

__all__ = ["redis_server"]


@pytest.mark.parametrize(("settings", "remedy"), [
    ({"STORAGE": "mysql://here"}, "redis://"),
    ({"STORAGE": "redis://127.0.0.1:1/0", "POLITENESS_GROUP": "ip"}, "use host, domain"),
    ({"STORAGE": "unix:///nonexistent/redis.sock"}, "STORAGE"),
    ({"STORAGE": "unix:///nonexistent/socket", "PARTITION_FUNCTION": "/nonexistent"}, "suffix<TAB>region"),
])
def test_what_cannot_work_is_refused_with_the_remedy(tmp_path, settings, remedy):
    with pytest.raises(StorageError) as caught:
        open_state(Settings(settings), tmp_path, "web", "spelling", "software")
    assert remedy in str(caught.value)


def test_a_directory_of_one_kind_of_crawl_is_not_used_by_the_other(tmp_path):
    open_state(Settings(), tmp_path / "alone", "web", "spelling", "software").close()
    with pytest.raises(StorageError, match="leave STORAGE empty"):
        open_state(Settings({"STORAGE": "redis"}), tmp_path / "alone", "web", "spelling", "software")
    (tmp_path / "SHARED").write_text('{"crawl": "web", "storage": "unix:///there"}')
    with pytest.raises(StorageError, match="STORAGE=unix:///there"):
        open_state(Settings(), tmp_path, "web", "spelling", "software")


def test_a_worker_keeps_its_name_and_nobody_else_has_it(tmp_path):
    one, two = WorkerName(tmp_path), WorkerName(tmp_path)
    elsewhere = WorkerName(tmp_path / "other")
    assert len({one.name, two.name, elsewhere.name}) == 3
    former = one.name
    one.close()
    again = WorkerName(tmp_path)
    assert again.name == former


def test_regions_have_partitions_of_their_own(tmp_path):
    table = tmp_path / "regions.tsv"
    table.write_text("# where\nde\teurope\nfr\teurope\nexample.de\tasia\n")
    regions = Regions(str(table), 16)
    assert regions.names == ["asia", "europe", "other"]
    for name, region in (("www.a.de", "europe"), ("b.fr:8080", "europe"), ("www.example.de", "asia"),
                         ("c.com", "other")):
        for number in range(20):
            assert regions.partition_of(number.to_bytes(8, "big"), name) in regions.of(region)
    assert sorted(p for name in regions.names for p in regions.of(name)) == list(range(16))
    with pytest.raises(StorageError, match="asia, europe, other"):
        regions.of("mars")


def test_a_worker_of_a_region_may_hold_its_partitions_only(tmp_path, redis_server):
    with redis_server.client() as client:
        client.flushall()
    table = tmp_path / "regions.tsv"
    table.write_text("de\teurope\n")
    given = {"STORAGE": redis_server.url, "PARTITION_FUNCTION": str(table), "PARTITIONS": 16}
    near = open_state(Settings(given | {"WORKER_REGION": "europe"}), tmp_path / "near", "web", "", "")
    anywhere = open_state(Settings(given), tmp_path / "anywhere", "web", "", "")
    assert (list(near.eligible), list(anywhere.eligible)) == (list(range(0, 16, 2)), list(range(16)))
    host = (7).to_bytes(8, "big")
    assert near.shared.partition_of(host, "www.a.de") in near.eligible
    assert near.shared.partition_of(host, "www.a.com") not in near.eligible
    near.close()
    anywhere.close()
    table.write_text("de\tasia\n")
    with pytest.raises(StorageError, match="another PARTITION_FUNCTION table"):
        open_state(Settings(given), tmp_path / "other", "web", "", "")


def test_start_urls_come_plain_or_as_scrapy_redis_has_them():
    assert start_url("http://a.example/ ") == "http://a.example/"
    assert start_url('{"url": "http://a.example/", "meta": {}}') == "http://a.example/"
    assert start_url("{broken") == "{broken"


def test_news_before_the_spider_is_open_does_not_wake_the_engine(tmp_path, redis_server, monkeypatch, caplog):
    with redis_server.client() as client:
        client.flushall()
    control = ControlServer.open

    async def open_after_the_first_tick(server):
        await asyncio.sleep(2 * TICK_SECONDS)
        await control(server)

    monkeypatch.setattr(ControlServer, "open", open_after_the_first_tick)

    async def run() -> None:
        async with serving({"/": html("<p>one page"), "/pushed": html("<p>another")}) as site:
            with redis_server.client() as client:
                client.lpush("web:start_urls", site.origin + "/pushed")
            crawler = make_crawler(WebSpider, tmp_path, STORAGE=redis_server.url)
            await crawler.crawl_async(seeds=site.origin + "/")
            assert site.asked[0] == "/robots.txt" and sorted(site.asked[1:]) == ["/", "/pushed"]
        assert crawler.stats.get_value("finish_reason") == "finished"
        assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []

    return deferred_from_coro(run())
