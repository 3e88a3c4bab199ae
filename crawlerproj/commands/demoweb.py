"""`scrapy demoweb`: serve a web whose truth is known, or print its seeds or its truth."""

import argparse

from scrapy.commands import ScrapyCommand

from crawlerproj.commands.outcome import outcome
from crawlerproj.demoweb.options import add_options, run


class Command(ScrapyCommand):
    """Runs its own event loop: no crawl, no reactor."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Serve a web whose truth is known (hosts on loopback addresses, DNS, access log)"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_options(parser)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        with outcome(self, "demoweb"):
            self.exitcode = run(opts)
