"""A fresh Scrapy project, as `scrapy startproject` makes it, with and without the add-on, on the demo web."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb

ROOT = Path(__file__).parents[2]
ADDON = {"ADDONS": '{"crawlerproj.addon.Mercator": 100}'}
# The rules are the product's, the waits are not.
HASTE = {
    "DELAY_MINIMUM": "0.02", "DELAY_FACTOR": "2", "BACKOFF_BASE": "0.2", "BACKOFF_MAXIMUM": "1",
    "IDLE_HORIZON": "5", "DISK_FREE_MINIMUM": "0",
}
# Names of the demo web are known to its own server alone: the crawl without the add-on needs our client too.
CLIENT = "crawlerproj.fetch.curl_handler.CurlDownloadHandler"

SPIDERS = '''
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider


class Pages(CrawlSpider):
    name = "pages"
    rules = [Rule(LinkExtractor(deny="/deny/"), callback="parse_page", follow=True)]

    def __init__(self, seeds="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = seeds.split(",")

    def parse_page(self, response):
        title = response.css("title::text").get()
        yield {"url": response.url, "title": title, "text": response.meta["link_text"]}

    def parse_start_url(self, response):
        yield {"url": response.url, "title": response.css("title::text").get(), "text": "start"}


class Listed(SitemapSpider):
    name = "listed"
    sitemap_rules = [("", "parse_page")]

    def __init__(self, seeds="", **kwargs):
        super().__init__(**kwargs)
        self.sitemap_urls = seeds.split(",")

    def parse_page(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
'''


@dataclass
class Project:
    """A Scrapy project in a directory of its own, and the demo web it crawls."""

    directory: Path
    web: DemoWebProcess
    log: Path
    settings: dict[str, str] = field(default_factory=dict)

    def command(self, spider: str, *more: str, seeds: list[str] | None = None, addon: bool = True,
                **settings: str) -> list[str]:
        chosen = {
            "DNS_SERVERS": self.web.dns_server, "FETCH_PRIVATE_ADDRESSES": "1", "LOG_LEVEL": "INFO",
            "REMOTE_CONTROL_ENABLED": "0", "TELNETCONSOLE_ENABLED": "0", "DOWNLOAD_TIMEOUT": "5",
            **(ADDON | HASTE if addon else
               {"DOWNLOAD_HANDLERS": json.dumps({"http": CLIENT, "https": CLIENT}), "DOWNLOAD_DELAY": "0",
                "CONCURRENT_REQUESTS_PER_DOMAIN": "8"}),
            **self.settings, **settings,
        }
        pairs = [part for name, value in chosen.items() for part in ("-s", f"{name}={value}")]
        seeds = self.web.seeds if seeds is None else seeds
        given = ["-a", f"seeds={','.join(seeds)}", *pairs, *more]
        return [sys.executable, "-m", "scrapy", "crawl", spider, *given]

    def start(self, *arguments: Any, **more: Any) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("SCRAPY_SETTINGS_MODULE", None)
        return subprocess.Popen(self.command(*arguments, **more), cwd=self.directory, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments: Any, **more: Any) -> str:
        """Runs a crawl to its end; what it said."""
        process = self.start(*arguments, **more)
        try:
            output, _ = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            raise AssertionError(f"the crawl did not end:\n{output[-4000:]}") from None
        return output

    def items(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.directory / name).read_text().splitlines()]

    def stored(self, spider: str) -> Counter[str]:
        """How often each URL has a response record, read by another's reader to the last byte."""
        found: Counter[str] = Counter()
        for path in sorted((self.directory / "crawls" / spider / "warc").glob("*.warc.gz")):
            with path.open("rb") as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    if record.rec_type == "response":
                        record.content_stream().read()
                        found[record.rec_headers.get_header("WARC-Target-URI")] += 1
        return found

    def fetched(self) -> Counter[str]:
        lines = map(json.loads, self.log.read_text().splitlines())
        return Counter(line["url"] for line in lines if "url" in line)

    def forget_visits(self) -> None:
        """What is judged begins here."""
        os.truncate(self.log, 0)

    def assert_polite(self, minimum: str = HASTE["DELAY_MINIMUM"]) -> None:
        judged = subprocess.run(
            [sys.executable, "-m", "scrapy", "politeness", str(self.log), "--factor", HASTE["DELAY_FACTOR"],
             "--minimum", minimum],
            cwd=ROOT, capture_output=True, text=True, timeout=120,
        )
        assert judged.returncode == 0, judged.stdout[-3000:] + judged.stderr[-1000:]


@pytest.fixture
def project_of(tmp_path: Path) -> Iterator[Callable[..., Project]]:
    """Makes projects, each with a demo web of its own; the servers end with the test."""
    webs: list[DemoWebProcess] = []

    def make(seed: int, hosts: int, pages: int, nuisance: str) -> Project:
        subprocess.run([sys.executable, "-m", "scrapy", "startproject", "shop"], cwd=tmp_path, check=True,
                       capture_output=True)
        (tmp_path / "shop" / "shop" / "spiders" / "all.py").write_text(SPIDERS)
        log = tmp_path / "access.jsonl"
        web = start_demoweb(seed, hosts, pages, nuisance, log)
        webs.append(web)
        return Project(tmp_path / "shop", web, log)

    yield make
    for web in webs:
        web.stop()
