"""Frontiers of several workers over one Redis: every URL comes out once, every gap is kept, whoever comes,
goes, dies or loses its lease. Time is made up, but for the server's own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
import xxhash

from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.limits import Limits
from crawlerproj.frontier.partitions import PartitionedFronts, Partitions
from crawlerproj.items import Candidate
from crawlerproj.storage.interface import Pause
from crawlerproj.storage.redis import RedisStorage
from crawlerproj.storage.redis.listing import waiting

from .redis_server import Server, durable_server, redis_server

__all__ = ["durable_server", "redis_server"]

PARTITIONS = 4
DELAY = 2.0
ALMOST = 0.001  # clocks are floats


def key_of(candidate: Candidate) -> bytes:
    return xxhash.xxh3_128_digest(candidate.url.encode())


def group_of(url: str) -> tuple[bytes, str]:
    name = url.split("/", 3)[2]
    return xxhash.xxh3_64_digest(name.encode()), name


def place_by_name(host: bytes, name: str) -> int:
    """As a table of regions does: the key does not tell the partition."""
    return (int.from_bytes(host, "big") + len(name)) % PARTITIONS


class World:
    """One crawl: its clock, and what a site's log would show."""

    def __init__(self, server: Server, seed: int = 1, by_name: bool = False) -> None:
        self.server, self.rng = server, random.Random(seed)
        self.partition_of = place_by_name if by_name else None
        self.wall = 1_700_000_000.0
        self.fetched: Counter[str] = Counter()
        self.ready: dict[str, float] = {}  # host -> when it may be contacted again
        self.going_on: dict[str, str] = {}  # host -> worker
        self.workers: list[Worker] = []

    def worker(self, name: str, *partitions: int) -> Worker:
        worker = Worker(self, name)
        self.workers.append(worker)
        for partition in partitions:
            assert worker.adopt(partition)
        return worker

    def expire(self, partition: int) -> None:
        with self.server.client() as client:
            client.delete(f"web:{{{partition}}}:lease")

    def close(self) -> None:
        for worker in self.workers:
            worker.storage.close()


class Worker:
    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.storage = RedisStorage(world.server.client(), "web", name, partitions=PARTITIONS, ranks=3,
                                    grace=0, ttl=600.0, patience=0.0, hosts_cached=5, recent_keys=5,
                                    partition_of=world.partition_of)
        fronts = PartitionedFronts(self.storage, 3, 2.0, world.rng)
        self.frontier = Frontier(
            self.storage,
            Limits(queues=3, back_queues_min=2, back_queues_max=6, quantum=3, delay_minimum=DELAY),
            key_of=key_of, group_of=group_of, priority_of=lambda candidate, host: candidate.priority or 1,
            now=world.wall, wall=world.wall, rng=world.rng, fronts=fronts,
            may_contact=self.storage.may_fetch,
        )
        self.partitions = Partitions(self.frontier, fronts, self.storage.partition_of)
        self.hand: list[Ticket] = []

    def adopt(self, partition: int) -> bool:
        return self.storage.claim(partition) is not None and self.partitions.adopt(partition, self.world.wall)

    def offer(self, *urls: str, priority: int = 1) -> None:
        self.frontier.offer(Candidate("http://" + url, priority=priority) for url in urls)

    def commit(self) -> None:
        group = self.storage.seal()
        if group is not None:
            self.storage.write(group, lambda: None)
            self.frontier.landed(group.settled, self.storage.landed(group))

    def begin(self) -> Ticket | None:
        ticket = self.frontier.take(self.world.wall)
        if ticket is None:
            return None
        world, host = self.world, ticket.name
        self.frontier.begin(ticket, world.wall)
        assert host not in world.going_on, f"{host} is being contacted by {world.going_on[host]}"
        assert world.wall >= world.ready.get(host, 0.0) - ALMOST, f"{host} is contacted too early"
        world.going_on[host] = self.name
        world.fetched[ticket.candidate.url.removeprefix("http://")] += 1
        self.hand.append(ticket)
        return ticket

    def end(self, ticket: Ticket, kind: str = "done") -> None:
        world = self.world
        world.going_on.pop(ticket.name, None)
        world.ready[ticket.name] = world.wall + DELAY
        self.hand.remove(ticket)
        self.frontier.release(ticket.host, world.wall, DELAY)
        self.frontier.settle(ticket, kind, "200")

    def listen(self) -> None:
        if self.storage.arrivals():
            self.frontier._fronts.arrivals()

    def die(self) -> None:
        """As kill -9 would: what is in memory is gone, and its transfers end."""
        self.world.workers.remove(self)
        for ticket in self.hand:
            self.world.going_on.pop(ticket.name, None)
            self.world.ready[ticket.name] = self.world.wall + DELAY
        self.storage.close()


