"""`scrapy crawl`, as Scrapy's, with an exit code that tells whether the crawl could do its work."""

from __future__ import annotations

import argparse
import sys

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from crawlerproj.assembly import Crawl


class Command(CrawlCommand):
    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("name one spider, as in: scrapy crawl web -a seeds=seeds/edu.txt")
        assert self.crawler_process is not None
        crawler = self._create_crawler(args[0])
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        if self.crawler_process.bootstrap_failed:
            self.exitcode = 1
        failure = Crawl.of(crawler).failure
        if failure:
            print(f"scrapy crawl: {failure}", file=sys.stderr)
            self.exitcode = 1
