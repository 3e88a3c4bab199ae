"""`scrapy demo`: serve the demo web and crawl it, on this machine alone."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from scrapy.commands import ScrapyCommand

from crawlerproj.assembly import Crawl
from crawlerproj.demoweb.options import add_world_options, choose_ports
from crawlerproj.demoweb.process import DemoWebFailed, start_demoweb
from crawlerproj.summary import closing_words

PROFILE: dict[str, Any] = {
    "DELAY_MINIMUM": 0.05,
    "DELAY_FACTOR": 10,
    "DOWNLOAD_TIMEOUT": 2,
    "BACKOFF_BASE": 0.25,
    "BACKOFF_MAXIMUM": 4,
    "HOST_FAILURES_MAXIMUM": 5,
    "DNS_FIRST_WAIT": 0.5,
    "DNS_LAST_WAIT": 3,
    "DNS_NEGATIVE_TTL": 1,
    "IDLE_HORIZON": 5,
}
_ALWAYS: dict[str, Any] = {
    "FETCH_PRIVATE_ADDRESSES": True, "CRAWLER_CONTACT": "http://localhost/", "PROGRESS": True,
    "LOG_LEVEL": "WARNING",
}


class Command(ScrapyCommand):
    requires_project = True

    def syntax(self) -> str:
        return "[options]"

    def short_desc(self) -> str:
        return "Serve the demo web and crawl it to its end: no internet needed"

    def long_desc(self) -> str:
        return (
            "Serves a web made from a seed number on loopback addresses and crawls it. Killed at any moment, "
            "the same command goes on. The crawl is a hastened one: its settings are printed at the start."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add_world_options(parser)
        parser.add_argument("--real-delays", action="store_true", help="the product's own delays")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        # A closed crawl leaves nothing open on purpose: the servers' answers are bounded at a second.
        profile = {**_ALWAYS, **({} if opts.real_delays else PROFILE)}
        assert self.settings is not None
        for name, value in profile.items():
            self.settings.set(name, value, priority="spider")
        self.settings.set("CRAWL_DIR", f"crawls/demo-{opts.seed}", priority="spider")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.crawler_process is not None and self.settings is not None
        directory = Path(self.settings["CRAWL_DIR"])
        directory.mkdir(parents=True, exist_ok=True)
        try:
            port, dns_port = choose_ports(opts.seed, opts.port, opts.dns_port)
            log = Path(opts.log or directory / "access.jsonl")
            web = start_demoweb(opts.seed, opts.hosts, opts.pages, opts.nuisance, log, port, dns_port)
        except (DemoWebFailed, ValueError) as error:
            print(f"scrapy demo: {error}", file=sys.stderr)
            self.exitcode = 1
            return
        with web:
            print(f"Demo web {opts.seed}: {opts.hosts} hosts, about {opts.pages:,} pages, on loopback.")
            if not opts.real_delays:
                print("Settings: " + ", ".join(f"{name} {self.settings[name]}" for name in PROFILE))
            print(f"Crawling into {directory}; Ctrl-C stops cleanly, the same command goes on.", flush=True)
            self._crawl(web.dns_server, ",".join(web.seeds), log)

    def _crawl(self, dns_server: str, seeds: str, log: Path) -> None:
        assert self.crawler_process is not None and self.settings is not None
        self.settings.set("DNS_SERVERS", [dns_server], priority="spider")
        crawler = self.crawler_process.create_crawler("web")
        crawler.settings.set("DNS_SERVERS", [dns_server], priority="spider")
        started = time.monotonic()
        self.crawler_process.crawl(crawler, seeds=seeds)
        self.crawler_process.start()
        crawl = Crawl.of(crawler)
        stats = crawler.stats.get_stats()
        if self.crawler_process.bootstrap_failed or crawl.failure:
            print(f"scrapy demo: {crawl.failure or 'the crawl could not start'}", file=sys.stderr)
            self.exitcode = 1
            return
        print(closing_words(crawl, str(stats.get("finish_reason")), crawl.final_counts, stats))
        print(f"  access log of the demo web: {log}")
        print(f"  {time.monotonic() - started:.1f} s; judge it: scrapy politeness {log}"
              f" --factor {self.settings['DELAY_FACTOR']} --minimum {self.settings['DELAY_MINIMUM']}")
