"""`scrapy crawl`, as Scrapy's, with an exit code that tells whether the crawl could do its work."""

from __future__ import annotations

import argparse
import sys

from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.exceptions import UsageError

from crawlerproj import settings as project_settings
from crawlerproj.assembly import Crawl


class Command(CrawlCommand):
    def long_desc(self) -> str:
        return (
            "Run a spider; the same command goes on with a crawl that was stopped or killed. Arguments of "
            "the spider web: -a seeds=FILE, a URL, a comma list of URLs, or - (standard input); -a "
            "allow=REGEX, -a deny=REGEX; -a domains=edu,ac.uk, -a exclude_domains=...; -a mode=once. "
            "Settings, such as -s CRAWL_DIR=crawls/mine: crawlerproj/settings.py names them all. Exit 1: the "
            "crawl could not do its work, the last line says why."
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        for name in dir(project_settings):
            kind = type(getattr(project_settings, name))
            if name.isupper() and kind in (bool, int, float):
                try:
                    self.settings.getbool(name) if kind is bool else self.settings.getfloat(name)
                except (TypeError, ValueError):
                    what = "True or False" if kind is bool else "a number"
                    raise UsageError(f"{name} is {self.settings.get(name)!r}: give {what}, as "
                                     "crawlerproj/settings.py says") from None

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("name one spider, as in: scrapy crawl web -a seeds=seeds/edu.txt")
        assert self.crawler_process is not None
        try:
            crawler = self._create_crawler(args[0])
        except KeyError:
            known = ", ".join(sorted(self.crawler_process.spider_loader.list()))
            raise UsageError(f"there is no spider {args[0]!r}; there are: {known}") from None
        self.crawler_process.crawl(crawler, **opts.spargs)
        self.crawler_process.start()
        if self.crawler_process.bootstrap_failed:
            self.exitcode = 1
        failure = Crawl.of(crawler).failure
        if failure:
            print(f"scrapy crawl: {failure}", file=sys.stderr)
            self.exitcode = 1
