"""Redis in trouble: away, restarted, cut short, full. Workers wait, say so, and lose nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from crawlerproj.storage.interface import Contact, Pause, StorageError
from crawlerproj.storage.redis import RedisStorage
from crawlerproj.storage.redis.opening import agree, await_server

from .contract import commit, front, group_of, offered, run, settle
from .redis_server import Server, durable_server

__all__ = ["durable_server"]

Open = Callable[..., RedisStorage]


@pytest.fixture
def worker(durable_server: Server) -> Iterator[Open]:
    opened: list[RedisStorage] = []

    def open_(name: str = "one", *, claim: bool = True, **options: object) -> RedisStorage:
        storage = RedisStorage(durable_server.client(), "web", name, partitions=1, ranks=10,
                               **{"grace": 0, "patience": 0.0, "ttl": 60.0, **options})
        opened.append(storage)
        if claim:
            assert storage.claim(0) is not None
        return storage

    yield open_
    for storage in opened:
        storage.close()


def retry_now(storage: RedisStorage) -> None:
    """As if the moment had passed for which a server that was just tried is left alone."""
    storage.line._tried_at = float("-inf")


def notice(storage: RedisStorage) -> None:
    """The old connection is found to be dead."""
    with pytest.raises(Pause, match="cannot be reached"):
        storage.arrivals()
    retry_now(storage)


def test_reads_pause_while_the_server_is_away_and_go_on_after(worker: Open, durable_server: Server) -> None:
    storage = worker()
    storage.offer([offered("a", "1")])
    commit(storage)
    durable_server.kill()
    with pytest.raises(Pause, match="cannot be reached"):
        storage.read_run(group_of("a"), 10)
    with pytest.raises(Pause, match="cannot be reached"):
        storage.get("robots", b"a")
    assert "cannot be reached" in storage.trouble
    assert storage.offer([offered("a", "2")]) == 1  # what needs no answer goes on
    durable_server.start()
    retry_now(storage)
    assert run(storage, "a") == ["1"]
    assert storage.trouble == ""
    commit(storage)
    assert run(storage, "a") == ["1", "2"]


def test_a_worker_that_starts_while_the_server_is_away_waits_for_it(durable_server: Server) -> None:
    durable_server.kill()
    said: list[str] = []

    def told(text: str) -> None:
        said.append(text)
        durable_server.start()

    with durable_server.client() as client:
        with pytest.raises(StorageError, match="cannot be reached"):
            agree(client, "web", spelling="", software="", partitions=1)
        await_server(client, 60.0, told)
        assert len(said) == 1 and "the crawl waits" in said[0]
        assert agree(client, "web", spelling="", software="", partitions=1)[1] == 1


def test_a_page_waits_for_its_rows_until_a_lease_ends_and_no_longer(
    worker: Open, durable_server: Server
) -> None:
    storage = worker(patience=1e9)
    now = storage.leases.first_deadline() - 0.001
    clocks = iter((now, now, now + 0.002))
    storage.leases._clock = lambda: next(clocks)
    durable_server.kill()
    with pytest.raises(Pause, match="cannot be reached"):
        storage.get("robots", b"a")
    assert next(clocks, None) is None  # it did wait before


def test_no_contact_begins_while_the_server_is_away(worker: Open, durable_server: Server) -> None:
    storage = worker()
    durable_server.kill()
    with pytest.raises(Pause):
        storage.put_contact(group_of("a"), Contact(started=1.0))
        storage.put_contact(group_of("a"), Contact(started=2.0))  # if the first bytes were still taken
    storage.put_contact(group_of("b"), Contact(started=1.0, ended=2.0, ready_at=9.0))  # an end can wait
    durable_server.start()
    retry_now(storage)
    assert run(storage, "a") == []  # reconnects
    assert worker("two", claim=False).contact(group_of("b")) == Contact(1.0, 2.0, 9.0)


def test_a_contact_that_goes_on_is_added_to_while_the_server_is_away(
    worker: Open, durable_server: Server
) -> None:
    """A page of the host is settled meanwhile: that must not fail, and is not forgotten."""
    storage = worker()
    storage.put_contact(group_of("a"), Contact(started=1.0, unsettled=[(b"1", 1), (b"2", 1)]))
    assert storage.renew() == set()
    durable_server.kill()
    notice(storage)
    storage.put_contact(group_of("a"), Contact(started=1.0, unsettled=[(b"2", 1)]))
    retry_now(storage)
    with pytest.raises(Pause):
        storage.put_contact(group_of("b"), Contact(started=2.0))  # none begins
    durable_server.start()
    retry_now(storage)
    assert run(storage, "a") == []  # reconnects
    found = worker("two", claim=False).contact(group_of("a"))
    assert found is not None and (found.started, list(found.unsettled)) == (1.0, [(b"2", 1)])


def test_a_commit_waits_for_the_server(worker: Open, durable_server: Server) -> None:
    storage = worker()
    storage.offer([offered("a", "1")])
    group = storage.seal()
    durable_server.kill()
    thread = threading.Thread(target=storage.write, args=(group, lambda: None))
    thread.start()
    durable_server.start()
    thread.join(60)
    assert not thread.is_alive()
    storage.landed(group)
    notice(storage)
    assert run(storage, "a") == ["1"]


def test_what_was_acknowledged_survives_the_death_of_the_server(worker: Open, durable_server: Server) -> None:
    storage = worker()
    for n in range(20):
        storage.offer([offered(f"h{n}", "1")])
        commit(storage)
        storage.put_contact(group_of(f"h{n}"), Contact(started=1.0 + n))
    assert storage.renew() == set()  # the answers of the contacts have been read
    durable_server.kill()
    durable_server.start()
    other = worker("two", claim=False)
    assert other.counts["offered"] == 20
    for n in range(20):
        assert other.contact(group_of(f"h{n}")) == Contact(started=1.0 + n)


def cut_log(server: Server) -> Callable[[], None]:
    """Remembers how long the log is; gives what cuts it there, as a power cut would."""
    lengths = {path: path.stat().st_size for path in (server.directory / "appendonlydir").glob("*.incr.aof")}

    def cut() -> None:
        for path, length in lengths.items():
            with path.open("r+b") as file:
                file.truncate(length)

    return cut


def test_groups_contacts_and_lease_that_were_cut_off_are_written_again(
    worker: Open, durable_server: Server
) -> None:
    storage = worker()
    storage.leases._grace = 1e9  # a young server grants nothing, and so can have granted nothing else
    storage.offer([offered("a", "1"), offered("a", "2"), offered("b", "1")])
    commit(storage)
    cut = cut_log(durable_server)
    settle(storage, "a")
    storage.offer([offered("c", "1")])
    commit(storage)
    storage.put_contact(group_of("a"), Contact(started=5.0))
    settle(storage, "a", "retry")
    commit(storage)
    durable_server.kill()
    cut()
    durable_server.start()
    with durable_server.client() as client:
        client.delete("web:{0}:lease")  # forgotten too
    assert worker("young", claim=False, grace=1e9).claim(0) is None
    notice(storage)
    assert run(storage, "a") == ["1", "2"]  # the server has lost two groups
    assert storage.dirty
    commit(storage)
    assert (run(storage, "a"), run(storage, "c")) == (["2"], ["1"])
    assert front(storage) == [(3, group_of("a")), (3, group_of("b")), (3, group_of("c"))]
    assert storage.leases.held.keys() == {0}
    assert worker("two", claim=False).contact(group_of("a")) == Contact(started=5.0)
    commit(storage)
    assert worker("three", claim=False).counts == {"offered": 4, "done": 1}


def test_a_group_sent_twice_is_applied_once(worker: Open) -> None:
    storage = worker()
    storage.offer([offered("a", "1"), offered("a", "2")])
    commit(storage)
    settle(storage, "a", "retry")
    group = commit(storage)
    storage.write(group, lambda: None)
    assert run(storage, "a") == ["2", "1"]


def test_forgotten_scripts_are_given_anew(worker: Open, durable_server: Server) -> None:
    storage = worker()
    with durable_server.client() as client:
        client.script_flush()
    storage.put_contact(group_of("a"), Contact(started=1.0))  # refused, as its answer tells
    storage.offer([offered("a", "1")])
    commit(storage)
    assert run(storage, "a") == ["1"]
    storage.put_contact(group_of("b"), Contact(started=2.0))
    assert storage.renew() == set()
    other = worker("two", claim=False)
    assert other.contact(group_of("a")) == Contact(started=1.0)
    assert other.contact(group_of("b")) == Contact(started=2.0)


def test_a_full_server_holds_the_crawl_up_and_loses_nothing(worker: Open, durable_server: Server) -> None:
    storage = worker()
    storage.offer([offered("a", "1")])
    commit(storage)
    with durable_server.client() as client:
        client.config_set("maxmemory", "1mb")
        storage.offer([offered("a", "2")])
        group = storage.seal()
        thread = threading.Thread(target=storage.write, args=(group, lambda: None))
        thread.start()
        while "maxmemory" not in storage.trouble:
            assert thread.is_alive()
        assert storage.renew() == set()  # leases and contacts go on
        storage.put_contact(group_of("a"), Contact(started=3.0))
        assert run(storage, "a") == ["1"]
        client.config_set("maxmemory", "0")
    thread.join(60)
    storage.landed(group)
    assert run(storage, "a") == ["1", "2"]
    assert storage.trouble == ""
    assert worker("two", claim=False).contact(group_of("a")) == Contact(started=3.0)
