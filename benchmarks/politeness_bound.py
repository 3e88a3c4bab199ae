"""How many fetches does the frontier make of those that politeness and concurrency allow?

Time is simulated: nothing sleeps, and no CPU time counts. The frontier and its storage are the real
ones; commit groups are sealed at 64 pages or 0.1 s after their first write and land 10 ms later.
2,000 hosts: sizes log-normal (most are small, a few could fill the span many times over), first URLs
at the start (40 %) or later, the rest in bursts; fetch times log-normal by host and page, crawl-delays
on one host in seven, a Retry-After now and then; 256 fetches at once; as many back queues as the
frontier gives itself. Every gap is checked: one kept too short ends the run with an error.

The bound. Host h has pages arriving at a[h,1] <= a[h,2] <= ..., its k-th fetch takes f[h,k] seconds
and is followed by a gap g[h,k] = max(min(10 f, 300), 2, crawl-delay, Retry-After). No schedule can
begin or end the k-th fetch earlier than

    begin[h,k] = max(a[h,k], end[h,k-1] + g[h,k-1])        end[h,k] = begin[h,k] + f[h,k]

so at most n[h] = #{k : end[h,k] <= T} fetches of h end within the span T. At most C transfers at once
leave C x T seconds for transfers; whatever is chosen, the shortest fetches are the most that fit:

    bound = max { |S| : S within {(h,k) : k <= n[h]},  sum of f over S <= C x T }

`share_of_bound` is the fetches that ended within T, divided by this bound. The start is part of the
span: 800 hosts are due in its first instant. `share_with_dead_hosts` is the same for the living hosts
alone, with the bound of the living hosts alone, while 30 % of all hosts are dead: each contact with
one holds a place among the 256 until it times out after 10 s (connecting; two hosts in three) or 30 s
(first byte), and the back-off after it is that of fetch/politeness.py, parked beyond 300 s.

With 2,000 hosts the gaps bind, not the concurrency (a host is busy a tenth of its time at most), so
`share_of_scarce_places` runs the same hosts with 32 at once: seconds of transfer within T, divided by
min(32 x T, the seconds that the gaps allow).

    python benchmarks/politeness_bound.py [--quick] [--seed N]

The last line is {"name": "politeness_bound", "figures": {...}}.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import accumulate, count
from pathlib import Path

import xxhash

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlerproj.fetch.politeness import Politeness
from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.limits import Limits
from crawlerproj.frontier.prioritiser import Prioritiser
from crawlerproj.items import Candidate
from crawlerproj.storage.embedded import EmbeddedStorage, Group

HOSTS, CONCURRENCY, SCARCE, DEAD = 2_000, 256, 32, 0.3
PAGES, INTERVAL, WRITING = 64, 0.1, 0.01  # a commit group, and the seconds its write takes
MARKS = 5.0  # seconds between two refreshes of the front queues' marks
PARK_BEYOND = 300.0  # seconds of rest: a host with more gives its back queue away
TICK = 0.001  # the event loop's timers are not finer
MANNERS = Politeness()


@dataclass(slots=True)
class Host:
    """One host: its pages' arrivals, and what its fetches will take, in the order they are made."""

    name: str
    arrivals: list[float]
    fetches: list[tuple[float, float]] = field(default_factory=list)  # seconds, gap after it
    allowed: int = 0  # that can end within the span
    timeout: float = 0.0  # of a dead host
    made: int = 0
    ready_at: float = 0.0
    busy: bool = False


def make_hosts(rng: random.Random, span: float, dead: float) -> list[Host]:
    hosts = []
    for number in range(HOSTS):
        size = min(max(1, round(rng.lognormvariate(0, 1.5) * span / 4)), round(span))
        first = 0.0 if rng.random() < 0.4 else span * 0.75 * rng.random() ** 2
        arrivals: list[float] = []
        when = first
        while len(arrivals) < size:
            # A page brings many links at once; a hub brings hundreds.
            arrivals += [when] * min(size - len(arrivals), 1 + int(rng.paretovariate(1.0)) * 4)
            when += rng.expovariate(1 / 5.0)
        host = Host(f"site-{number}.example", [moment for moment in arrivals if moment < span])
        typical = rng.lognormvariate(-1.4, 0.9)  # a median of 0.25 s
        crawl_delay = rng.choice((5.0, 10.0, 30.0)) if rng.random() < 1 / 7 else 0.0
        _plan(host, typical, crawl_delay, span, random.Random(rng.random()))
        if rng.random() < dead:
            host.timeout = 10.0 if rng.random() < 2 / 3 else 30.0
        hosts.append(host)
    return hosts


