"""An hour of trouble in simulated time: crashes, hosts that die for a while, long waits asked for.

Nothing sleeps and no socket is opened. Frontier, storage and the rules of politeness are the real ones, with
the product's own delays and with time as an argument; a crash drops all memory and opens the storage again,
with the group under way written or not, as chance has it. What is not here is fetching itself: no robots.txt,
no DNS. Everything that would have been sent goes into a log, which the judge reads afterwards.
The same seed tells the same story to the last fetch.
"""

from __future__ import annotations

import heapq
import random
import resource
import time
from collections import Counter
from itertools import count
from pathlib import Path

import xxhash
from runs import Result

from crawlerproj.fetch.politeness import Politeness
from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.frontier.check import check
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.limits import Limits
from crawlerproj.items import Candidate
from crawlerproj.judge.rules import judge
from crawlerproj.judge.visits import Record, Visit
from crawlerproj.storage.embedded import EmbeddedStorage, Group

HOSTS, PLACES, CRASHES, HOUR = 400, 64, 60, 3600.0
LARGEST, CHILDREN = 500, 3
GROUP_PAGES, GROUP_SECONDS, WRITING_SECONDS = 64, 0.1, 0.01
PARK_BEYOND_SECONDS, TIMEOUT_SECONDS = 300.0, 10.0
MANNERS = Politeness()
_START = 1_700_000_000.0  # wall clock


def trouble(directory: Path, seed: int) -> Result:
    """An hour of simulated trouble on 400 hosts: crashes, some at bad moments, dead spells, long waits."""
    began = time.monotonic()
    story = Story(directory / "state", seed)
    story.run()
    return story.result(time.monotonic() - began)


