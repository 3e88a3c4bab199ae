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
import zstandard
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.demoweb.coverage import coverage
from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb
from crawlerproj.documents.rows import Captured, archived_files, captures
from crawlerproj.documents.soft_404 import is_probe
from crawlerproj.parse.page import parse_html
from crawlerproj.urls.canonical import Speller

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

    def logged(self) -> dict[str, list[str]]:
        """What the edge logs say that each page links to: its latest record, read by another's reader."""
        said: dict[str, tuple[float, list[str]]] = {}
        for path in sorted((self.directory / "edges").glob("*.zst")):
            with path.open("rb") as stream:
                reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
                text = reader.read().decode()
            for page in text.split("\x01")[1:]:
                head, *links = page.splitlines()
                source, at = head.split("\t")
                if float(at) >= said.get(source, (0.0, []))[0]:
                    said[source] = float(at), [link.split("\t")[0] for link in links]
        return {source: links for source, (_, links) in said.items()}

    def assert_linked(self) -> None:
        """The edge logs say of each page what is in the archive, and nothing of any other."""
        captured: dict[str, Captured] = {}
        problems: list[str] = []
        for path in archived_files(self.directory / "warc"):
            for capture in captures(path, problems):
                record, status = capture.record, capture.http.status
                heard = status < 500 and status != 429 and record.fields.get("warc-truncated") != "disconnect"
                before = captured.get(record.url)
                if heard and not record.url.endswith("robots.txt") and not is_probe(record.url) and (
                    before is None or record.at >= before.record.at
                ):
                    captured[record.url] = capture
        logged = self.logged()
        assert not problems and captured
        assert sorted(set(captured) - set(logged)) == []
        spell = Speller().spell
        for url, capture in captured.items():
            kind = capture.http.header("content-type")
            if capture.http.status == 200 and kind.startswith("text/html"):
                page = parse_html(url, capture.http.body, kind, spell)
                assert logged[url] == [link.url for link in page.links], url
        stored = self.stored()
        assert [url for url in logged if url not in stored] == []

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