def _plan(host: Host, typical: float, crawl_delay: float, span: float, rng: random.Random) -> None:
    """The earliest moment of each fetch: what the gaps alone allow."""
    ready = 0.0
    for arrival in host.arrivals:
        begin = max(arrival, ready)
        if begin > span:
            return
        seconds = min(max(typical * rng.lognormvariate(0, 0.5), 0.02), 50.0)
        asked = rng.choice((10.0, 60.0)) if rng.random() < 0.002 else 0.0
        gap = MANNERS.delay(seconds, crawl_delay, asked)
        host.fetches.append((seconds, gap))
        host.allowed += begin + seconds <= span
        ready = begin + seconds + gap


def bound(hosts: list[Host], places: int, span: float) -> int:
    """The most fetches that gaps and places allow: see the top."""
    allowed = sorted(seconds for host in hosts for seconds, _ in host.fetches[: host.allowed])
    return sum(total <= places * span for total in accumulate(allowed))


class Simulation:
    """A crawl in simulated time: who does what is as in scheduler, errands and commits."""

    def __init__(self, directory: Path, hosts: list[Host], places: int, span: float, seed: int) -> None:
        self.hosts = {xxhash.xxh3_64_digest(host.name.encode()): host for host in hosts}
        self.places, self.span = places, span
        self.rng = random.Random(seed)
        self.now = 0.0
        self.under_way = 0
        self.ended = 0  # fetches of living hosts
        self.transfer_seconds = 0.0
        self.back_queues = 0
        self._events: list[tuple[float, int, str, object]] = []
        self._numbers = count()
        self._landing = False
        self._timer = False
        self.storage = EmbeddedStorage(directory, sync=False)
        limits = Limits(back_queues_min=3 * places)
        self.frontier = Frontier(
            self.storage, limits, key_of=_key_of, group_of=_group_of,
            priority_of=Prioritiser(limits.queues), now=0.0, wall=1e9, rng=self.rng,
        )
        for host in hosts:
            bursts: dict[float, int] = {}
            for arrival in host.arrivals:
                bursts[arrival] = bursts.get(arrival, 0) + 1
            first = 0
            for arrival, many in bursts.items():
                self._at(arrival, "arrive", (host.name, first, many))
                first += many
        self._at(MARKS, "mark", None)

    def _at(self, when: float, what: str, whom: object) -> None:
        heapq.heappush(self._events, (when, next(self._numbers), what, whom))

    def run(self) -> None:
        """Until the span is over."""
        while True:
            due = self._draw()
            event = self._events[0][0]  # never empty: there is always a next mark
            self.now = event if due is None else min(event, max(due, self.now + TICK))
            if self.now > self.span:
                break
            while self._events and self._events[0][0] <= self.now:
                _, _, what, whom = heapq.heappop(self._events)
                getattr(self, "_" + what)(whom)
        # What is still under way has held its place until now.
        self.transfer_seconds += sum(
            self.span - whom[1] for _, _, what, whom in self._events if what == "end"  # type: ignore[index]
        )
        self.storage.close()

    # --- as the scheduler does it -----------------------------------------------------------

    def _draw(self) -> float | None:
        """Begins all that may begin now; says when to look again, if no event comes first."""
        frontier = self.frontier
        while self.under_way < self.places:
            if self._landing and self.storage.open_pages >= PAGES:
                return None  # one group is being written and the next is full
            ticket = frontier.take(self.now)
            self._touched()
            if ticket is None:
                self.back_queues = max(self.back_queues, len(frontier.back))
                return frontier.next_due()
            frontier.begin(ticket, self.now)
            self._begin(ticket)
        return None

    def _begin(self, ticket: Ticket) -> None:
        host = self.hosts[ticket.host]
        if host.busy or self.now < host.ready_at - 1e-6:
            raise RuntimeError(f"impolite: {host.name} at {self.now}, ready at {host.ready_at}")
        host.busy = True
        self.under_way += 1
        seconds = host.timeout or host.fetches[host.made][0]
        self._at(self.now + seconds, "end", (ticket, self.now))

    def _arrive(self, links: tuple[str, int, int]) -> None:
        name, first, many = links
        self.frontier.offer(
            Candidate(f"https://{name}/{number}", depth=number % 7) for number in range(first, first + many)
        )
        self._touched()

    # --- as errands do it -------------------------------------------------------------------

    def _end(self, transfer: tuple[Ticket, float]) -> None:
        ticket, began = transfer
        host, frontier = self.hosts[ticket.host], self.frontier
        self.under_way -= 1
        self.transfer_seconds += self.now - began
        failures = MANNERS.failures_after(frontier.failures(ticket.host), bool(host.timeout))
        if host.timeout:
            gap = MANNERS.delay(host.timeout, failures=failures, rng=self.rng)
        else:
            gap = host.fetches[host.made][1]
            self.ended += 1
        host.made += 1
        host.busy, host.ready_at = False, self.now + gap
        frontier.release(ticket.host, self.now, gap, failures)
        if host.timeout:
            ticket.attempts -= 1  # not the page's fault
            frontier.settle(ticket, "retry", "timeout")
        else:
            frontier.settle(ticket, "done", "200")
        if gap > PARK_BEYOND:
            frontier.park(ticket.host, ticket.name, 1e9 + self.now + gap, "failing")
        self._touched()

    # --- as commits do it -------------------------------------------------------------------

    def _touched(self) -> None:
        if self._landing or not self.storage.dirty:
            return
        if self.storage.open_pages >= PAGES:
            self._seal(None)
        elif not self._timer:
            self._timer = True
            self._at(self.now + INTERVAL, "seal", self.storage)

    def _seal(self, by_timer: object) -> None:
        if by_timer is not None:
            self._timer = False
        group = None if self._landing else self.storage.seal()
        if group is not None:
            self._landing = True
            self._at(self.now + WRITING, "land", group)

    def _land(self, group: Group) -> None:
        # Written at the last moment: until then, reads show the state before the group.
        self.storage.write(group, lambda: None)
        self._landing = False
        self.frontier.landed(group.settled, self.storage.landed(group))
        self._touched()

    def _mark(self, _: None) -> None:
        self.frontier.mark()
        self._at(self.now + MARKS, "mark", None)