def run(world: World, steps: int = 3000) -> None:
    """All workers work until nothing is left."""
    for _ in range(steps):
        busy = False
        for worker in world.workers:
            worker.listen()
            ticket = worker.begin()
            if ticket is not None:
                worker.end(ticket)
                busy = True
            worker.commit()
        if not busy:
            if waiting(world.workers[0].storage)[1] == 0:
                return
            world.wall += 0.5
    raise AssertionError("no end")


@pytest.fixture
def world(redis_server: Server) -> Iterator[World]:
    with redis_server.client() as client:
        client.flushall()
    world = World(redis_server)
    yield world
    world.close()


URLS = [f"h{n % 12}.org/{n}" for n in range(80)]
ONCE = Counter(URLS)


def test_one_worker_fetches_everything_once(world: World) -> None:
    one = world.worker("one", *range(PARTITIONS))
    one.offer(*URLS)
    one.commit()
    run(world)
    assert world.fetched == ONCE
    assert one.frontier.back == {}


def test_two_workers_share_the_work_and_each_url_is_fetched_once(world: World) -> None:
    one, two = world.worker("one", 0, 1), world.worker("two", 2, 3)
    one.offer(*URLS[:50])
    two.offer(*URLS[30:])
    one.commit()
    two.commit()
    run(world)
    assert world.fetched == ONCE
    assert (one.frontier.back, two.frontier.back) == ({}, {})


def test_more_urgent_urls_come_first(world: World) -> None:
    one = world.worker("one", *range(PARTITIONS))
    one.offer("a.org/low", priority=1)
    one.offer("a.org/high", priority=3)
    one.commit()
    assert one.begin().candidate.url == "http://a.org/high"


def test_urls_offered_by_another_while_the_host_is_drained_come_out_too(world: World) -> None:
    one, two = world.worker("one", *range(PARTITIONS)), world.worker("two")
    one.offer("a.org/1")
    one.commit()
    ticket = one.begin()
    two.offer("a.org/2")
    two.commit()
    one.end(ticket)
    one.commit()
    run(world)
    assert world.fetched == Counter(["a.org/1", "a.org/2"])


def test_urls_that_only_seemed_new_hold_no_back_queue(world: World) -> None:
    one = world.worker("one", *range(PARTITIONS))
    one.offer("a.org/1")
    one.commit()
    run(world)
    one.storage._recent.clear()
    one.offer("b.org/1", "a.org/1")
    one.commit()
    run(world)
    assert world.fetched == Counter(["a.org/1", "b.org/1"])
    assert one.frontier.back == {}
    assert one.frontier.idle()


def test_a_partition_is_drained_and_goes_to_another_worker(world: World) -> None:
    one = world.worker("one", *range(PARTITIONS))
    one.offer(*URLS)
    one.commit()
    tickets = [ticket for ticket in (one.begin() for _ in range(4)) if ticket is not None]
    two = world.worker("two")
    for partition in (0, 1):
        one.partitions.drain(partition)
        assert two.storage.claim(partition) is None
    for ticket in tickets:
        one.end(ticket)
    one.commit()
    for partition in (0, 1):
        assert one.partitions.drained(partition)
        one.storage.release(partition)
        one.partitions.released(partition)
        assert two.adopt(partition)
    run(world)
    assert world.fetched == ONCE


def test_a_dead_workers_hosts_are_served_again_and_rest_first(world: World) -> None:
    one = world.worker("one", *range(PARTITIONS))
    one.offer(*URLS)
    one.commit()
    tickets = [ticket for ticket in (one.begin() for _ in range(4)) if ticket is not None]
    in_hand = {ticket.candidate.url.removeprefix("http://") for ticket in tickets}
    two = world.worker("two")
    one.die()
    for partition in range(PARTITIONS):
        world.expire(partition)
        assert two.adopt(partition)
    run(world)
    repeated = {url for url, times in world.fetched.items() if times > 1}
    assert set(world.fetched) == set(URLS)
    assert repeated <= in_hand


