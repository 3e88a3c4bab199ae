"""The frontier's side of Scrapy's downloader: when a transfer ends, its host is released.

No signal and no middleware sees every end of a request; `fetch` with try/finally does. Requests of
the frontier need no download slots: one host is never handed out twice.
"""

from __future__ import annotations

import asyncio
import time
from itertools import takewhile
from typing import Any

from pydispatch import dispatcher
from scrapy import Request, signals
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from crawlerproj.assembly import Crawl
from crawlerproj.fetch.outcomes import error_word, host_is_to_blame
from crawlerproj.fetch.politeness import retry_after_seconds
from crawlerproj.frontier.cannot_go_on import cannot_go_on
from crawlerproj.frontier.errands import Errand
from crawlerproj.frontier.short_way import ShortWay
from crawlerproj.frontier.stalls import BEAT_SECONDS, Stalls
from crawlerproj.parse.responses import page_of

_REDIRECTS = frozenset((301, 302, 303, 307, 308))


class FrontierDownloader(Downloader):
    """For DOWNLOADER."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl = Crawl.of(crawler)
        self._short_way = ShortWay(crawler)
        self._robots_under_way = 0
        self._slow_after = crawler.settings.getfloat("FETCH_SLOW_AFTER", 3.0)
        self._begun: dict[Request, float] = {}  # pages in transfer that are not slow, the eldest first
        self._slow: set[Request] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._stalls: Stalls | None = None
        self._heart: asyncio.TimerHandle | None = None
        self._robots_hops = crawler.settings.getint("ROBOTS_MAX_REDIRECTS", 5)

    def fetch(self, request: Request, spider: Any = None) -> Deferred[Response | Request]:
        return deferred_from_coro(self._fetch_and_read(request))

    def needs_backout(self) -> bool:
        # A robots.txt takes no page's place, and a slow page gives its own back: neither holds up the rest.
        limit: int = self.total_concurrency
        apart = self._robots_under_way + len(self._slow)
        if limit <= 0 or (len(self.active) - apart < limit and apart < 4 * limit):
            return False
        return apart >= 4 * limit or not self._places_given_back()

    def _places_given_back(self) -> bool:
        """Counts the pages that have become slow; if there is none, looks again when there may be one."""
        now = time.monotonic()
        slow = list(takewhile(lambda request: self._begun[request] + self._slow_after <= now, self._begun))
        for request in slow:
            del self._begun[request]
        self._slow.update(slow)
        if not slow and self._begun and self._timer is None:
            due = next(iter(self._begun.values())) + self._slow_after
            self._timer = asyncio.get_running_loop().call_later(due - now, self._look_again)
        return bool(slow)

    def _look_again(self) -> None:
        self._timer = None
        self._crawl.wake()

    def _beat(self) -> Stalls:
        """Begins with the first fetch, when the loop runs."""
        loop, now = asyncio.get_running_loop(), time.monotonic()
        if self._stalls is None:
            self._stalls = Stalls(now)
        self._stalls.beat(now)
        self._heart = loop.call_later(BEAT_SECONDS, self._beat)
        return self._stalls

    def close(self) -> None:
        for timer in (self._timer, self._heart):
            if timer is not None:
                timer.cancel()
        super().close()

    async def _fetch_and_read(self, request: Request) -> Response | Request:
        result = await self._fetch(request)
        errand: Errand | None = request.meta.get("frontier_ticket")
        if errand is not None and isinstance(result, Response) and self._short_way.is_open(request, errand):
            return await self._short_way.go(request, result)
        return result

    async def _fetch(self, request: Request) -> Response | Request:
        errand: Errand | None = request.meta.get("frontier_ticket")
        self.active.add(request)
        is_robots = errand is not None and bool(errand.robots)
        self._robots_under_way += is_robots
        begun, stalls = time.monotonic(), self._stalls or self._beat()
        if not is_robots:
            self._begun[request] = begun
        try:
            result: Response | Request = await self.middleware.download_async(
                self._enqueue_request, request)
            if errand is not None and errand.robots and isinstance(result, Response):
                self._robots(errand, request, result)
            return result
        except Exception as error:
            if errand is not None and not errand.status:
                errand.error = error_word(error)
                errand.host_failed = host_is_to_blame(error)
                self._crawl.fetch_failed(errand, error)
                if errand.robots:
                    self._crawl.robots_answer(errand, "", b"", "")
            raise
        finally:
            self.active.remove(request)
            self._slow.discard(request)
            self._begun.pop(request, None)
            self._robots_under_way -= is_robots
            if errand is not None and self._crawl.is_open:
                errand.stood_still = stalls.since(begun, time.monotonic())
                self._release(errand)

    def _release(self, errand: Errand) -> None:
        try:
            self._crawl.errands.release(errand, time.monotonic(), self._crawl.wall())
        except Exception as error:
            cannot_go_on(self._crawl, f"the host of {errand.url} could not be released", error)

    async def _enqueue_request(self, request: Request) -> Response:
        errand: Errand | None = request.meta.get("frontier_ticket")
        if errand is None:
            return await super()._enqueue_request(request)
        self._tell(signals.request_reached_downloader, request=request)
        started = time.monotonic()
        try:
            response: Response = await self.handlers.download_request_async(request)
            errand.status = response.status
            errand.cut = request.meta.get("download_truncated") == "disconnect"
            self._crawl.storage.count("responses", 1)
            header = response.headers.get(b"Retry-After")
            if header is not None and response.status in (429, 503):
                errand.retry_after = retry_after_seconds(header.decode("latin-1"), self._crawl.wall())
            self._count(response)
            self._tell(signals.response_downloaded, response=response, request=request)
            return response
        finally:
            measured = request.meta.get("fetch_seconds")
            if measured is None or not errand.status or "download_truncated" in request.meta:
                # We hung up: the host has seen it no earlier than now, whatever libcurl measured.
                measured = max(measured or 0.0, time.monotonic() - started)
            errand.fetch_seconds = measured
            self._tell(signals.request_left_downloader, request=request)

    def _tell(self, signal: object, **values: Any) -> None:
        """Sends a signal if anyone listens: most have no receiver, and finding that out is dear."""
        for sender in (id(self.crawler), id(dispatcher.Any)):
            if signal in dispatcher.connections.get(sender, ()):
                self.signals.send_catch_log(signal=signal, spider=self.crawler.spider, **values)
                return

    def _count(self, response: Response) -> None:
        """Scrapy's names for what its DownloaderStats counts, at a tenth of its price."""
        count = self.crawler.stats.inc_value
        count("downloader/request_count")
        count("downloader/response_count")
        count(f"downloader/response_status_count/{response.status}")
        count("downloader/response_bytes", len(response.body))

    def _robots(self, errand: Errand, request: Request, response: Response) -> None:
        """Keeps the rules, or goes where they have moved."""
        crawl = self._crawl
        errand.pages.append(page_of(response, request))
        headers = response.headers
        if errand.status in _REDIRECTS and errand.hops < self._robots_hops:
            location = (headers.get(b"Location") or b"").decode("latin-1")
            target = crawl.speller.spell(location, errand.url) if location else None
            if target is not None:
                same_group = crawl.same_group(errand.url, target)
                crawl.errands.robots_moved(errand, target, same_group, crawl.wall())
                return
        crawl.robots_answer(
            errand,
            (headers.get(b"Content-Type") or b"").decode("latin-1"),
            response.body,
            (headers.get(b"Cache-Control") or b"").decode("latin-1"),
        )