def _key_of(candidate: Candidate) -> bytes:
    key: bytes = xxhash.xxh3_128_digest(candidate.url.encode(), 1)
    return key


def _group_of(url: str) -> tuple[bytes, str]:
    name = url.split("/", 3)[2]
    return xxhash.xxh3_64_digest(name.encode()), name


def simulate(span: float, seed: int, places: int = CONCURRENCY, dead: float = 0.0) -> dict[str, float]:
    """One crawl of the span; its fetches against their bound."""
    began = time.process_time()
    hosts = make_hosts(random.Random(seed), span, dead)
    living = [host for host in hosts if not host.timeout]
    place = Path(tempfile.mkdtemp(prefix="politeness-bound-"))
    try:
        crawl = Simulation(place, hosts, places, span, seed)
        crawl.run()
    finally:
        shutil.rmtree(place)
    most = bound(living, places, span)
    by_gaps = sum(seconds for host in living for seconds, _ in host.fetches[: host.allowed])
    return {
        "share": crawl.ended / most,
        "fetches": crawl.ended,
        "bound": most,
        "share_of_places": crawl.transfer_seconds / min(places * span, by_gaps),
        "places_used": crawl.transfer_seconds / (places * span),
        "urls": sum(len(host.arrivals) for host in hosts),
        "hosts_with_work_left": sum(len(host.arrivals) > host.allowed for host in living),
        "back_queues": crawl.back_queues,
        "cpu_s": time.process_time() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a shorter span")
    parser.add_argument("--span", type=float, help="simulated seconds (default: 1800, quick: 400)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    span = options.span or (400.0 if options.quick else 1800.0)
    found = {}
    for name, more in (("living", {}), ("dead", {"dead": DEAD}), ("scarce", {"places": SCARCE})):
        found[name] = simulate(span, options.seed, **more)  # type: ignore[arg-type]
        print(name, {key: round(value, 4) for key, value in found[name].items()}, flush=True)
    figures = {
        "share_of_bound": round(found["living"]["share"], 4),
        "share_with_dead_hosts": round(found["dead"]["share"], 4),
        "share_of_scarce_places": round(found["scarce"]["share_of_places"], 4),
        "fetches": found["living"]["fetches"],
        "bound": found["living"]["bound"],
        "back_queues": found["living"]["back_queues"],
        "simulated_s": span,
    }
    print(json.dumps({"name": "politeness_bound", "figures": figures}))


if __name__ == "__main__":
    main()