class Story:
    def __init__(self, directory: Path, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.directory = directory
        self.sizes = [min(LARGEST, 1 + int(rng.lognormvariate(4, 1.2))) for _ in range(HOSTS)]
        self.typical = [rng.lognormvariate(-1.4, 0.9) for _ in range(HOSTS)]  # seconds; a median of 0.25
        self.crawl_delays = [rng.choice((5.0, 10.0)) if rng.random() < 0.1 else 0.0 for _ in range(HOSTS)]
        # Three hosts in ten are dead for up to twenty minutes.
        self.dead = [(begin := rng.uniform(0, HOUR), begin + rng.uniform(10, 1200))
                     if rng.random() < 0.3 else (0.0, 0.0) for _ in range(HOSTS)]
        self.crashes = sorted(rng.uniform(10, HOUR) for _ in range(CRASHES))
        self.crashed = 0
        self.now = 0.0  # since the beginning; the frontier's own clock starts anew with each process
        self.log = Record()
        self.answered: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.unsound: list[str] = []
        self._met: set[int] = set()
        self._numbers = count()
        self._open()
        self.frontier.offer([Candidate(_url(0, 0))])
        self._touched()

    def _open(self) -> None:
        """A new process: nothing under way, nothing in memory."""
        self.storage = EmbeddedStorage(self.directory, sync=False)
        self.frontier = Frontier(
            self.storage, Limits(back_queues_min=3 * PLACES, fetch_timeout=60.0),
            key_of=lambda candidate: xxhash.xxh3_128_digest(candidate.url.encode()), group_of=_group_of,
            priority_of=lambda candidate, host: 8 - min(candidate.depth, 7),
            now=self.now, wall=_START + self.now, rng=self.rng,
        )
        self.under_way: dict[int, tuple[Ticket, float]] = {}
        self._events: list[tuple[float, int, str, object]] = []
        self._landing: Group | None = None
        self._timer = False

    def _at(self, when: float, what: str, whom: object) -> None:
        heapq.heappush(self._events, (when, next(self._numbers), what, whom))

    def run(self) -> None:
        """Until every host has been asked for all it has."""
        while True:
            due = self._draw()
            moments = [self._events[0][0]] if self._events else []
            moments += [max(due, self.now + 0.001)] if due is not None else []
            if not moments:
                break
            self.now = max(self.now, min(moments))
            if self.crashes and self.now >= self.crashes[0]:
                heapq.heappop(self.crashes)
                self.crashed += 1
                self._crash()
                continue
            while self._events and self._events[0][0] <= self.now:
                _, _, what, whom = heapq.heappop(self._events)
                getattr(self, "_" + what)(whom)

    def _crash(self) -> None:
        for number, (ticket, started) in self.under_way.items():
            # The host's crawl-delay is known from its first answer on.
            self._write_down(number, ticket, started, 0, 0.0, known=_host(ticket) in self._met)
        if self._landing is not None and self.rng.random() < 0.5:
            self.storage.write(self._landing, lambda: None)
        self.storage.close()
        self.now += self.rng.uniform(0, 30)
        self._open()
        findings = check(self.storage, self.frontier.limits.queues, self.frontier.key_of)
        if findings.faults:
            self.unsound.append(f"after the crash at {self.now:.0f} s: {findings.faults}")

    def _draw(self) -> float | None:
        frontier = self.frontier
        while len(self.under_way) < PLACES:
            if self._landing is not None and self.storage.open_pages >= GROUP_PAGES:
                return None
            ticket = frontier.take(self.now)
            self._touched()
            if ticket is None:
                return frontier.next_due()
            frontier.begin(ticket, self.now)
            number, host = next(self._numbers), _host(ticket)
            self.asked[ticket.candidate.url] += 1
            self.under_way[number] = ticket, self.now
            dead = self.dead[host][0] <= self.now < self.dead[host][1]
            seconds = min(max(self.typical[host] * self.rng.lognormvariate(0, 0.5), 0.02), 50.0)
            self._at(self.now + (TIMEOUT_SECONDS if dead else seconds), "end", (number, dead))
        return None

    def _end(self, transfer: tuple[int, bool]) -> None:
        number, failed = transfer
        ticket, started = self.under_way.pop(number)
        frontier, host, url = self.frontier, _host(ticket), ticket.candidate.url
        busy = not failed and self.asked[url] == 1 and self.rng.random() < 0.01
        asked = self.rng.choice((10.0, 60.0, 400.0, 1800.0)) if busy else 0.0
        status = 0 if failed else 503 if busy else 200
        self._write_down(number, ticket, started, status, asked, known=not failed)
        if asked > PARK_BEYOND_SECONDS and self.now < HOUR and self.rng.random() < 0.5:
            # The worst moment for a crash: the host has asked for a long rest, which is not committed yet.
            heapq.heappush(self.crashes, self.now + self.rng.random() * GROUP_SECONDS)
        failures = MANNERS.failures_after(frontier.failures(ticket.host), failed)
        gap = MANNERS.delay(self.now - started, self.crawl_delays[host], asked, failures, self.rng)
        frontier.release(ticket.host, self.now, gap, failures)
        if failed:
            ticket.attempts -= 1  # not the page's fault
        if failed or busy:
            frontier.settle(ticket, "retry", "timeout" if failed else "503")
        else:
            self._met.add(host)
            self.answered[url] += 1
            links = self._links(url)
            frontier.offer(Candidate(link, depth=ticket.candidate.depth + 1) for link in links)
            frontier.settle(ticket, "done", "200")
        if gap > PARK_BEYOND_SECONDS:
            frontier.park(ticket.host, ticket.name, _START + self.now + gap, "failing" if failed else "asked")
        self._touched()

    def _links(self, url: str) -> list[str]:
        """Pages hang in a tree below their root, roots in a tree below the seed."""
        host, page = _numbers_of(url)
        first = page * CHILDREN + 1
        links = [_url(host, child) for child in range(first, min(first + CHILDREN, self.sizes[host]))]
        if page == 0:
            links += [_url(child, 0) for child in range(4 * host + 1, min(4 * host + 5, HOSTS))]
        return links

    def _write_down(
        self, number: int, ticket: Ticket, started: float, status: int, retry_after: float, known: bool
    ) -> None:
        host = _host(ticket)
        wanted = max(retry_after, self.crawl_delays[host] if known else 0.0)
        url = ticket.candidate.url
        line = f"{url} {started:.3f}..{self.now:.3f} {status} asks for {wanted:g} s"
        # Not by the wall clock: a double holds it to a quarter of a microsecond, and a gap is ten durations.
        self.log.visits.append(
            Visit(len(self.log.visits) + 1, line, ticket.name, ticket.name, str(number), started, started,
                  self.now, url, status, wanted)
        )

    # --- as commits do it ---------------------------------------------------------------------

    def _touched(self) -> None:
        if self._landing is not None or not self.storage.dirty:
            return
        if self.storage.open_pages >= GROUP_PAGES:
            self._seal(None)
        elif not self._timer:
            self._timer = True
            self._at(self.now + GROUP_SECONDS, "seal", True)

    def _seal(self, by_timer: object) -> None:
        if by_timer:
            self._timer = False
        group = None if self._landing is not None else self.storage.seal()
        if group is not None:
            self._landing = group
            self._at(self.now + WRITING_SECONDS, "land", group)

    def _land(self, group: Group) -> None:
        self.storage.write(group, lambda: None)
        self._landing = None
        self.frontier.landed(group.settled, self.storage.landed(group))
        self._touched()

    # --- what came of it ----------------------------------------------------------------------

    def result(self, seconds: float) -> Result:
        result = Result()
        reached, lost, poisoned = [_url(0, 0)], [], []
        for url in reached:
            state = (self.storage.known(self.frontier.key_of(Candidate(url))) or b"").decode()
            if state.startswith("d") and self.answered[url]:
                reached += self._links(url)
            else:
                (poisoned if state.startswith("p") else lost).append(url)
        findings = check(self.storage, self.frontier.limits.queues, self.frontier.key_of)
        self.storage.close()
        # Nobody asks for robots.txt here: the other rules are judged. Nobody notices late either.
        verdict = judge(self.log, MANNERS.factor, MANNERS.minimum, MANNERS.maximum, tolerance=1e-6)
        wrong = [found for found in verdict.violations if not found.kind.startswith("robots")]
        told = "\n".join(
            f"{found.kind}: {found.reason}\n  {found.previous and found.previous.line}\n  {found.visit.line}"
            for found in wrong[:5]
        )
        repeats = sum(n - 1 for n in self.answered.values())
        result.figures = {
            "hosts": HOSTS, "pages": sum(self.sizes), "crashes": self.crashed,
            "fetches": len(self.log.visits),
            "simulated": f"{self.now:.0f} s, trouble in the first {HOUR:.0f} s",
            "pages lost": len(lost), "parked as poison": len(poisoned),
            "politeness violations": f"{len(wrong)} in {len(verdict.ratios)} gaps, "
            f"smallest gap / required gap {verdict.worst_ratio:.3f}",
            "answered more than once": repeats,
            "peak RSS": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB",
            "duration": f"{seconds:.0f} s",
        }
        result.expect(not lost, f"{len(lost)} pages were lost, among them {lost[:3]}")
        result.expect(not wrong, f"{len(wrong)} violations:\n{told}")
        unsound = [*self.unsound, *findings.faults]
        result.expect(not unsound, f"the frontier is not sound: {unsound}")
        # A crash repeats what was under way and what two groups held.
        result.expect(repeats <= self.crashed * (PLACES + 2 * GROUP_PAGES), f"{repeats} repeats")
        return result


def _url(host: int, page: int) -> str:
    return f"http://site-{host}.example/{page}"


def _numbers_of(url: str) -> tuple[int, int]:
    name, _, page = url.removeprefix("http://site-").partition("/")
    return int(name.removesuffix(".example")), int(page)


def _host(ticket: Ticket) -> int:
    return _numbers_of(ticket.candidate.url)[0]


def _group_of(url: str) -> tuple[bytes, str]:
    name = url.split("/", 3)[2]
    return xxhash.xxh3_64_digest(name.encode()), name
