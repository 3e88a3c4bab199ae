"""Several workers over one Redis: leases, fences, offers to each other, start URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from crawlerproj.frontier.check import check
from crawlerproj.items import Candidate
from crawlerproj.storage.interface import Contact, Pause, Settlement, StorageError
from crawlerproj.storage.redis import RedisStorage
from crawlerproj.storage.redis.listing import counts, waiting
from crawlerproj.storage.redis.opening import agree

from .contract import commit, front, group_of, key_of, offered, run, settle
from .redis_server import Server, redis_server

__all__ = ["redis_server"]

Open = Callable[..., RedisStorage]


@pytest.fixture
def worker(redis_server: Server) -> Iterator[Open]:
    """Opens a worker's storage; all are closed at the end."""
    with redis_server.client() as client:
        client.flushall()
    opened: list[RedisStorage] = []

    def open_(name: str, *partitions: int, total: int = 2, **options: object) -> RedisStorage:
        storage = RedisStorage(redis_server.client(), "web", name, partitions=total, ranks=10,
                               **{"grace": 0, **options})
        opened.append(storage)
        for partition in partitions:
            assert storage.claim(partition), f"partition {partition} is not free"
        return storage

    yield open_
    for storage in opened:
        storage.close()


def host_in(partition: int, total: int = 2, start: int = 0) -> str:
    """A host name of a partition."""
    return next(name for n in range(start, 1000) if int.from_bytes(group_of(name := f"h{n}"), "big") % total
                == partition)


def forget_lease(server: Server, partition: int) -> None:
    """As if its time were over."""
    with server.client() as client:
        client.delete(f"web:{{{partition}}}:lease")


# --- leases -----------------------------------------------------------------------------------


def test_a_partition_has_one_owner(worker: Open) -> None:
    one, two = worker("one", 0), worker("two")
    assert two.claim(0) is None
    one.release(0)
    assert two.claim(0) is not None
    assert one.claim(0) is None


def test_a_worker_that_was_restarted_gets_its_partition_back_with_a_new_fence(worker: Open) -> None:
    before = worker("one", 0)
    again = worker("one", 0)
    assert again.leases.fence(0) != before.leases.fence(0)
    assert before.renew() == {0}


def test_a_lease_is_valid_until_its_deadline_and_not_revived_after_it(worker: Open) -> None:
    now = 1000.0
    one = worker("one", ttl=10.0, margin=1.0)
    one.leases._clock = lambda: now
    assert one.claim(0) is not None
    host = group_of(host_in(0))
    now = 1008.9
    assert one.may_fetch(host)
    assert one.renew() == set()
    now = 1017.8
    assert one.may_fetch(host)
    now = 1017.9
    assert not one.may_fetch(host)
    assert one.renew() == {0}
    assert not one.may_fetch(host)
    assert not one.may_fetch(group_of(host_in(1)))


def test_nothing_is_granted_by_a_server_that_has_just_come_up(worker: Open) -> None:
    assert worker("one").claim(0) is not None
    assert worker("two", grace=1e9).claim(1) is None


def test_an_owner_restores_a_lease_that_a_restarted_server_has_forgotten(
    worker: Open, redis_server: Server
) -> None:
    one = worker("one", 0)
    one.leases._grace = 1e9  # the server has been up for less
    forget_lease(redis_server, 0)
    with redis_server.client() as client:
        client.delete("web:{0}:epoch")
    assert one.renew() == set()
    assert worker("two").claim(0) is None
    with redis_server.client() as client:
        assert client.get("web:{0}:epoch") == b"1"


def test_a_lease_that_another_holds_by_now_is_lost(worker: Open, redis_server: Server) -> None:
    one = worker("one", 0, 1)
    forget_lease(redis_server, 0)
    worker("two", 0)
    assert one.renew() == {0}
    assert list(one.leases.held) == [1]
    one.abandoned(0)
    assert one.renew() == set()


def test_what_a_former_owner_commits_is_refused(worker: Open, redis_server: Server) -> None:
    name = host_in(0)
    one = worker("one", 0)
    one.offer([offered(name, "1"), offered(name, "2")])
    commit(one)
    settle(one, name)
    forget_lease(redis_server, 0)
    two = worker("two", 0)
    commit(one)
    assert one.leases.lost == {0}
    assert run(two, name) == ["1", "2"]
    assert counts(two).get("done", 0) == 0


def test_what_was_done_under_a_lost_lease_is_not_done_under_the_next(
    worker: Open, redis_server: Server
) -> None:
    name = host_in(0)
    one = worker("one", 0)
    one.offer([offered(name, "1")])
    commit(one)
    settle(one, name, "retry")
    forget_lease(redis_server, 0)
    assert one.renew() == {0}
    one.abandoned(0)
    assert one.claim(0) is not None
    commit(one)
    assert run(one, name) == ["1"]


