"""The laws of the frontier, against a plain model, with crashes at any moment and time made up.

PROOF=1 tries many more and longer stories.
"""

from __future__ import annotations

import copy
import os
import random
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.storage.interface import NEVER

from .crawl import Crawl, host_key, name

PROOF = bool(os.environ.get("PROOF"))
HOSTS = [f"h{n}" for n in range(5)]
DELAY_MINIMUM, DELAY_FACTOR, DELAY_MAXIMUM, TIMEOUT, MAX_ATTEMPTS = 2.0, 10.0, 300.0, 60.0, 3
ALMOST = 0.001  # clocks are floats
KINDS = ["done", "done", "done", "parked", "retry"]

urls = st.tuples(st.sampled_from(HOSTS), st.integers(0, 9), st.integers(1, 3))
seconds = st.one_of(st.floats(0, 5), st.floats(0, 400))


@dataclass
class Durable:
    """What a commit keeps, as the model tells it."""

    state: dict[str, str] = field(default_factory=dict)  # url -> q, d:…, p:…
    rank: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)  # of retries
    parked: dict[str, float] = field(default_factory=dict)  # host -> wake time


class Laws(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")
        self.place = Path(tempfile.mkdtemp(prefix="laws-", dir=memory if memory.is_dir() else None))
        self.committed, self.working = Durable(), Durable()
        self.sealed: tuple[Any, Durable] | None = None
        self.begun: dict[str, Ticket] = {}  # in transfer, by host
        self.started: dict[str, float] = {}  # wall time
        self.hand: list[Ticket] = []  # released, not settled
        self.ready: dict[str, float] = {}  # host -> wall time before which it must not be contacted
        self.exact: set[str] = set()  # hosts whose ready time the model knows exactly
        self.on_record: dict[str, int] = {}  # url -> deaths on its record if the process died now
        self.suspects: set[str] = set()
        self.still_named: dict[str, int] = {}  # url -> deaths: settled, perhaps named by its contact
        self.perhaps: dict[str, int] = {}  # of these, those whose group was lost: suspects, or not
        self.unlanded_suspects: set[str] = set()
        self.out: Counter[str] = Counter()  # how often handed out
        self.excuses: Counter[str] = Counter()  # how often it may come again: retries, put backs, crashes

    @initialize(maximum=st.sampled_from([2, 3, 100]), minimum=st.integers(1, 2), quantum=st.integers(1, 4))
    def start(self, maximum: int, minimum: int, quantum: int) -> None:
        self.crawl = Crawl(
            self.place / "state", queues=3, back_queues_min=minimum, back_queues_max=maximum, quantum=quantum,
            max_attempts=MAX_ATTEMPTS, delay_factor=DELAY_FACTOR, delay_minimum=DELAY_MINIMUM,
            delay_maximum=DELAY_MAXIMUM, fetch_timeout=TIMEOUT, ready_maximum=4000.0,
        )

    def teardown(self) -> None:
        if hasattr(self, "crawl"):
            try:
                self.run_to_the_end()
            finally:
                self.crawl.close()
        shutil.rmtree(self.place)

    # --- what happens -----------------------------------------------------------------------

    @rule(seed=st.integers(0, 1 << 32), steps=st.integers(1, 60))
    def a_while(self, seed: int, steps: int) -> None:
        """Many things happen, the ordinary ones more often: gets a story into the depth of a crawl."""
        rng = random.Random(seed)
        things = rng.choices(range(9), [3, 10, 8, 6, 4, 3, 1, 0.5, 0.3], k=steps)
        for thing in things:
            if thing == 0:
                self.offer([(rng.choice(HOSTS), rng.randrange(10), rng.randint(1, 3))
                            for _ in range(rng.randint(1, 4))])
            elif thing == 1:
                self.take(rng.randrange(10))
            elif thing == 2 and self.begun:
                host = rng.choice(sorted(self.begun))
                self.release_one(host, rng.choice([0.0, 2.0, 30.0]), rng.randrange(8))
            elif thing == 3 and self.hand:
                self.settle_one(rng.randrange(len(self.hand)), rng.choice(KINDS))
            elif thing == 4:
                rng.choice([self.commit, self.seal if self.sealed is None else self.land])()
            elif thing == 5:
                rng.choice([self.crawl.wait, lambda: self.crawl.pass_time(rng.uniform(0, 5))])()
            elif thing == 6:
                self.marks()
            elif thing == 7:
                self.park(rng.choice(HOSTS), rng.choice([1.0, 50.0, NEVER]))
            elif thing == 8:
                self.crash(rng.choice([0.0, 1.0, 100.0]), rng.random() < 0.5)
            self.urls_are_where_the_model_has_them()
            self.back_queues_keep_to_their_limits()

    @rule(found=st.lists(urls, min_size=1, max_size=8))
    def offer(self, found: list[tuple[str, int, int]]) -> None:
        new = 0
        for host, path, priority in found:
            url = f"{host}/{path}"
            expected = url not in self.working.state
            assert self.crawl.offer(url, priority=priority) == expected
            if expected:
                self.working.state[url] = "q"
                self.working.rank[url] = 3 - priority
                new += 1

    @rule(passed=seconds)
    def time_passes(self, passed: float) -> None:
        self.crawl.pass_time(passed)

    @rule()
    def until_the_next_host_is_due(self) -> None:
        self.crawl.wait()

    @rule(give_back=st.integers(0, 9))
    def take(self, give_back: int) -> None:
        before = set(self.crawl.frontier.back)
        self._expect_woken()
        ticket = self.crawl.take()
        self._expect_poisoned()
        if ticket is None:
            self._nobody_could_be_taken(before)
            return
        url, host = name(ticket), ticket.name
        self._lawful(ticket)
        if give_back == 0:
            self.crawl.frontier.put_back(ticket)
            return
        self.out[url] += 1
        self.crawl.frontier.begin(ticket, self.crawl.now)
        self.begun[host] = ticket
        self.started[host] = self.crawl.wall
        self.on_record[url] = ticket.deaths + 1
        self._contact_written(host)
        if ticket.suspect:
            self.unlanded_suspects.add(url)
        self.suspects.discard(url)
        self.perhaps.pop(url, None)

    def _lawful(self, ticket: Ticket) -> None:
        url, host = name(ticket), ticket.name
        assert self.committed.state.get(url) == "q", "only what has landed can be taken"
        assert self.working.state[url] == "q"
        assert url not in map(name, self.hand), "in hand already"
        assert host not in self.begun, "one in transfer a host"
        assert host not in self.working.parked
        assert self.crawl.wall >= self.ready.get(host, 0.0) - ALMOST, "too early"
        if ticket.suspect and url in self.perhaps:
            self.suspects.add(url)
            self.on_record[url] = self.perhaps.pop(url)
        recorded = self.on_record.get(url, 0) if url in self.suspects else 0
        assert ticket.attempts == self.working.attempts.get(url, 0) + 1
        assert ticket.deaths == recorded
        assert ticket.suspect == (url in self.suspects)
        if ticket.suspect:
            assert not self.unlanded_suspects, "suspects come one at a time"
        waiting = [
            self.working.rank[other] for other, state in self.committed.state.items()
            if state == "q" and self.working.state[other] == "q" and other.startswith(host + "/")
            and other not in map(name, self.hand) and self.moved_to_tail.get(other) is None
        ]
        assert ticket.entry.rank <= min(waiting), "the most urgent first"

    @property
    def moved_to_tail(self) -> dict[str, int]:
        """URLs whose retry has not landed: known, but not readable yet."""
        return {url: n for url, n in self.working.attempts.items() if self.committed.attempts.get(url) != n}

    def _nobody_could_be_taken(self, before: set[bytes]) -> None:
        """With all landed, nothing in hand and room for all: None means that nobody is due."""
        frontier, storage = self.crawl.frontier, self.crawl.storage
        if self.begun or self.hand or storage.dirty or storage.landing or frontier.limits.back_queues_max < 5:
            return
        for url, state in self.committed.state.items():
            host = url.partition("/")[0]
            if state == "q" and host in self.exact and host not in self.working.parked:
                assert self.ready[host] > self.crawl.wall - ALMOST, f"{url} was due"

    def _expect_woken(self) -> None:
        for host, wake in list(self.working.parked.items()):
            if wake <= self.crawl.wall - ALMOST:
                del self.working.parked[host]
            elif wake <= self.crawl.wall + ALMOST:
                self.crawl.pass_time(2 * ALMOST)
                del self.working.parked[host]

    def _expect_poisoned(self) -> None:
        """Drawing a URL that was in hand at too many deaths settles it."""
        for url in [url for url in self.suspects if self.on_record[url] >= MAX_ATTEMPTS]:
            if self.crawl.state(url) == "p:poison":
                self.working.state[url] = "p:poison"
                self.suspects.discard(url)
                self.on_record.pop(url)

    @precondition(lambda self: self.begun)
    @rule(data=st.data(), delay=st.one_of(st.just(0.0), st.floats(0.0, 50.0)), back=st.integers(0, 7))
    def release(self, data: st.DataObject, delay: float, back: int) -> None:
        self.release_one(data.draw(st.sampled_from(sorted(self.begun))), delay, back)

    def release_one(self, host: str, delay: float, back: int) -> None:
        ticket = self.begun.pop(host)
        self.crawl.release(ticket, delay)
        self.ready[host] = self.crawl.wall + delay
        self.exact.add(host)
        self._contact_written(host)
        if back == 0:  # the contact was for the host's robots.txt
            self.crawl.frontier.put_back(ticket)
            url = name(ticket)
            self.out[url] -= 1
            self.unlanded_suspects.discard(url)
            self.on_record.pop(url)
            if ticket.suspect:
                self.suspects.add(url)
                self.on_record[url] = ticket.deaths
        else:
            self.hand.append(ticket)

    def _contact_written(self, host: str) -> None:
        """The host's contact names what is in hand, and no longer what was settled before."""
        for url in [url for url in self.still_named if url.startswith(host + "/")]:
            del self.still_named[url]

    @precondition(lambda self: self.hand)
    @rule(data=st.data(), kind=st.sampled_from(KINDS))
    def settle(self, data: st.DataObject, kind: str) -> None:
        self.settle_one(data.draw(st.integers(0, len(self.hand) - 1)), kind)

    def settle_one(self, place: int, kind: str) -> None:
        ticket = self.hand.pop(place)
        url = name(ticket)
        if kind == "retry" and ticket.attempts >= MAX_ATTEMPTS:
            kind = "done"
        self.crawl.settle(ticket, kind)
        deaths = self.on_record.pop(url)
        if kind == "retry" or ticket.suspect:
            self._contact_written(ticket.name)
        else:
            self.still_named[url] = deaths
        if kind == "retry":
            self.working.attempts[url] = ticket.attempts
            self.excuses[url] += 1
        else:
            self.working.state[url] = f"{kind[0]}:200"

    @rule(host=st.sampled_from(HOSTS), rest=st.one_of(st.floats(0.1, 100.0), st.just(NEVER)))
    def park(self, host: str, rest: float) -> None:
        if rest == NEVER and len(self.working.parked) >= 2:
            return
        if host in self.begun or host in (ticket.name for ticket in self.hand):
            return  # would be parked later, when all is settled: an example tests it
        self._expect_woken()
        wake = self.crawl.wall + rest
        self.crawl.frontier.park(host_key(host), host, wake, "test")
        self.working.parked[host] = wake

    @rule()
    def marks(self) -> None:
        self.crawl.frontier.mark()

    # --- commits and deaths -----------------------------------------------------------------

    @precondition(lambda self: self.sealed is None)
    @rule()
    def seal(self) -> None:
        group = self.crawl.storage.seal()
        if group is not None:
            self.sealed = (group, copy.deepcopy(self.working))

    @precondition(lambda self: self.sealed is not None)
    @rule()
    def land(self) -> None:
        group, self.committed = self.sealed
        self.sealed = None
        storage = self.crawl.storage
        storage.write(group, lambda: None)
        self.crawl.frontier.landed(group.settled, storage.landed(group))
        settled = {(host, rank, seq) for host, rank, seq in group.settled}
        in_hand = {(t.host, t.entry.rank, t.entry.seq) for t in [*self.hand, *self.begun.values()]}
        assert not settled & in_hand
        self.unlanded_suspects = {
            url for url in self.unlanded_suspects
            if url in map(name, [*self.hand, *self.begun.values()]) or self._settled_since(url)
        }

    def _settled_since(self, url: str) -> bool:
        """Settled, but after the group that just landed was sealed."""
        return (self.working.state[url], self.working.attempts.get(url)) != (
            self.committed.state[url], self.committed.attempts.get(url))

    @rule()
    def commit(self) -> None:
        if self.sealed is None:
            self.seal()
        if self.sealed is not None:
            self.land()

    @rule(down=seconds, written=st.booleans())
    def crash(self, down: float, written: bool) -> None:
        if self.sealed is not None:
            group, state = self.sealed
            if written:  # the batch was written, nobody was told
                self.crawl.storage.write(group, lambda: None)
                self.committed = state
            self.sealed = None
        wall = self.crawl.wall
        for host, started in self.started.items():
            if host in self.begun:
                fetch = min(wall - started, TIMEOUT)
                delay = max(min(DELAY_FACTOR * fetch, DELAY_MAXIMUM), DELAY_MINIMUM)
                self.ready[host] = max(self.ready.get(host, 0.0), started + fetch + delay)
        for ticket in [*self.begun.values(), *self.hand]:
            self.excuses[name(ticket)] += 1
        for url, state in self.working.state.items():
            if state != self.committed.state.get(url):
                self.excuses[url] += 1  # settled, not committed
            if self.working.attempts.get(url) != self.committed.attempts.get(url):
                self.excuses[url] += 1
        self.working = copy.deepcopy(self.committed)
        self.suspects = {url for url in self.on_record if self.committed.state.get(url) == "q"}
        self.on_record = {url: n for url, n in self.on_record.items() if url in self.suspects}
        # Their group is lost: one death may count too many (see Frontier.settle), never more than one.
        queued = {url for url, state in self.committed.state.items() if state == "q"} - self.suspects
        self.perhaps = {url: n for url, n in {**self.perhaps, **self.still_named}.items() if url in queued}
        self.still_named = {}
        self.begun, self.hand, self.started = {}, [], {}
        self.unlanded_suspects.clear()
        self.exact.clear()
        self.crawl.crash(down)
        self.what_is_committed_agrees_with_itself()

    # --- at any moment ----------------------------------------------------------------------

    @invariant()
    def what_is_committed_agrees_with_itself(self) -> None:
        if not hasattr(self, "crawl"):
            return
        findings = self.crawl.check()
        assert findings.faults == []
        states = Counter(state[0] for state in self.committed.state.values())
        found = [findings.counts[name] for name in ("queued", "done", "parked")]
        assert found == [states["q"], states["d"], states["p"]]

    @invariant()
    def back_queues_keep_to_their_limits(self) -> None:
        if not hasattr(self, "crawl"):
            return
        frontier = self.crawl.frontier
        assert len(frontier.back) <= frontier.limits.back_queues_max
        assert frontier.in_hand == len(self.begun) + len(self.hand)
        for host in frontier.back:
            record = self.crawl.storage.host(host)
            assert record is not None
            assert record.front is not None, "a host with a back queue keeps its front entry"

    @invariant()
    def urls_are_where_the_model_has_them(self) -> None:
        for url, state in self.working.state.items():
            assert self.crawl.state(url) == state
        for url, times in self.out.items():
            assert times <= 1 + self.excuses[url], f"{url} came out {times} times"

    # --- and in the end ---------------------------------------------------------------------

    def run_to_the_end(self) -> None:
        """Everything still queued comes out: no URL and no host has been lost."""
        for host in list(self.begun):
            ticket = self.begun.pop(host)
            self.crawl.release(ticket)
            self.ready[host] = self.crawl.wall + 2.0
            self.hand.append(ticket)
        while self.hand:
            self.crawl.settle(self.hand.pop())
        if self.sealed is not None:
            self.land()
        for host, wake in self.working.parked.items():
            if wake == NEVER:
                self.crawl.storage.wake(host_key(host))
        self.crawl.commit()
        for _ in range(1000):
            ticket = self.crawl.begin()
            if ticket is not None:
                assert self.crawl.wall >= self.ready.get(ticket.name, 0.0) - ALMOST, "too early"
                self.ready[ticket.name] = self.crawl.wall + 1.0
                self.crawl.release(ticket, 1.0)
                self.crawl.settle(ticket)
            self.crawl.commit()
            if ticket is None and not self.crawl.wait() and self.crawl.frontier.idle():
                break
        left = [url for url in self.working.state if self.crawl.state(url) == "q"]
        assert left == [], "never came out"
        assert self.crawl.frontier.back == {}
        assert self.crawl.check().faults == []


@pytest.mark.timeout(0 if PROOF else 300)
def test_the_frontier_keeps_its_laws() -> None:
    run_state_machine_as_test(Laws, settings=settings(
        max_examples=2000 if PROOF else 50, stateful_step_count=50 if PROOF else 15, deadline=None,
        derandomize=not PROOF, suppress_health_check=list(HealthCheck), print_blob=True,
        phases=[Phase.reuse, Phase.generate, Phase.shrink] if PROOF else [Phase.generate],
    ))
