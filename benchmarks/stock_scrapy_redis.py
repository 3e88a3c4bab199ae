"""Scrapy with scrapy-redis on the same web, for comparison: stock_scrapy.py with its queue and its
duplicates filter in Redis. Last line of output: {"pages": n, "cpu_seconds": of this process}.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from stock_scrapy import StockSpider, cpu_seconds, read_hosts, read_seeds, settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=Path, required=True, help="one URL a line")
    parser.add_argument("--hosts-file", type=Path, help="lines of `address name`")
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--redis", required=True, help="URL of the server")
    options = parser.parse_args()
    read_hosts(options.hosts_file)
    chosen = {
        **settings(options.pages), "REDIS_URL": options.redis,
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    }
    chosen.pop("SCHEDULER_PRIORITY_QUEUE")
    process = CrawlerProcess(chosen)
    crawler = process.create_crawler(StockSpider)
    process.crawl(crawler, seeds=read_seeds(options.seeds), extractor=LinkExtractor())
    before = cpu_seconds()
    process.start()
    pages = crawler.spider.pages if crawler.spider else 0
    print(json.dumps({"pages": pages, "cpu_seconds": round(cpu_seconds() - before, 3)}))


if __name__ == "__main__":
    main()