def test_a_worker_that_lost_its_lease_settles_nothing_and_stops(world: World) -> None:
    one, two = world.worker("one", *range(PARTITIONS)), world.worker("two")
    one.offer("a.org/1", "a.org/2")
    one.commit()
    ticket = one.begin()
    partition = one.storage.partition_of(ticket.host)
    world.expire(partition)
    assert two.storage.claim(partition) is not None
    assert one.storage.renew() == {partition}
    one.partitions.abandon(partition)
    one.storage.abandoned(partition)
    assert one.frontier.in_hand == 0
    assert not one.partitions.adopt(partition, world.wall), "its transfer still goes on"
    one.end(ticket)  # its answer came too late
    one.commit()
    assert one.begin() is None
    world.wall += 100.0
    assert two.partitions.adopt(partition, world.wall)
    run(world)
    assert world.fetched == Counter({"a.org/1": 2, "a.org/2": 1})


def test_nothing_is_drawn_after_the_deadline(world: World) -> None:
    one = world.worker("one", *range(PARTITIONS))
    one.offer("a.org/1")
    one.commit()
    for lease in one.storage.leases.held.values():
        lease.deadline = 0.0
    assert one.begin() is None
    assert one.frontier.next_due() > world.wall


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_workers_come_go_and_die_in_any_order(redis_server: Server, seed: int, by_name: bool) -> None:
    with redis_server.client() as client:
        client.flushall()
    world, rng = World(redis_server, seed, by_name), random.Random(seed)
    for n in range(2):
        world.worker(f"w{n}", *range(n * 2, n * 2 + 2))
    deaths, left = 0, list(URLS)
    for step in range(400):
        worker = rng.choice(world.workers)
        thing = rng.random()
        if thing < 0.2 and left:
            worker.offer(*[left.pop() for _ in range(min(len(left), 5))], *rng.choices(URLS[60:], k=2))
        elif thing < 0.6:
            worker.listen()
            worker.begin()
        elif thing < 0.8 and worker.hand:
            worker.end(rng.choice(worker.hand), rng.choice(["done", "done", "retry"]))
        elif thing < 0.97:
            worker.commit()
        elif not worker.hand or rng.random() < 0.5:
            owned = list(worker.storage.leases.held)
            offered = worker.storage._group.offers or worker.storage._landing
            if offered:
                worker.commit()  # what a dying worker alone has seen is found again with its pages, not here
            worker.die()
            deaths += 1
            heir = world.worker(f"n{step}")
            for partition in owned:
                world.expire(partition)
                assert heir.adopt(partition)
        world.wall += rng.choice([0.0, 0.1, 1.0])
    for worker in world.workers:
        for ticket in list(worker.hand):
            worker.end(ticket)
        worker.offer(*left)
        left = []
        worker.commit()
    run(world)
    world.close()
    assert set(world.fetched) == set(URLS), "a URL was lost"


def test_the_frontier_waits_for_a_server_that_is_away(durable_server: Server) -> None:
    world = World(durable_server)
    one = world.worker("one", *range(PARTITIONS))
    one.offer(*URLS[:10])
    one.commit()
    ticket = one.frontier.take(world.wall)
    assert ticket is not None
    durable_server.kill()
    with pytest.raises(Pause):
        one.storage.arrivals()  # the dead connection is noticed
    with pytest.raises(Pause):
        one.frontier.begin(ticket, world.wall)
    assert (one.frontier.in_hand, ticket.settled) == (0, True)
    for _ in range(5):
        one.storage.line._tried_at = float("-inf")
        ticket = one.frontier.take(world.wall)  # heads were read ahead, but no contact can be written
        if ticket is not None:
            with pytest.raises(Pause):
                one.frontier.begin(ticket, world.wall)
        assert one.frontier.in_hand == 0
        assert one.frontier.next_due() > world.wall
        world.wall += 1.0
    durable_server.start()
    one.storage.line._tried_at = float("-inf")
    run(world)
    assert world.fetched == Counter(URLS[:10])
    world.close()
