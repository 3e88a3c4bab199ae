"""Stock Scrapy on the same web, for comparison: broad-crawl settings, robots on, LinkExtractor.

Nothing of this project is imported. Names come from a map in memory (`--hosts-file`, lines of
`address name`), so name resolution costs stock Scrapy nothing; other names go to its own resolver.
Last line of output: {"pages": n, "cpu_seconds": user + system of this process and its children from the
engine's start to the crawl's end, "start_up_cpu_seconds": the same from the process's start to the engine's}.
"""

from __future__ import annotations

import argparse
import json
import resource
from pathlib import Path

import scrapy
from scrapy import signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer

HOSTS: dict[str, str] = {}


class MapResolver(CachingThreadedResolver):
    def getHostByName(self, name, timeout=()):
        address = HOSTS.get(name)
        return defer.succeed(address) if address else super().getHostByName(name, timeout)


class StockSpider(scrapy.Spider):
    name = "stock"
    pages = 0

    async def start(self):
        for url in self.seeds:
            yield scrapy.Request(url)

    def parse(self, response):
        self.pages += 1
        if isinstance(response, HtmlResponse):
            for link in self.extractor.extract_links(response):
                yield scrapy.Request(link.url)


def settings(pages: int) -> dict[str, object]:
    return {
        "CONCURRENT_REQUESTS": 100,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "REACTOR_THREADPOOL_MAXSIZE": 20,
        "DOWNLOAD_DELAY": 0,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": True,
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "CLOSESPIDER_PAGECOUNT": pages,
        "TWISTED_DNS_RESOLVER": MapResolver,
    }


def cpu_seconds() -> float:
    """Of this process with all its threads, and of its children."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class CpuMeter:
    """What a crawl costs, apart from what it costs to start one: both are read at the engine's start."""

    def __init__(self, crawler: Crawler) -> None:
        self._start_up = 0.0
        crawler.signals.connect(self._engine_started, signal=signals.engine_started)

    def _engine_started(self) -> None:
        self._start_up = cpu_seconds()

    def figures(self) -> dict[str, float]:
        return {"cpu_seconds": round(cpu_seconds() - self._start_up, 3),
                "start_up_cpu_seconds": round(self._start_up, 3)}


def read_hosts(path: Path | None) -> None:
    for line in path.read_text().splitlines() if path else ():
        fields = line.partition("#")[0].split()
        HOSTS.update(dict.fromkeys(fields[1:], fields[0]) if fields else {})


def read_seeds(path: Path) -> list[str]:
    lines = [line.partition("\t")[0].strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=Path, required=True, help="one URL a line")
    parser.add_argument("--hosts-file", type=Path, help="lines of `address name`")
    parser.add_argument("--dns-server", help="accepted and not used: stock Scrapy takes no server")
    parser.add_argument("--pages", type=int, required=True)
    options = parser.parse_args()
    read_hosts(options.hosts_file)
    seeds = read_seeds(options.seeds)
    process = CrawlerProcess(settings(options.pages))
    crawler = process.create_crawler(StockSpider)
    process.crawl(crawler, seeds=seeds, extractor=LinkExtractor())
    meter = CpuMeter(crawler)
    process.start()
    pages = crawler.spider.pages if crawler.spider else 0
    print(json.dumps({"pages": pages, **meter.figures()}))


if __name__ == "__main__":
    main()
