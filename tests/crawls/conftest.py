"""Whole crawls against a demo web: real processes, real HTTP and DNS over loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.demoweb.coverage import coverage
from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb

ROOT = Path(__file__).parents[2]
PROOF = bool(os.environ.get("PROOF"))

# A hastened crawl: the rules are the product's, the waits are not.
HASTE = {
    "DELAY_MINIMUM": "0.02", "DELAY_FACTOR": "2", "DOWNLOAD_TIMEOUT": "2", "BACKOFF_BASE": "0.2",
    "BACKOFF_MAXIMUM": "2", "HOST_FAILURES_MAXIMUM": "4", "DNS_FIRST_WAIT": "0.5", "DNS_LAST_WAIT": "3",
    "DNS_NEGATIVE_TTL": "1",
    "IDLE_HORIZON": "5",
    "FETCH_PRIVATE_ADDRESSES": "1", "LOG_LEVEL": "INFO",
    "DISK_FREE_MINIMUM": "0",
}


@dataclass
class CrawlOf:
    """A crawl of one demo web into one directory, run as a user would."""

    web: DemoWebProcess
    directory: Path
    log: Path
    extra: dict[str, str]

    def command(self, *more: str, settings: dict[str, str] | None = None) -> list[str]:
        chosen = {**HASTE, "DNS_SERVERS": self.web.dns_server, "CRAWL_DIR": str(self.directory), **self.extra,
                  **(settings or {})}
        seeds = self.directory.parent / f"{self.directory.name}-seeds.txt"
        seeds.write_text("\n".join(self.web.seeds))
        pairs = [part for name, value in chosen.items() for part in ("-s", f"{name}={value}")]
        return [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={seeds}", *pairs, *more]

    def start(
        self, *more: str, fault: str = "", settings: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        environment = {**os.environ, "CRAWLERPROJ_FAULT": fault}
        return subprocess.Popen(self.command(*more, settings=settings), cwd=ROOT, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *more: str, fault: str = "", settings: dict[str, str] | None = None,
            timeout: float = 3600 if PROOF else 240) -> subprocess.CompletedProcess[str]:
        process = self.start(*more, fault=fault, settings=settings)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            raise AssertionError(f"the crawl did not end:\n{output[-4000:]}") from None
        return subprocess.CompletedProcess(process.args, process.returncode, output, "")

    def frontier(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "frontier", *arguments, "--dir", str(self.directory), "--json"],
            cwd=ROOT, capture_output=True, text=True, timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def stored(self) -> Counter[str]:
        """How often each URL has a response record, read by another's reader to the last byte."""
        found: Counter[str] = Counter()
        for path in sorted((self.directory / "warc").glob("*.warc.gz")):
            with path.open("rb") as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    if record.rec_type == "response":
                        record.content_stream().read()
                        found[record.rec_headers.get_header("WARC-Target-URI")] += 1
        return found

    def fetched(self) -> Counter[str]:
        lines = map(json.loads, self.log.read_text().splitlines())
        return Counter(line["url"] for line in lines if "url" in line)

    def assert_covered(self) -> None:
        """MUST is stored, NEVER was not asked for, each MAY family is within its cap."""
        found = coverage(self.web.truth(), self.fetched(), self.stored())
        assert found.holds, found.as_text()

    def assert_polite(self) -> None:
        """The judge finds no violation in the server's own log."""
        judged = subprocess.run(
            [sys.executable, "-m", "scrapy", "politeness", str(self.log),
             "--factor", HASTE["DELAY_FACTOR"], "--minimum", HASTE["DELAY_MINIMUM"]],
            cwd=ROOT, capture_output=True, text=True, timeout=120,
        )
        assert judged.returncode == 0, judged.stdout[-3000:] + judged.stderr[-1000:]


@pytest.fixture
def crawl_of(tmp_path: Path) -> Iterator[Callable[..., CrawlOf]]:
    """Makes crawls of demo webs; the servers end with the test."""
    webs: list[DemoWebProcess] = []

    def make(seed: int, hosts: int, pages: int, nuisance: str = "mild", **extra: str) -> CrawlOf:
        log = tmp_path / f"access-{seed}.jsonl"
        web = start_demoweb(seed, hosts, pages, nuisance, log)
        webs.append(web)
        return CrawlOf(web, tmp_path / f"crawl-{seed}", log, extra)

    yield make
    for web in webs:
        web.stop()