def test_a_former_owner_writes_no_contact_and_begins_none(worker: Open, redis_server: Server) -> None:
    host = group_of(host_in(0))
    one = worker("one", 0)
    one.put_contact(host, Contact(started=5.0))
    forget_lease(redis_server, 0)
    two = worker("two", 0)
    one.put_contact(host, Contact(started=9.0))  # told by the answer, which has not been read yet
    assert one.renew() == {0}
    with pytest.raises(Pause, match="another worker"):
        one.put_contact(host, Contact(started=10.0))
    one.put_contact(host, Contact(started=9.0, ended=11.0))  # the end of a transfer: nobody's business now
    assert two.contact(host) == Contact(started=5.0)


def test_a_retry_of_what_another_has_settled_keeps_the_counts_true(worker: Open) -> None:
    one = worker("one", 0, total=1)
    one.offer([offered("a", "1")])
    commit(one)
    [entry] = one.read_run(group_of("a"), 1)
    key = settle(one, "a")
    commit(one)
    one.settle(Settlement(key, group_of("a"), entry.rank, entry.seq, "retry", "", 0, entry.candidate,
                          entry.candidate))
    commit(one)
    assert (run(one, "a"), counts(one)) == (["1"], {"offered": 1, "done": 0})
    settle(one, "a")
    commit(one)
    assert counts(one) == {"offered": 1, "done": 1}


# --- offers to others -------------------------------------------------------------------------


def test_offers_to_another_partition_pass_the_seen_test_there(worker: Open) -> None:
    name = host_in(1)
    one, two = worker("one", 0), worker("two", 1)
    one.offer([offered(name, "1"), offered(name, "2")])
    two.offer([offered(name, "2"), offered(name, "3")])
    commit(one)
    commit(two)
    assert run(two, name) == ["1", "2", "3"]
    assert (one.counts["offered"], two.counts["offered"]) == (2, 1)
    assert counts(one)["offered"] == 3
    assert front(two) == [(3, group_of(name))]


def test_an_owner_learns_that_somebody_offered(worker: Open) -> None:
    one, two = worker("one", 0), worker("two", 1)
    assert not two.arrivals()
    one.offer([offered(host_in(1), "1")])
    commit(one)
    assert two.arrivals()
    assert not two.arrivals()
    assert not one.arrivals()


def test_a_host_that_got_urls_while_it_was_emptied_waits_again_at_the_tail(worker: Open) -> None:
    name, other = host_in(1), host_in(1, start=10)
    one, two = worker("one", 0), worker("two", 1)
    two.offer([offered(name, "1"), offered(other, "1")])
    commit(two)
    [(_, first), (passed, _)] = two.read_front(3, 0, 10)
    assert first == group_of(name)
    two.held = {group_of(name)}
    settle(two, name)
    one.offer([offered(name, "2")])
    commit(one)
    two.held = set()
    two.requeue(group_of(name))  # it is empty, as far as its owner knows
    commit(two)
    assert [host for _, host in two.read_front(3, passed, 10)] == [group_of(name)]
    assert run(two, name) == ["2"]


def test_a_parked_host_stays_parked_whoever_offers(worker: Open) -> None:
    name = host_in(1)
    one, two = worker("one", 0), worker("two", 1)
    two.park(group_of(name), 50.0, "asked", name)
    commit(two)
    one.offer([offered(name, "1")])
    commit(one)
    assert front(two) == []
    two.wake(group_of(name))
    commit(two)
    assert front(two) == [(3, group_of(name))]


def test_contacts_and_parked_hosts_travel_with_the_partition(worker: Open) -> None:
    name = host_in(0)
    one = worker("one", 0)
    one.offer([offered(name, "1")])
    one.park(group_of(name), 70.0, "asked", name)
    one.put_contact(group_of(name), Contact(1.0, 2.0, 30.0, 28.0, 3))
    commit(one)
    one.release(0)
    two = worker("two", 0)
    assert two.contact(group_of(name)) == Contact(1.0, 2.0, 30.0, 28.0, 3)
    assert list(two.parked()) == [(70.0, group_of(name))]


def test_hosts_that_wait_in_many_partitions_are_found_sound(worker: Open) -> None:
    total = 8
    storage = worker("one", *range(total), total=total)
    offers = [offered(f"host{number}", str(page), rank=page) for number in range(40) for page in range(3)]
    storage.offer([each._replace(candidate=Candidate(each.candidate.decode()).encode()) for each in offers])
    commit(storage)
    found = check(storage, 10, lambda candidate: key_of(candidate.url))
    assert found.faults == []
    assert (found.counts["queued"], found.counts["hosts"]) == (120, 40)


def test_the_end_of_a_crawl_can_be_told(worker: Open) -> None:
    one, two = worker("one", 0), worker("two", 1)
    one.offer([offered(host_in(0), "1"), offered(host_in(1), "1")])
    assert waiting(two) == (0, 0)
    commit(one)
    assert waiting(two) == (2, 2)
    for storage, name in ((one, host_in(0)), (two, host_in(1))):
        settle(storage, name)
        commit(storage)
    assert waiting(one) == (2, 0)


