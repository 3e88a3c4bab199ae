"""Fleets: several real workers over one real Redis, against a demo web on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from crawls.conftest import HASTE, ROOT, CrawlOf, crawl_of
from storage.redis_server import PROGRAM, Server

from crawlerproj.demoweb.coverage import coverage
from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb
from crawlerproj.judge.rules import judge_lines
from crawlerproj.judge.verdict import Violation

__all__ = ["crawl_of"]

LEASE_SECONDS = 6.0  # longer than a busy machine may leave a process without its turn
# So slow that no crawl ends before it has been looked at, on however busy a machine.
SLOW = {"DELAY_MINIMUM": "10", "IDLE_HORIZON": "100"}


@dataclass
class Worker:
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def wait(self, timeout: float = 200) -> int:
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the worker did not end:\n{self.said[-4000:]}") from None


@dataclass
class FleetOf:
    """A crawl of one demo web by workers that share its state."""

    crawl: CrawlOf
    server: Server
    workers: list[Worker] = field(default_factory=list)

    def start(self, *more: str, settings: dict[str, str] | None = None) -> Worker:
        log = self.crawl.directory.parent / f"worker-{len(self.workers)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(self.crawl.command(*more, settings=settings), cwd=ROOT, stdout=output,
                                       stderr=subprocess.STDOUT)
        worker = Worker(process, log)
        self.workers.append(worker)
        return worker

    def run(self, workers: int) -> None:
        """All of them, to the end."""
        started = [self.start() for _ in range(workers)]
        for worker in started:
            assert worker.wait() == 0, worker.said[-3000:]

    def running(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.process.poll() is None]

    def wait_until_fetched(self, requests: int) -> None:
        """Returns when the web has answered so many requests, or nobody asks any more."""
        deadline = time.monotonic() + 60
        while self.requests() < requests and self.running() and time.monotonic() < deadline:
            time.sleep(0.01)

    def requests(self) -> int:
        log = self.crawl.log
        return log.read_bytes().count(b'"url"') if log.exists() else 0

    def assert_covered(self) -> None:
        """As of one worker; but two that meet the same text within a commit may both follow it."""
        crawl = self.crawl
        found = coverage(crawl.web.truth(), crawl.fetched(), crawl.stored())
        over = [family for family, n, cap in found.over_cap if family != "duplicates" or n > 2 * cap]
        assert not (found.missing or found.forbidden or found.unknown or over), found.as_text()

    def violations(self) -> list[Violation]:
        lines = self.crawl.log.read_text().splitlines()
        return judge_lines(lines, float(HASTE["DELAY_FACTOR"]), float(HASTE["DELAY_MINIMUM"])).violations

    def closed_at(self) -> dict[str, float]:
        """When each connection was closed, as the server saw it."""
        rows = map(json.loads, self.crawl.log.read_text().splitlines())
        return {row["closed"]: row["at"] for row in rows if "closed" in row}

    def frontier(self, *arguments: str) -> dict[str, Any]:
        return self.crawl.frontier(*arguments)


@pytest.fixture
def fleet_of(tmp_path: Path) -> Iterator[Callable[..., FleetOf]]:
    """Makes fleets with a server of their own, which keeps a log; all ends with the test."""
    if PROGRAM is None:
        pytest.skip("redis-server is missing: apt-get install redis-server (or valkey)")
    webs: list[DemoWebProcess] = []
    fleets: list[FleetOf] = []

    def make(seed: int, hosts: int, pages: int, nuisance: str = "mild", sync: str = "always",
             **extra: str) -> FleetOf:
        log = tmp_path / f"access-{seed}.jsonl"
        web = start_demoweb(seed, hosts, pages, nuisance, log)
        webs.append(web)
        server = Server("--appendonly", "yes", "--appendfsync", sync)
        shared = {"STORAGE": server.url, "LEASE_SECONDS": f"{LEASE_SECONDS:g}", "LEASE_MARGIN": "0.5",
                  **extra}
        fleet = FleetOf(CrawlOf(web, tmp_path / f"crawl-{seed}", log, shared), server)
        fleets.append(fleet)
        return fleet

    yield make
    for fleet in fleets:
        for worker in fleet.running():
            os.kill(worker.process.pid, signal.SIGCONT)
            worker.kill()
        fleet.server.close()
    for web in webs:
        web.stop()
