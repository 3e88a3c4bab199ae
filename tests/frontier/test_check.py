"""`check` finds every kind of fault; each is planted behind the frontier's back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack
import pytest

from crawlerproj.frontier import check as check_module
from crawlerproj.items import Candidate
from crawlerproj.storage.interface import NEVER, HostRecord
from crawlerproj.storage.layout import FRONT, RUN, encode_host, parked_key

from .crawl import Crawl, host_key, key_of


@pytest.fixture
def filled(crawl: Crawl) -> Crawl:
    """Waiting, parked and banned hosts, URLs done and parked; nothing wrong."""
    crawl.add("a/1", "a/2", "a/3", "b/1", "c/1", "d/1")
    crawl.add("a/high", priority=5)
    crawl.frontier.park(host_key("b"), "b", crawl.wall + 100, "asked")
    crawl.frontier.park(host_key("c"), "c", NEVER, "banned")
    for kind in ("done", "parked"):
        crawl.fetch(kind=kind)
    crawl.commit()
    return crawl


def family(crawl: Crawl, name: str) -> Any:
    return crawl.storage._family[name]


def change_host(crawl: Crawl, name: str, change: Callable[[HostRecord], object]) -> None:
    record = dict(crawl.storage.items("host"))[host_key(name)]
    change(record)
    family(crawl, "host").put(host_key(name), encode_host(record))


def change_meta(crawl: Crawl, name: str, value: Any) -> None:
    crawl.storage._db.put(b"m", msgpack.packb(dict(crawl.storage.items("meta")) | {name: value}))


def entries(crawl: Crawl, name: str) -> list[tuple[int, int]]:
    return [(rank, seq) for (host, rank, seq), _ in crawl.storage.items("run") if host == host_key(name)]


def kinds(crawl: Crawl) -> set[str]:
    return {fault.partition(":")[0] for fault in crawl.check().faults}


def test_a_whole_frontier_has_no_faults_and_is_counted(filled: Crawl) -> None:
    assert filled.check() == ([], {"queued": 5, "done": 1, "parked": 1, "hosts": 3, "waiting_hosts": 1,
                                   "parked_hosts": 2})


def test_it_reads_what_is_committed_only(filled: Crawl) -> None:
    filled.offer("a/9", "z/1")
    filled.frontier.mark()
    filled.frontier.park(host_key("a"), "a", NEVER, "banned")
    assert filled.check().faults == []


def test_a_url_lost_from_its_run(filled: Crawl) -> None:
    rank, seq = entries(filled, "b")[0]
    family(filled, "run").delete(RUN.pack(host_key("b"), rank, seq))
    assert kinds(filled) == {"lost", "level"}


def test_a_url_in_two_run_entries(filled: Crawl) -> None:
    rank, seq = entries(filled, "a")[0]
    key = RUN.pack(host_key("a"), rank, seq)
    family(filled, "run").put(RUN.pack(host_key("a"), rank, 5000), family(filled, "run").get(key))
    assert kinds(filled) == {"repeated", "level"}
    assert any("is in 2 run entries" in fault for fault in filled.check().faults)


def test_one_url_lost_and_another_repeated(filled: Crawl) -> None:
    """The numbers agree, the sets do not."""
    first, second = [RUN.pack(host_key("a"), *entry) for entry in entries(filled, "a")[:2]]
    family(filled, "run").put(second, family(filled, "run").get(first))
    assert kinds(filled) == {"lost", "repeated"}


def test_a_finished_url_still_in_a_run(filled: Crawl) -> None:
    family(filled, "seen").put(key_of(Candidate("http://b/1")), b"d:200")
    faults = filled.check().faults
    assert "not queued: http://b/1 is in a run, but d:200" in faults
    assert kinds(filled) == {"not queued", "counter"}


def test_a_url_in_a_run_that_was_never_seen(filled: Crawl) -> None:
    family(filled, "seen").delete(key_of(Candidate("http://b/1")))
    assert "not queued: http://b/1 is in a run, but never seen" in filled.check().faults


def test_an_unknown_state(filled: Crawl) -> None:
    family(filled, "seen").put(key_of(Candidate("http://b/1")), b"x")
    assert "state" in kinds(filled)


def test_a_run_without_a_host_record(filled: Crawl) -> None:
    family(filled, "host").delete(host_key("b"))
    assert kinds(filled) == {"host record", "parked table"}


def test_a_host_record_of_an_empty_host(filled: Crawl) -> None:
    family(filled, "host").put(host_key("z"), encode_host(HostRecord("z")))
    assert filled.check().faults == ["host record: host z has a record, but no run, and is not parked"]


def test_a_wrong_level_count(filled: Crawl) -> None:
    change_host(filled, "b", lambda record: record.levels.update({7: [9, record.levels[7][1]]}))
    assert filled.check().faults == ["level: host b counts 9 URLs of rank 7, its run holds 1"]


def test_a_level_the_record_does_not_know(filled: Crawl) -> None:
    change_host(filled, "b", lambda record: record.levels.clear())
    assert kinds(filled) == {"level"}


def test_a_low_mark_above_a_live_entry(filled: Crawl) -> None:
    change_host(filled, "b", lambda record: record.levels.update({7: [1, 4000]}))
    assert kinds(filled) == {"low mark"}


def test_a_rank_no_front_queue_has(filled: Crawl) -> None:
    filled.limits.queues = 2
    assert kinds(filled) == {"rank"}


def test_a_waiting_host_without_its_front_entry(filled: Crawl) -> None:
    [(place, _)] = filled.storage.items("front")
    family(filled, "front").delete(FRONT.pack(*place))
    assert kinds(filled) == {"front entry"}
    assert any("is not there" in fault for fault in filled.check().faults)


def test_a_front_entry_nobody_owns(filled: Crawl) -> None:
    family(filled, "front").put(FRONT.pack(3, 4000), host_key("a"))
    assert filled.check().faults == ["front entry: host a waits there too: rank 3, place 4000"]


def test_a_host_with_urls_that_does_not_wait(filled: Crawl) -> None:
    [(place, _)] = filled.storage.items("front")
    family(filled, "front").delete(FRONT.pack(*place))
    change_host(filled, "a", lambda record: setattr(record, "front", None))
    assert filled.check().faults == ["front entry: host a has queued URLs, but does not wait"]


def test_a_parked_host_that_waits(filled: Crawl) -> None:
    family(filled, "front").put(FRONT.pack(3, 4000), host_key("b"))
    change_host(filled, "b", lambda record: setattr(record, "front", (3, 4000)))
    assert filled.check().faults == ["front entry: host b waits, but is parked"]


def test_a_front_mark_above_a_live_entry(filled: Crawl) -> None:
    [((rank, seq), _)] = filled.storage.items("front")
    change_meta(filled, "front_marks", {rank: seq + 1})
    fault = f"front mark: rank {rank} is read from {seq + 1}, but host a waits at {seq}"
    assert filled.check().faults == [fault]


def test_a_parked_host_missing_from_the_table(filled: Crawl) -> None:
    family(filled, "parked").delete(parked_key(NEVER, host_key("c")))
    assert filled.check().faults == ["parked table: host c is parked, but not in the table"]


def test_a_row_of_the_parked_table_nobody_owns(filled: Crawl) -> None:
    family(filled, "parked").put(parked_key(5.0, host_key("a")), b"")
    assert filled.check().faults == ["parked table: host a is in the table, but not parked till then"]


@pytest.mark.parametrize("name", ["offered", "done", "parked"])
def test_a_wrong_counter(filled: Crawl, name: str) -> None:
    change_meta(filled, "counts", {**filled.storage.counts, name: 99})
    assert kinds(filled) == {"counter"}


def test_differences_are_found_part_by_part(filled: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "_PART", 2)
    for rank, seq in entries(filled, "a"):
        family(filled, "run").delete(RUN.pack(host_key("a"), rank, seq))
    assert sum(fault.startswith("lost:") for fault in filled.check().faults) == 3


def test_many_faults_of_one_kind_are_told_as_a_number(crawl: Crawl) -> None:
    crawl.add(*(f"h{n}/1" for n in range(30)))
    for n in range(30):
        family(crawl, "host").delete(host_key(f"h{n}"))
    faults = crawl.check().faults
    assert sum(fault.startswith("host record: host") for fault in faults) == 10
    assert "host record: 20 more" in faults
