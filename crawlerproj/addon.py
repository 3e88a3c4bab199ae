"""The crawler's parts for the spiders of any Scrapy project, turned on by one line of its settings:

    ADDONS = {"crawlerproj.addon.Mercator": 100}

| setting | off turns away |
|---|---|
| `MERCATOR_FRONTIER` | the frontier; archive, content-seen and graph stand on it and go with it |
| `MERCATOR_FETCHING` | our HTTP client with its DNS cache; without a frontier also robots cache and delays |
| `MERCATOR_ROBOTS` | robots.txt; if it is not given, a project's own `ROBOTSTXT_OBEY` counts |
| `MERCATOR_CONTENT_SEEN`, `MERCATOR_ARCHIVE`, `MERCATOR_GRAPH` | what their names say |

What the project has set itself stays as it is: an add-on's settings rank below the project's, a
spider's and the command line's. Links of a spider come as Requests, through the Scrapy door.
"""

from __future__ import annotations

import logging
from typing import Any, Final, Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings, default_settings
from scrapy.utils.misc import load_object
from scrapy.utils.spider import DefaultSpider

from crawlerproj import settings as own_settings
from crawlerproj.assembly import CrawlError
from crawlerproj.fetch.middlewares import agent_token
from crawlerproj.frontier.downloader import FrontierDownloader
from crawlerproj.frontier.scheduler import FrontierScheduler

logger = logging.getLogger(__name__)

_PROJECT: Final = 20  # Scrapy's number for what a project's settings.py says
_NEEDS_FRONTIER: Final = ("MERCATOR_CONTENT_SEEN", "MERCATOR_ARCHIVE", "MERCATOR_GRAPH")
_SCRAPY_ROBOTS: Final = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
_SCRAPY_STATS: Final = "scrapy.downloadermiddlewares.stats.DownloaderStats"
_ASYNCIO_REACTOR: Final = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
_PIPELINES: Final = {
    "crawlerproj.documents.pipelines.ConvertPipeline": "",
    "crawlerproj.documents.pipelines.ContentSeenPipeline": "MERCATOR_CONTENT_SEEN",
    "crawlerproj.graph.pipeline.LinkGraphPipeline": "MERCATOR_GRAPH",
    "crawlerproj.documents.pipelines.DocumentStorePipeline": "MERCATOR_ARCHIVE",
    "crawlerproj.documents.pipelines.FollowLinksPipeline": "",
}
_DOOR_PAGES: Final = {
    "crawlerproj.documents.door_pages.DoorPagesMiddleware": 585,  # sees what decompression (590) has made
}
_DOOR_REQUESTS: Final = {"crawlerproj.documents.door_pages.DoorRequestsMiddleware": 950}
_WITHOUT_FRONTIER: Final = {
    "crawlerproj.fetch.middlewares.AdaptiveDelayMiddleware": 560,  # sees 503 before the retry (550)
    "crawlerproj.fetch.middlewares.DnsCacheMiddleware": 900,
}
_ROBOTS_CACHE: Final = {"crawlerproj.fetch.middlewares.RobotsCacheMiddleware": 100}


class Mercator:
    """For ADDONS."""

    def __init__(self, crawler: Crawler) -> None:
        self._spider_class = crawler.spidercls

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy when a crawler has its project's and its spider's settings."""
        if _is_for_looking(settings, self._spider_class):
            return
        frontier = _has_frontier(settings)
        if frontier:
            _check_reactor(settings)
        _own_settings(settings)
        _robots(settings)
        _delay(settings)
        if frontier:
            _use_frontier(settings)
        if settings.getbool("MERCATOR_FETCHING", True):
            handlers = {**own_settings.DOWNLOAD_HANDLERS, **settings.getdict("DOWNLOAD_HANDLERS")}
            _put(settings, "DOWNLOAD_HANDLERS", handlers)
            if not frontier:
                _use_middlewares(settings)


def _use_middlewares(settings: BaseSettings) -> None:
    """Fetching without the frontier: robots cache, delays and DNS cache as middlewares."""
    robots = _ROBOTS_CACHE if settings.getbool("MERCATOR_ROBOTS") else {}
    _add(settings, "DOWNLOADER_MIDDLEWARES", {_SCRAPY_ROBOTS: None, **robots, **_WITHOUT_FRONTIER})


def _is_for_looking(settings: BaseSettings, spider: type) -> bool:
    """`scrapy shell` and `scrapy fetch` look at single pages: no crawl is begun for them."""
    shell = settings.getpriority("DUPEFILTER_CLASS") == 10  # that of a command's own settings
    return shell or spider is DefaultSpider


def _is_chosen(settings: BaseSettings, name: str) -> bool:
    """Has the project, the spider or the command line said something about it?"""
    return (settings.getpriority(name) or 0) >= _PROJECT


def _put(settings: BaseSettings, name: str, value: Any) -> None:
    """Sets what the project's own entries have been merged into."""
    settings.set(name, value, max(settings.getpriority(name) or 0, 15))


