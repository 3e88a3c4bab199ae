"""CRAWL_DIR/stats.jsonl: how a crawl went, one JSON line every STATS_INTERVAL seconds and one at its end.

    time      seconds since the epoch          worker    which process of the crawl wrote the line
    elapsed   seconds of this run              in_flight, back_queues    now
    counts    of the whole crawl
    reason    why the run ended, and stats, its numbers by their paths: in its last line only

A line is one write at the end of the file, so several workers may share it. A line torn by a crash is
closed by the next run; readers pass over what is no JSON.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from crawlerproj.assembly import Crawl

NAME = "stats.jsonl"


class StatsLog:
    """An extension."""

    def __init__(self, crawler: Crawler, seconds: float, max_bytes: int) -> None:
        self._crawler, self._crawl = crawler, Crawl.of(crawler)
        self._seconds, self._max_bytes = seconds, max_bytes
        self._path: Path = self._crawl.directory / NAME
        self._started = time.monotonic()
        self._loop = create_looping_call(self._write)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> StatsLog:
        seconds = crawler.settings.getfloat("STATS_INTERVAL", 10.0)
        if seconds <= 0:
            raise NotConfigured
        log = cls(crawler, seconds, crawler.settings.getint("STATS_MAX_BYTES", 64_000_000))
        crawler.signals.connect(log._opened, signals.spider_opened)
        crawler.signals.connect(log._closed, signals.spider_closed)
        return log

    def _opened(self) -> None:
        if self._crawl.is_open:
            self._close_torn_line()
            self._loop.start(self._seconds, now=False)

    def _closed(self, reason: str) -> None:
        if self._loop.running:
            self._loop.stop()
            self._write(reason)

    def _write(self, reason: str = "") -> None:
        crawl = self._crawl
        counts = crawl.storage.counts if crawl.is_open else crawl.final_counts
        line: dict[str, Any] = {
            "time": round(time.time(), 3), "worker": crawl.state.worker,
            "elapsed": round(time.monotonic() - self._started, 3), "counts": dict(counts),
            "in_flight": crawl.frontier.in_hand, "back_queues": len(crawl.frontier.back),
        }
        if reason:
            numbers = self._crawler.stats.get_stats().items()
            line["reason"] = reason
            line["stats"] = {path: value for path, value in numbers if isinstance(value, int | float)}
        try:
            if self._path.exists() and self._path.stat().st_size > self._max_bytes:
                self._path.replace(self._path.with_suffix(".jsonl.1"))
            self._append(json.dumps(line).encode() + b"\n")
        except OSError:  # a full disk is the commit's to tell; figures are not worth a crawl
            self._crawler.stats.inc_value("stats_log/failed")

    def _close_torn_line(self) -> None:
        try:
            if not self._path.exists() or not self._path.stat().st_size:
                return
            with self._path.open("rb") as file:
                file.seek(-1, os.SEEK_END)
                torn = file.read() != b"\n"
            if torn:
                self._append(b"\n")
        except OSError:
            self._crawler.stats.inc_value("stats_log/failed")

    def _append(self, data: bytes) -> None:
        with self._path.open("ab", buffering=0) as file:
            file.write(data)
