"""What the add-on sets, what it leaves to the project, and what it refuses."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.spider import DefaultSpider

from crawlerproj.addon import Mercator
from crawlerproj.assembly import CrawlError
from crawlerproj.fetch.curl_handler import CurlDownloadHandler
from crawlerproj.frontier.downloader import FrontierDownloader
from crawlerproj.frontier.scheduler import FrontierScheduler

SCRAPY_ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


class Ordinary(Spider):
    name = "ordinary"


def settled(spider: type[Spider] = Ordinary, **project: Any) -> Settings:
    """The settings of a crawler after the add-on, in a project that sets these itself."""
    settings = Settings()
    settings.setdict(project, priority="project")
    crawler = Crawler(spider, settings)
    Mercator.from_crawler(crawler).update_settings(crawler.settings)
    return crawler.settings


def components(settings: Settings, name: str) -> set[str]:
    return {path.rpartition(".")[2] for path, place in settings.getdict(name).items() if place is not None}


def test_one_line_turns_everything_on():
    settings = settled()

    assert settings["SCHEDULER"] is FrontierScheduler and settings["DOWNLOADER"] is FrontierDownloader
    assert settings["DOWNLOAD_HANDLERS"]["https"].endswith(CurlDownloadHandler.__name__)
    assert settings["DOWNLOADER_MIDDLEWARES"][SCRAPY_ROBOTS] is None
    assert components(settings, "DOWNLOADER_MIDDLEWARES") == {"DoorPagesMiddleware"}
    assert {"ContentSeenPipeline", "LinkGraphPipeline", "DocumentStorePipeline"} <= components(
        settings, "ITEM_PIPELINES")
    assert settings.getfloat("DELAY_FACTOR") == 10 and settings.getfloat("DELAY_MINIMUM") == 2
    assert settings.getbool("MERCATOR_ROBOTS")


@pytest.mark.parametrize("switch, pipeline", [
    ("MERCATOR_CONTENT_SEEN", "ContentSeenPipeline"),
    ("MERCATOR_ARCHIVE", "DocumentStorePipeline"),
    ("MERCATOR_GRAPH", "LinkGraphPipeline"),
])
def test_each_part_has_a_switch(switch, pipeline):
    settings = settled(**{switch: False})

    assert components(settled(), "ITEM_PIPELINES") - components(settings, "ITEM_PIPELINES") == {pipeline}
    assert settings["CONTENT_SEEN"] == ("off" if switch == "MERCATOR_CONTENT_SEEN" else "minhash")


def test_without_the_frontier_fetching_is_done_by_middlewares():
    settings = settled(MERCATOR_FRONTIER=False)

    assert settings["SCHEDULER"] == "scrapy.core.scheduler.Scheduler"
    assert components(settings, "DOWNLOADER_MIDDLEWARES") == {
        "RobotsCacheMiddleware", "AdaptiveDelayMiddleware", "DnsCacheMiddleware"}
    assert not components(settings, "ITEM_PIPELINES")


def test_with_neither_frontier_nor_fetching_scrapy_is_as_it_was():
    settings = settled(MERCATOR_FRONTIER=False, MERCATOR_FETCHING=False)

    assert settings.getdict("DOWNLOAD_HANDLERS") == {} and settings.getdict("DOWNLOADER_MIDDLEWARES") == {}


def test_what_the_project_has_set_stays():
    handlers = {"https": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler", "s3": None}
    settings = settled(
        DELAY_FACTOR=20, CONTENT_SEEN="exact", DOWNLOAD_HANDLERS=handlers, USER_AGENT="shopbot/2.0 (+x)",
        CONCURRENT_ITEMS=7, DOWNLOADER_MIDDLEWARES={SCRAPY_ROBOTS: 100}, ITEM_PIPELINES={Ordinary: 5},
    )

    assert settings.getfloat("DELAY_FACTOR") == 20 and settings["CONTENT_SEEN"] == "exact"
    assert {**handlers}.items() <= settings.getdict("DOWNLOAD_HANDLERS").items()
    assert settings["DOWNLOAD_HANDLERS"]["http"].endswith(CurlDownloadHandler.__name__)
    assert settings["USER_AGENT"] == "shopbot/2.0 (+x)" and settings["ROBOTS_USER_AGENT"] == "shopbot"
    assert settings.getint("CONCURRENT_ITEMS") == 7
    assert settings["DOWNLOADER_MIDDLEWARES"][SCRAPY_ROBOTS] == 100
    assert settings["ITEM_PIPELINES"][Ordinary] == 5


def test_what_a_spider_has_set_stays():
    class Own(Ordinary):
        custom_settings = {"DELAY_MINIMUM": 5, "MERCATOR_ARCHIVE": False}

    settings = settled(Own)

    assert settings.getfloat("DELAY_MINIMUM") == 5
    assert "DocumentStorePipeline" not in components(settings, "ITEM_PIPELINES")


def test_scrapy_s_words_for_delay_and_robots_are_understood():
    assert settled(DOWNLOAD_DELAY=7).getfloat("DELAY_MINIMUM") == 7
    assert settled(DOWNLOAD_DELAY=7, DELAY_MINIMUM=3).getfloat("DELAY_MINIMUM") == 3
    assert settled(DOWNLOAD_DELAY=0).getfloat("DELAY_MINIMUM") == 2
    assert not settled(ROBOTSTXT_OBEY=False).getbool("MERCATOR_ROBOTS")
    assert settled(ROBOTSTXT_OBEY=False, MERCATOR_ROBOTS=True).getbool("MERCATOR_ROBOTS")
    assert settled(ROBOTSTXT_USER_AGENT="other", USER_AGENT="shopbot/2")["ROBOTS_USER_AGENT"] == "other"


def test_a_scheduler_of_the_project_turns_the_frontier_off_and_says_so(caplog):
    with caplog.at_level(logging.WARNING):
        settings = settled(SCHEDULER="scrapy.core.scheduler.Scheduler")

    assert "SCHEDULER is the project's own" in caplog.text
    assert settings["DOWNLOADER"] == "scrapy.core.downloader.Downloader"
    assert "AdaptiveDelayMiddleware" in components(settings, "DOWNLOADER_MIDDLEWARES")


@pytest.mark.parametrize("project, words", [
    ({"MERCATOR_FRONTIER": False, "MERCATOR_ARCHIVE": True}, "MERCATOR_ARCHIVE cannot work without"),
    ({"SCHEDULER": "scrapy.core.scheduler.Scheduler", "MERCATOR_GRAPH": True}, "remove SCHEDULER"),
    ({"TWISTED_REACTOR": "twisted.internet.epollreactor.EPollReactor"}, "asyncio reactor"),
    ({"TWISTED_REACTOR_ENABLED": False}, "remove TWISTED_REACTOR_ENABLED"),
])
def test_what_cannot_work_is_refused_with_the_remedy(project, words):
    with pytest.raises(CrawlError, match=words):
        settled(**project)


def test_looking_at_a_page_begins_no_crawl():
    assert settled(DefaultSpider)["SCHEDULER"] == "scrapy.core.scheduler.Scheduler"