def _add(settings: BaseSettings, name: str, components: dict[str, int | None]) -> None:
    """Adds components to those of the project; what it has placed or removed itself stays so."""
    chosen = settings.getdict(name)
    named = {load_object(component) for component in chosen}
    added = {path: place for path, place in components.items() if load_object(path) not in named}
    _put(settings, name, {**added, **chosen})


def _has_frontier(settings: BaseSettings) -> bool:
    wanted = settings.getbool("MERCATOR_FRONTIER", True)
    foreign = _foreign_component(settings)
    if wanted and foreign is None:
        return True
    why = (f"{foreign} is the project's own ({settings.get(str(foreign))}), and the frontier has to be it: "
           f"remove {foreign} from the settings, or say MERCATOR_FRONTIER = False" if wanted else
           "MERCATOR_FRONTIER is off: leave them out, or turn it on")
    asked = [name for name in _NEEDS_FRONTIER if _is_chosen(settings, name) and settings.getbool(name)]
    if asked:
        raise CrawlError(f"{', '.join(asked)} cannot work without the frontier, but {why}")
    if wanted:
        logger.warning("Mercator's frontier, content-seen, archive and graph stay off: %s", why)
    return False


def _foreign_component(settings: BaseSettings) -> str | None:
    """The name of the setting by which the project has chosen another scheduler or downloader."""
    for name, ours in (("SCHEDULER", FrontierScheduler), ("DOWNLOADER", FrontierDownloader)):
        # Not issubclass: for Scrapy's schedulers that asks for three methods, whatever the class.
        if _is_chosen(settings, name) and ours not in load_object(settings[name]).__mro__:
            return name
    return None


def _check_reactor(settings: BaseSettings) -> None:
    if not settings.getbool("TWISTED_REACTOR_ENABLED", True):
        raise CrawlError("the frontier needs Twisted's asyncio reactor: remove TWISTED_REACTOR_ENABLED "
                         "from the settings, or say MERCATOR_FRONTIER = False")
    if settings.get("TWISTED_REACTOR") != _ASYNCIO_REACTOR:
        raise CrawlError(f"the frontier needs the asyncio reactor, but TWISTED_REACTOR is "
                         f"{settings.get('TWISTED_REACTOR')!r}: remove it from the settings, or say "
                         "MERCATOR_FRONTIER = False")


def _own_settings(settings: BaseSettings) -> None:
    """Our knobs with their defaults; names that Scrapy knows too keep Scrapy's values."""
    for name in dir(own_settings):
        if name.isupper() and not hasattr(default_settings, name):
            settings.set(name, getattr(own_settings, name), "addon")


def _robots(settings: BaseSettings) -> None:
    obeys = settings.getbool("ROBOTSTXT_OBEY") if _is_chosen(settings, "ROBOTSTXT_OBEY") else True
    settings.set("MERCATOR_ROBOTS", obeys, "addon")
    agent = settings.get("USER_AGENT") if _is_chosen(settings, "USER_AGENT") else ""
    settings.set("USER_AGENT", "", "addon")  # ours, with CRAWLER_CONTACT
    name = settings.get("ROBOTSTXT_USER_AGENT") or (agent_token(agent) if agent else "")
    if name:
        settings.set("ROBOTS_USER_AGENT", name, 16)  # above our default, below the project's word


def _delay(settings: BaseSettings) -> None:
    """A delay that the project asks for is the least one between two fetches from a host."""
    delay = settings.getfloat("DOWNLOAD_DELAY")
    if delay > 0 and _is_chosen(settings, "DOWNLOAD_DELAY"):
        settings.set("DELAY_MINIMUM", delay, 16)


def _use_frontier(settings: BaseSettings) -> None:
    settings.set("SCHEDULER", FrontierScheduler, "addon")
    settings.set("DOWNLOADER", FrontierDownloader, "addon")
    if not settings.getbool("MERCATOR_CONTENT_SEEN", True):
        settings.set("CONTENT_SEEN", "off", 16)
    if settings.get("CONTENT_SEEN") != "off":
        _add(settings, "SPIDER_MIDDLEWARES", {**_DOOR_REQUESTS})
    # The frontier keeps the rules and counts the fetches: Scrapy's would ask and count once more.
    _add(settings, "DOWNLOADER_MIDDLEWARES", {_SCRAPY_ROBOTS: None, _SCRAPY_STATS: None, **_DOOR_PAGES})
    # Before the project's own, which need not know what a Page is: one of ours may keep it from them.
    places = {path: place - 1_000 for path, place in own_settings.ITEM_PIPELINES.items()}
    _add(settings, "ITEM_PIPELINES", {
        path: places[path] for path, switch in _PIPELINES.items()
        if not switch or settings.getbool(switch, True)
    })
    _add(settings, "EXTENSIONS", {**own_settings.EXTENSIONS})
    if settings.get("JOBDIR"):
        logger.info("JOBDIR holds spider.state alone: requests are kept in CRAWL_DIR, and survive kill -9")
    if _is_chosen(settings, "DUPEFILTER_CLASS"):
        logger.warning("DUPEFILTER_CLASS is not used: the frontier knows each URL it has seen. A Request "
                       "with dont_filter=True is fetched again")
