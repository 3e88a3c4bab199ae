"""One worker's part in a crawl that many share: leases, start URLs, orders, and when all is done.

`Fleet.tick` is called twice a second. While Redis is away it does nothing but say so: leases run out by
themselves, and nothing is sent without one.

The crawl is finished when nothing waits in any partition and nothing was offered while that was found out
(a page's links are offered before the page is done). It waits when what is left is not due for long: every
worker says so, at the same number of offered URLs, and together they hold all partitions.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.membership import Membership
from crawlerproj.frontier.partitions import PartitionedFronts, Partitions
from crawlerproj.opening import State
from crawlerproj.storage.commits import Commits
from crawlerproj.storage.interface import NEVER, Pause
from crawlerproj.storage.redis import RedisStorage, listing
from crawlerproj.storage.redis.leases import boot_clock

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.5
_START_URLS = 500  # taken at a time
_RATE_SECONDS = 5.0


class Fleet:
    """`offer` takes start URLs; `adopted` is told when partitions have come or gone; `look` is asked in
    every tick whether something that others do has helped this worker."""

    def __init__(self, state: State, storage: RedisStorage, frontier: Frontier, fronts: PartitionedFronts,
                 commits: Commits, *, idle_horizon: float, offer: Callable[[list[str]], int],
                 adopted: Callable[[], None], look: Callable[[], None],
                 hang_up: Callable[[set[int]], object]) -> None:
        self._state, self.storage, self._frontier, self._commits = state, storage, frontier, commits
        self._fronts, self._horizon = fronts, idle_horizon
        self._offer, self._adopted, self._look = offer, adopted, look
        partitions = Partitions(frontier, fronts, storage.partition_of)
        self.membership = Membership(storage, partitions, state.eligible, mark=commits.mark,
                                     landed=lambda: commits.groups, hang_up=hang_up)
        self.hang_up = hang_up
        self._renewed_at = -NEVER
        self._taken: list[tuple[int, list[str]]] = []  # start URLs, and the group they are durable with
        self._trouble = ""
        self._idle_at: int | None = None  # URLs offered when this worker had nothing more to do
        self._began = time.time()
        self._first = storage.counts.get("done", 0)
        self._done: list[tuple[float, int]] = []
        self.verdict = ""  # why the crawl ends for this worker; empty while it goes on
        self.order = ""
        self.others = 0

    # --- the tick ---------------------------------------------------------------------------

    def tick(self, now: float, wall: float) -> bool:
        """Gives whether there may be something to hand out, or the crawl may be over."""
        try:
            news = self._tick(now, wall)
        except Pause as pause:
            self._say(str(pause))
            self._fall_silent()
            return False
        self._say(self.storage.trouble)
        return news

    def _tick(self, now: float, wall: float) -> bool:
        lost = self._renew(now)
        present = self.storage.roster.tell(self.storage.worker, self._status(now))
        self.order = present.order or self.order
        self.membership.closing = self.membership.closing or self.order == "drain"
        mates = sorted(name for name, row in present.workers.items()
                       if row.get("region", "") == self._state.region and not row.get("leaving"))
        self.others = len(present.workers) - 1
        here = mates.index(self.storage.worker) if self.storage.worker in mates else 0
        claimed = self.membership.balance(wall, here, len(mates))
        if claimed or lost:
            self._adopted()
        news = bool(claimed) | self._start_urls()
        if self.storage.arrivals():
            self._fronts.arrivals()
            news = True
        self._look()
        if self.storage.dirty:
            self._commits.touched()
        before, self.verdict = self.verdict, self._end(now, wall, present.workers)
        return news or self.verdict != before

    def _renew(self, now: float) -> list[int]:
        if now - self._renewed_at < self.storage.leases.ttl / 3 and not self.storage.leases.lost:
            return []
        lost = self.membership.renew()
        self._renewed_at = now
        if lost:
            logger.warning("the leases of %d partitions are lost (stalled, or Redis was away too long): "
                           "their hosts go to other workers", len(lost))
        return lost

    def _fall_silent(self) -> None:
        """Redis is away: leases that have run out are given up all the same."""
        lost = self.membership.renew() if self.storage.leases.lost or self._overdue() else []
        if lost:
            self._adopted()
        self.verdict = ""

    def _overdue(self) -> bool:
        first = self.storage.leases.first_deadline()
        return first is not None and first <= boot_clock()

    def _say(self, trouble: str) -> None:
        if trouble and not self._trouble:
            logger.warning("%s", trouble)
        elif self._trouble and not trouble:
            logger.warning("Redis answers again: the crawl goes on")
        self._trouble = trouble

    # --- start URLs -------------------------------------------------------------------------

    def _start_urls(self) -> bool:
        """Takes what people have pushed; what has become durable need not be remembered any more."""
        while self._taken and self._taken[0][0] <= self._commits.groups:
            self.storage.start_urls.offered(self._taken[0][1])
            del self._taken[0]
        if self._commits.full or self.membership.closing:
            return False
        urls = self.storage.start_urls.pop(_START_URLS)
        if urls:
            self._offer([start_url(written) for written in urls])
            self._taken.append((self._commits.mark(), urls))
        return bool(urls)

    # --- the end ----------------------------------------------------------------------------

    def _end(self, now: float, wall: float, workers: dict[str, dict[str, Any]]) -> str:
        if self.membership.closing:
            return "drained" if self.membership.empty_handed and self._at_rest() else ""
        due = self._frontier.next_due()
        far = self._frontier.idle() if due is None else due - now > self._horizon
        if not far or not self._at_rest():
            self._idle_at = None
            return ""
        offered, waiting = listing.waiting(self.storage)
        wake = listing.next_wake(self.storage)
        self._idle_at = offered
        if wake <= wall + self._horizon:
            return ""
        if not waiting:
            same = listing.waiting(self.storage) == (offered, 0)
            return ("finished" if wake == NEVER else "waiting") if same else ""
        held = sum(int(row.get("partitions", 0)) for row in workers.values())
        all_idle = all(row.get("idle") == offered for row in workers.values())
        return "waiting" if all_idle and held >= self.storage.partitions else ""

    def _at_rest(self) -> bool:
        frontier, commits = self._frontier, self._commits
        return not (frontier.in_hand or frontier.holding or commits.pending or self.storage.dirty
                    or self._taken)

    def close(self) -> None:
        """Nothing more is claimed; what is held is given back as soon as it can be."""
        self.membership.closing = True

    def leave(self) -> None:
        """All has landed and nothing is in hand."""
        try:
            self.membership.leave()
            for partition in list(self.storage.leases.held):
                self.storage.release(partition)
            self.storage.start_urls.offered([url for _, urls in self._taken for url in urls])
            self.storage.roster.leave(self.storage.worker)
        except Pause as pause:
            logger.warning("the leases could not be given back (%s): they end by themselves", pause)

    def counts(self) -> dict[str, int]:
        """Those of the whole crawl; this worker's own view of them while Redis is away."""
        try:
            return listing.counts(self.storage)
        except Pause:
            return self.storage.counts

    # --- what others see --------------------------------------------------------------------

    def _status(self, now: float) -> dict[str, Any]:
        self._done = [row for row in self._done if row[0] > now - _RATE_SECONDS] or self._done[-1:]
        done = self.storage.counts.get("done", 0) - self._first
        self._done.append((now, done))
        (before, first), (after, last) = self._done[0], self._done[-1]
        rate = (last - first) / (after - before) if after > before else 0.0
        frontier = self._frontier
        return {
            "machine": socket.gethostname(), "pid": os.getpid(), "began": round(self._began, 1),
            "done": done, "per_second": round(rate, 1), "in_flight": frontier.in_hand,
            "hosts": len(frontier.back), "partitions": len(self.membership.owned), "idle": self._idle_at,
            "region": self._state.region, "leaving": self.membership.closing, "trouble": self._trouble,
            "directory": str(self._state.directory.absolute()),
        }


