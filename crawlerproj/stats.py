"""Scrapy's statistics, cheaper to count: some dozen are for every page."""

from __future__ import annotations

from scrapy.statscollectors import MemoryStatsCollector


class CrawlStats(MemoryStatsCollector):
    """For STATS_CLASS. Scrapy's looks each method up by hand at every call, to warn of old arguments."""

    __getattribute__ = object.__getattribute__
