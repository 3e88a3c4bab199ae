"""One live line about a crawl: rewritten in a terminal, now and then a new one in a log.

With PROGRESS it goes to standard error; without, to the log every LOGSTATS_INTERVAL seconds, where
whoever runs crawls in the background (scrapyd, systemd) finds it.
"""

from __future__ import annotations

import logging
import sys
import time

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from crawlerproj.assembly import Crawl

logger = logging.getLogger(__name__)

_TERMINAL_SECONDS = 0.25
_LOG_SECONDS = 10.0
_FLEET_SECONDS = 5.0  # between two times that Redis is asked for the counts of all workers


class ProgressLine:
    """An extension."""

    def __init__(self, crawler: Crawler, log_seconds: float = 0.0) -> None:
        self._crawl = Crawl.of(crawler)
        self._logs = bool(log_seconds)
        self._terminal = not self._logs and sys.stderr.isatty()
        self._seconds = _TERMINAL_SECONDS if self._terminal else log_seconds or _LOG_SECONDS
        self._loop = create_looping_call(self._show)
        self._started = time.monotonic()
        self._first = 0
        self._shown = 0.0
        self._counts: dict[str, int] = {}
        self._counted = float("-inf")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ProgressLine:
        interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        live = crawler.settings.getbool("PROGRESS")
        if not live and interval <= 0:
            raise NotConfigured
        line = cls(crawler, 0.0 if live else interval)
        crawler.signals.connect(line._opened, signals.spider_opened)
        crawler.signals.connect(line._closed, signals.spider_closed)
        return line

    def _opened(self) -> None:
        if self._crawl.is_open:
            self._count(self._started)
            self._first = self._counts.get("done", 0)
        self._loop.start(self._seconds, now=False)

    def _closed(self) -> None:
        if self._loop.running:
            self._loop.stop()
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _count(self, now: float) -> None:
        """The counts of the whole crawl: those of one worker of a fleet say nothing of the queue."""
        crawl = self._crawl
        if crawl.fleet is None:
            self._counts, self._counted = crawl.storage.counts, now
        elif now - self._counted >= _FLEET_SECONDS and not crawl.fleet.storage.trouble:
            self._counts, self._counted = crawl.fleet.counts(), now

    def _show(self) -> None:
        crawl = self._crawl
        if not crawl.is_open:
            return
        now = time.monotonic()
        seconds = now - self._started
        if not self._terminal and seconds - self._shown < self._seconds / 2:
            return  # a looping call that was held up fires several times at once
        self._count(now)
        counts, counted = self._counts, self._counted - self._started
        done = counts.get("done", 0)
        queued = counts.get("offered", 0) - done - counts.get("parked", 0)
        rate = (done - self._first) / counted if counted > 0 else 0.0
        self._shown = seconds
        text = (f"{done:,} done  {queued:,} queued  {crawl.frontier.in_hand} in flight  "
                f"{len(crawl.frontier.back)} hosts  {rate:,.0f}/s  {seconds:,.0f} s")
        if self._logs:
            logger.info("%s", text)
            return
        sys.stderr.write(f"\r{text}\x1b[K" if self._terminal else f"{text}\n")
        sys.stderr.flush()