def start_url(written: str) -> str:
    """A start URL as people push it: the URL itself or, as scrapy-redis has it, JSON with a `url`."""
    if written.startswith("{"):
        try:
            return str(json.loads(written).get("url", ""))
        except ValueError:
            return written
    return written.strip()


class FleetClock:
    """Ticks on the event loop, and ends transfers whose lease has run out, at that moment.

    `aborts` gives, for each transfer under way that may no longer go on, how to end it.
    """

    def __init__(self, fleet: Fleet, wall: Callable[[], float], news: Callable[[], None],
                 aborts: Callable[[], Iterable[Callable[[], object]]],
                 stop: Callable[[str], None]) -> None:
        self._fleet, self._wall, self._news, self._aborts, self._stop = fleet, wall, news, aborts, stop
        self._stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The first tick, while the engine is not up yet."""
        self._fleet.tick(time.monotonic(), self._wall())
        self._timer = asyncio.get_running_loop().call_later(0.0, self.tick)

    def tick(self) -> None:
        news = self._fleet.tick(time.monotonic(), self._wall())
        self._abort()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(TICK_SECONDS, self.tick)
        if self._fleet.order == "stop" and not self._stopped:
            self._stopped = True
            self._stop("shutdown")
        if news:
            self._news()

    def _abort(self) -> None:
        for abort in list(self._aborts()):
            abort()
        ended = self._fleet.storage.leases.ended()
        if ended:
            self._fleet.hang_up(ended)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        first = self._fleet.storage.leases.first_deadline()
        left = None if first is None else first - boot_clock()
        if left is not None and 0.0 < left < 2 * TICK_SECONDS:
            self._deadline = asyncio.get_running_loop().call_later(left + 0.001, self._abort)

    def close(self) -> None:
        for timer in (self._timer, self._deadline):
            if timer is not None:
                timer.cancel()