def test_hosts_can_be_split_by_name(worker: Open) -> None:
    regions = {"h.de": 0, "h.fr": 1}
    one = worker("one", 0, partition_of=lambda host, name: regions[name])
    two = worker("two", 1, partition_of=lambda host, name: regions[name])
    one.offer([offered("h.de", "1"), offered("h.fr", "1")])
    commit(one)
    assert front(one) == [(3, group_of("h.de"))]
    assert front(two) == [(3, group_of("h.fr"))]
    assert two.host(group_of("h.de")).name == "h.de"  # found without its name
    settle(two, "h.fr")
    commit(two)
    assert front(two) == []


def test_a_host_placed_by_name_is_found_by_its_key_alone(worker: Open) -> None:
    """Also with nothing queued: or it would be offered to, and forget its last contact, elsewhere."""
    regions = {"h.de": 2, "h.fr": 1}
    options = {"total": 3, "partition_of": lambda host, name: regions[name], "hosts_cached": 1}
    one, two = worker("one", 0, 1, 2, **options), worker("two", **options)
    host = group_of("h.de")
    one.offer([offered("h.de", "1")])
    commit(one)
    assert two.unknown([(key_of("http://h.de/1"), host), (key_of("http://h.de/2"), host)]) == {
        key_of("http://h.de/2")}
    assert two.known(key_of("http://h.de/1"), host) == b"s"
    assert not two.may_fetch(host)
    settle(one, "h.de")
    one.put_contact(host, Contact(started=1.0, ended=2.0, ready_at=9.0))
    commit(one)
    assert one.renew() == set()  # the contact has gone out with it
    three, fresh = worker("three", **options), group_of("h.fr")
    assert three.contact(host) == Contact(started=1.0, ended=2.0, ready_at=9.0)
    assert three.contact(fresh) is None  # nobody has met it: its name will tell
    three.offer([offered("h.fr", "1"), offered("h.de", "2")])
    commit(three)
    assert front(one) == [(3, fresh), (3, host)]


# --- the seen set -----------------------------------------------------------------------------


def test_the_seen_set_stays_small_integer_sets_and_exact(worker: Open, redis_server: Server) -> None:
    one = worker("one", 0, total=1, recent_keys=1)
    for start in range(0, 20_000, 1000):
        one.offer([offered("a", str(n)) for n in range(start, start + 1000)])
        commit(one)
    with redis_server.client() as client:
        sets = list(client.scan_iter("web:{0}:s*", count=1000))
        assert sum(client.scard(name) for name in sets) == 20_000
        assert {client.object("encoding", name) for name in sets} == {b"intset"}
        assert len(sets) == 20_000 // 180 + 1
    one.offer([offered("a", str(n)) for n in range(0, 20_001)])
    commit(one)
    assert one.counts["offered"] == 20_001
    assert one.known(key_of("http://a/20000")) == b"s"
    assert one.known(key_of("http://a/20001")) is None


def test_rows_are_found_however_many_there_are(worker: Open) -> None:
    one = worker("one", 0)
    for n in range(3000):
        one.put("fp", b"%d" % n, b"value %d" % n)
    commit(one)
    two = worker("two")
    wanted = [("fp", b"%d" % n) for n in range(0, 3100, 100)]
    assert two.get_many(wanted) == [b"value %d" % n for n in range(0, 3000, 100)] + [None]
    assert len(list(two.items("table"))) == 3000


# --- what people do ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["list", "set"])
def test_start_urls_are_taken_at_least_once(worker: Open, redis_server: Server, kind: str) -> None:
    urls = {"http://a/", "http://b/", "http://c/"}
    one = worker("one")
    assert one.start_urls.pop(10) == []
    with redis_server.client() as client:
        (client.rpush if kind == "list" else client.sadd)("web:start_urls", *urls)
    taken = one.start_urls.pop(2)
    assert len(taken) == 2
    two = worker("two")
    assert set(two.start_urls.pop(10)) == set(taken)  # `one` may be dead
    two.start_urls.offered(taken)
    last = two.start_urls.pop(10)
    assert set(last) | set(taken) == urls
    two.start_urls.offered(last)
    assert worker("three").start_urls.pop(10) == []


def test_workers_agree_on_what_a_crawl_is(redis_server: Server) -> None:
    with redis_server.client() as client:
        client.flushall()
        seed, partitions, slices = agree(client, "web", spelling="abc", software="x", partitions=16)
        assert agree(client, "web", spelling="abc", software="x", partitions=99) == (seed, 16, slices)
        assert partitions == 16
        with pytest.raises(StorageError, match="other URL rules"):
            agree(client, "web", spelling="xyz", software="x", partitions=16)
        assert agree(client, "other", spelling="xyz", software="x", partitions=8)[0] != seed


def test_crawls_share_a_server_by_name(worker: Open, redis_server: Server) -> None:
    one = worker("one", 0)
    one.offer([offered(host_in(0), "1")])
    commit(one)
    other = RedisStorage(redis_server.client(), "other", "one", partitions=2, ranks=10, grace=0)
    assert other.claim(0) is not None
    assert (other.counts.get("offered", 0), run(other, host_in(0))) == (0, [])
    other.close()
