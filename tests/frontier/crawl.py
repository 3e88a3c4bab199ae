"""A frontier over the embedded storage, with time in the hands of the test."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.frontier.check import Findings, check
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.limits import Limits
from crawlerproj.items import Candidate
from crawlerproj.storage.embedded import EmbeddedStorage


def key_of(candidate: Candidate) -> bytes:
    return hashlib.blake2b(candidate.url.encode(), digest_size=16).digest()


def host_key(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=8).digest()


def group_of(url: str) -> tuple[bytes, str]:
    name = url.split("/", 3)[2]
    return host_key(name), name


class Crawl:
    """Short words for what happens to a frontier; URLs are written `host/path`."""

    def __init__(self, directory: Path, seed: int = 1, **limits: Any) -> None:
        self.directory = directory
        self.limits = Limits(**limits)
        self.rng = random.Random(seed)
        self.wall = 1_700_000_000.0
        self.open()

    def open(self) -> None:
        # Small caches: what they forget must not be missed.
        self.storage = EmbeddedStorage(
            self.directory, sync=False, memory_mb=16, hosts_cached=3, recent_keys=8
        )
        self.now = self.rng.uniform(0, 1000)  # the monotonic clock starts anywhere
        self.frontier = Frontier(
            self.storage, self.limits, key_of=key_of, group_of=group_of,
            priority_of=lambda candidate, host: candidate.priority or 1,
            now=self.now, wall=self.wall, rng=self.rng,
        )

    def close(self) -> None:
        self.storage.close()

    def crash(self, down: float = 0.0) -> None:
        """Everything in memory is gone; the next process starts `down` seconds later."""
        self.storage.close()
        self.wall += down
        self.open()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.wall += seconds

    def offer(self, *urls: str, priority: int = 1, **more: Any) -> int:
        return self.frontier.offer(Candidate("http://" + url, priority=priority, **more) for url in urls)

    def commit(self) -> None:
        group = self.storage.seal()
        if group is not None:
            self.storage.write(group, lambda: None)
            self.frontier.landed(group.settled, self.storage.landed(group))

    def add(self, *urls: str, priority: int = 1) -> None:
        self.offer(*urls, priority=priority)
        self.commit()

    def take(self) -> Ticket | None:
        return self.frontier.take(self.now)

    def begin(self) -> Ticket | None:
        ticket = self.take()
        if ticket is not None:
            self.frontier.begin(ticket, self.now)
        return ticket

    def release(self, ticket: Ticket, delay: float = 2.0) -> None:
        self.frontier.release(ticket.host, self.now, delay)

    def settle(self, ticket: Ticket, kind: str = "done") -> None:
        self.frontier.settle(ticket, kind, "200")

    def fetch(self, delay: float = 2.0, kind: str = "done") -> str | None:
        """One URL from its back queue to its end; its name, or None when no host is due."""
        ticket = self.begin()
        if ticket is None:
            return None
        self.release(ticket, delay)
        self.settle(ticket, kind)
        return name(ticket)

    def wait(self) -> bool:
        """Passes the time until the next host is due; False if none is."""
        due = self.frontier.next_due()
        if due is None:
            return False
        self.pass_time(max(0.0, due - self.now))
        return True

    def drain(self, delay: float = 2.0, limit: int = 10_000) -> list[str]:
        """Fetches whatever comes until nothing does, and commits after each; the names in order."""
        names: list[str] = []
        for _ in range(limit):
            url = self.fetch(delay)
            self.commit()
            if url is not None:
                names.append(url)
            elif not self.wait() and self.frontier.idle():
                return names
        raise AssertionError(f"no end after {limit} steps: {len(names)} fetched")

    def state(self, url: str) -> str:
        state = self.storage.known(key_of(Candidate("http://" + url)))
        return state.decode() if state is not None else "unknown"

    def check(self) -> Findings:
        return check(self.storage, self.limits.queues, key_of)


def name(ticket: Ticket | None) -> str | None:
    return ticket.candidate.url.removeprefix("http://") if ticket is not None else None
