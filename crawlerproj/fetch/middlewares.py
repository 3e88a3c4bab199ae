"""Robots cache, DNS cache and adaptive delay as downloader middlewares, for any Scrapy project.

    DOWNLOADER_MIDDLEWARES = {
        "crawlerproj.fetch.middlewares.RobotsCacheMiddleware": 100,
        "crawlerproj.fetch.middlewares.AdaptiveDelayMiddleware": 560,   # sees 503 before the retry (550)
        "crawlerproj.fetch.middlewares.DnsCacheMiddleware": 900,
    }

All policy is in `robots`, `politeness` and `dns`. A request that carries `frontier_ticket`
in its meta has passed all three before it was dispatched and is left alone.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Final, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached

from .dns import DnsError
from .polite_slot import PoliteSlot
from .politeness import Politeness, retry_after_seconds
from .resolver import resolver_of
from .robots import MAX_AGE_SECONDS, RobotsCache, RobotsRules
from .robots_fetch import RobotsFetch, authority_of

_TICKET: Final = "frontier_ticket"
_CRAWL_DELAY: Final = "robots_crawl_delay"
_BUSY: Final = frozenset((429, 503))


class RobotsCacheMiddleware:
    """Refuses what robots.txt forbids; leaves the crawl-delay in meta["robots_crawl_delay"]."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self.crawler = crawler
        self.agent = (
            settings.get("ROBOTS_USER_AGENT")
            or settings.get("ROBOTSTXT_USER_AGENT")
            or agent_token(settings.get("USER_AGENT") or "")
        )
        self.cache = RobotsCache(
            settings.getint("ROBOTS_CACHE_SIZE", 10_000), settings.getfloat("ROBOTS_MAX_AGE", MAX_AGE_SECONDS)
        )
        self._fetches: dict[str, asyncio.Task[RobotsRules]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        meta = request.meta
        if _TICKET in meta or meta.get("dont_obey_robotstxt"):
            return
        authority = authority_of(request.url)
        if not authority:
            return
        rules = self.cache.get(authority)
        if rules is None:
            rules = await self._fetched(authority)
        if not rules.allowed(request.url):
            reason = "unreachable" if rules.unreachable else "forbidden"
            self.crawler.stats.inc_value(f"robots/{reason}")
            raise IgnoreRequest(f"robots.txt of {authority}: {reason}")
        if rules.crawl_delay:
            meta[_CRAWL_DELAY] = rules.crawl_delay

    async def _fetched(self, authority: str) -> RobotsRules:
        """All who ask for one authority's rules wait for one fetch."""
        fetch = self._fetches.get(authority)
        if fetch is None:
            fetch = asyncio.get_running_loop().create_task(self._fetch(authority))
            self._fetches[authority] = fetch
            fetch.add_done_callback(lambda _: self._fetches.pop(authority, None))
        return await asyncio.shield(fetch)

    async def _fetch(self, authority: str) -> RobotsRules:
        fetch = RobotsFetch(authority, self.agent, self.cache.last(authority), self.cache.max_age)
        rules: RobotsRules | None = None
        while rules is None:
            self.crawler.stats.inc_value("robots/fetched")
            meta = {
                "dont_obey_robotstxt": True,
                "dont_redirect": True,
                "dont_retry": True,
                "dont_cache": True,
            }
            request = Request(fetch.url, meta=meta, callback=NO_CALLBACK, dont_filter=True, priority=1000)
            try:
                response = await self.crawler.engine.download_async(request)
            except Exception:
                # Whatever went wrong, there was no answer.
                rules = fetch.failed(time.time())
            else:
                rules = fetch.answered(
                    response.status,
                    response.body,
                    time.time(),
                    _header(response, "Content-Type"),
                    _header(response, "Cache-Control"),
                    _header(response, "Location"),
                )
        self.cache.put(authority, rules)
        return rules


class DnsCacheMiddleware:
    """Has the address known before the request takes a connection; CurlDownloadHandler connects to it.

    With another handler it only spares the wait for names that do not exist.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.resolver = resolver_of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware.spider_closed, signals.spider_closed)
        return middleware

    async def process_request(self, request: Request) -> None:
        if _TICKET in request.meta or request.meta.get("proxy"):
            return
        host = urlparse_cached(request).hostname
        if not host or self.resolver.cached(host):
            return
        try:
            await self.resolver.lookup(host)
        except DnsError as error:
            raise CannotResolveHostError(f"{host}: {error.reason}") from error

    async def spider_closed(self) -> None:
        await self.resolver.close()


class AdaptiveDelayMiddleware:
    """One connection to a host, and between two a multiple of the fetch time (DELAY_FACTOR)."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self.crawler = crawler
        self.politeness = Politeness(
            factor=settings.getfloat("DELAY_FACTOR", 10),
            minimum=settings.getfloat("DELAY_MINIMUM", 2),
            maximum=settings.getfloat("DELAY_MAXIMUM", 300),
            backoff_base=settings.getfloat("BACKOFF_BASE", 30),
            backoff_maximum=settings.getfloat("BACKOFF_MAXIMUM", 3600),
        )
        self._rng = random.Random()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        if _TICKET in request.meta:
            return
        downloader = self.crawler.engine.downloader
        key = downloader.get_slot_key(request)
        # A slot that the project has set up itself (DOWNLOAD_SLOTS) is its own business.
        if key not in downloader.slots and key not in downloader.per_slot_settings:
            downloader._get_slot(request)  # starts Scrapy's sweep of unused slots
            downloader.slots[key] = PoliteSlot(self.politeness)

    def process_response(self, request: Request, response: Response) -> Response:
        retry_after = retry_after_seconds(_header(response, "Retry-After"), time.time())
        busy = response.status in _BUSY
        self._judge(request, busy, retry_after if busy else 0.0)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        # What was refused before it was sent says nothing about the host.
        if not isinstance(exception, IgnoreRequest):
            self._judge(request, True, 0.0)

    def _judge(self, request: Request, failed: bool, retry_after: float) -> None:
        meta = request.meta
        slot = self.crawler.engine.downloader.slots.get(meta.get("download_slot", ""))
        if _TICKET not in meta and isinstance(slot, PoliteSlot):
            fetch_seconds = meta.get("fetch_seconds") or meta.get("download_latency") or 0.0
            slot.judge(failed, fetch_seconds, meta.get(_CRAWL_DELAY, 0.0), retry_after, self._rng)


def agent_token(user_agent: str) -> str:
    """The product token of a User-Agent header: what robots.txt groups are named by."""
    return user_agent.partition(" ")[0].partition("/")[0] or "*"


def _header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return None if value is None else value.decode("latin-1")
