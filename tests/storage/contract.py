"""What every storage engine promises. An engine's test file gives the fixture `engine`:

    engine.open()        opens the state, as a process does when it starts
    engine.crash(s)      ends `s` as a kill would: what has not been committed is gone
    engine.child_open    Python source that leaves an open storage in `storage`, for a child process

An engine may promise less, and says so by an attribute:

    tells_outcomes = False         `known` tells a committed URL by `s` (queued or done) or `p:reason`
    tells_newness_at_once = False  `offer` says how many seem new; the commit decides, and counts them
    keeps_front_marks = False      it needs none
    key_bytes = 8                  `items("seen")` gives that many bytes of a key
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Protocol

import pytest

from crawlerproj.storage.interface import NEVER, Contact, Offer, Settlement, Storage

PROJECT = Path(__file__).resolve().parents[2]
MARK = 1 << 60  # above every sequence number


class Engine(Protocol):
    child_open: str

    def open(self) -> Storage: ...

    def crash(self, storage: Storage) -> None: ...


def key_of(url: str) -> bytes:
    return hashlib.blake2b(url.encode(), digest_size=16).digest()


def group_of(host: str) -> bytes:
    return hashlib.blake2b(host.encode(), digest_size=8).digest()


def offered(host: str, path: str, rank: int = 3) -> Offer:
    url = f"http://{host}/{path}"
    return Offer(key_of(url), group_of(host), host, rank, url.encode())


def commit(storage: Storage, lengths: dict[str, int] | None = None) -> Any:
    group = storage.seal(lengths)
    if group is not None:
        storage.write(group, lambda: None)
        storage.landed(group)
    return group


def run(storage: Storage, host: str, limit: int = 100) -> list[str]:
    """The paths in a host's run, in the order of drawing."""
    return [entry.candidate.decode().split("/", 3)[3] for entry in storage.read_run(group_of(host), limit)]


def front(storage: Storage, ranks: int = 8) -> list[tuple[int, bytes]]:
    return [(rank, host) for rank in range(ranks) for _, host in storage.read_front(rank, 0, 1000)]


def state(engine: Engine, expected: bytes) -> bytes:
    """The state of a committed URL, as far as the engine tells it."""
    told = getattr(engine, "tells_outcomes", True) or expected.startswith(b"p:")
    return expected if told else b"s"


def settle(storage: Storage, host: str, kind: str = "done", *, at: int = 0, low: int | None = None) -> bytes:
    """Settles the entry at a place of the host's run; its low mark follows, or lags behind at `low`."""
    entry = storage.read_run(group_of(host), at + 1)[at]
    key = key_of(entry.candidate.decode())
    storage.settle(Settlement(key, group_of(host), entry.rank, entry.seq, kind, "reason",
                              entry.seq + 1 if low is None else low, entry.candidate, entry.candidate))
    return key


class StorageContract:
    # --- newness and enqueueing -------------------------------------------------------------

    def test_new_urls_are_counted_and_queued_in_order_of_rank_then_arrival(self, engine: Engine) -> None:
        storage = engine.open()
        assert storage.offer([offered("a", "1", 5), offered("a", "2", 2), offered("a", "3", 5)]) == 3
        commit(storage)
        assert run(storage, "a") == ["2", "1", "3"]
        assert storage.counts["offered"] == 3

    def test_a_url_is_new_once_in_a_call_in_a_group_and_for_ever(self, engine: Engine) -> None:
        storage = engine.open()
        again = offered("a", "1")
        assert storage.offer([again, again]) == 1
        assert storage.offer([again]) == 0
        group = storage.seal()
        assert storage.offer([again]) == 0
        storage.write(group, lambda: None)
        assert storage.offer([again]) == 0
        storage.landed(group)
        assert storage.offer([again]) == 0
        engine.crash(storage)
        storage = engine.open()
        seems_new = storage.offer([again])
        assert seems_new == 0 or not getattr(engine, "tells_newness_at_once", True)
        commit(storage)
        assert (storage.counts["offered"], run(storage, "a")) == (1, ["1"])

    def test_what_is_unseen_is_told_before_an_offer_and_decided_by_it(self, engine: Engine) -> None:
        storage = engine.open()
        one, two = key_of("http://a/1"), key_of("http://a/2")
        assert storage.unseen([one, two, one]) == {one, two}
        assert storage.offer([offered("a", "1")]) == 1
        assert storage.unseen([one, two]) == {two}
        assert storage.offer([offered("a", "1"), offered("a", "2")]) == 1
        commit(storage)
        assert storage.unseen([one, two]) == set()
        assert storage.offer([offered("a", "1"), offered("a", "2")]) == 0

    def test_new_and_queued_are_one_write(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        engine.crash(storage)  # neither known nor queued
        storage = engine.open()
        assert storage.known(key_of("http://a/1")) is None
        assert (run(storage, "a"), front(storage)) == ([], [])
        assert storage.offer([offered("a", "1")]) == 1

    def test_an_uncommitted_url_is_known_and_counted_but_not_read(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        assert storage.known(key_of("http://a/1")) == b"q"
        assert storage.host(group_of("a")).queued == 1
        assert (run(storage, "a"), front(storage)) == ([], [])
        group = storage.seal()
        assert storage.known(key_of("http://a/1")) == b"q"
        storage.write(group, lambda: None)
        storage.landed(group)
        assert run(storage, "a") == ["1"]
        assert front(storage) == [(3, group_of("a"))]

    # --- settlement -------------------------------------------------------------------------

    def test_a_settled_url_leaves_its_run_and_keeps_its_outcome(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1"), offered("a", "2")])
        commit(storage)
        done = settle(storage, "a", "done")
        parked = settle(storage, "a", "parked")
        assert storage.known(done) == b"d:reason"
        group = commit(storage)
        assert len(group.settled) == 2
        assert run(storage, "a") == []
        assert storage.known(done) == state(engine, b"d:reason")
        assert storage.known(parked) == b"p:reason"
        assert (storage.counts["done"], storage.counts["parked"]) == (1, 1)

    def test_an_uncommitted_settlement_is_undone_by_a_crash(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        commit(storage)
        settle(storage, "a")
        engine.crash(storage)
        storage = engine.open()
        assert run(storage, "a") == ["1"]
        assert storage.known(key_of("http://a/1")) == state(engine, b"q")
        assert front(storage) == [(3, group_of("a"))]

    def test_a_retry_goes_to_the_tail_of_its_level(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1"), offered("a", "2"), offered("a", "low", 6)])
        commit(storage)
        key = settle(storage, "a", "retry")
        commit(storage)
        assert run(storage, "a") == ["2", "1", "low"]
        assert storage.known(key) == state(engine, b"q")
        assert storage.host(group_of("a")).queued == 3

    def test_the_only_url_of_a_host_can_be_retried(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        commit(storage)
        settle(storage, "a", "retry")
        commit(storage)
        assert run(storage, "a") == ["1"]
        assert front(storage) == [(3, group_of("a"))]

    # --- front entries ----------------------------------------------------------------------

    def test_a_host_has_one_front_entry_however_much_is_queued(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", str(n)) for n in range(20)])
        commit(storage)
        storage.offer([offered("a", str(n)) for n in range(20, 40)])
        commit(storage)
        assert front(storage) == [(3, group_of("a"))]

    def test_front_queues_are_first_in_first_out(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered(host, "1") for host in "dbca"])
        commit(storage)
        assert front(storage) == [(3, group_of(host)) for host in "dbca"]
        first, _ = storage.read_front(3, 0, 2)[1]
        assert [host for _, host in storage.read_front(3, first, 100)] == [group_of("c"), group_of("a")]

    def test_a_better_candidate_moves_a_waiting_host_up(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1", 5)])
        commit(storage)
        storage.offer([offered("a", "2", 1), offered("a", "3", 7)])
        commit(storage)
        assert front(storage) == [(1, group_of("a"))]

    def test_the_entry_of_a_host_with_a_back_queue_stays(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1", 5)])
        commit(storage)
        storage.held = {group_of("a")}
        storage.offer([offered("a", "2", 1)])
        commit(storage)
        assert front(storage) == [(5, group_of("a"))]

    def test_the_entry_goes_with_the_last_url_and_comes_back_with_the_next(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1"), offered("b", "1")])
        commit(storage)
        settle(storage, "a")
        assert storage.host(group_of("a")) is None
        commit(storage)
        assert front(storage) == [(3, group_of("b"))]
        storage.offer([offered("a", "2")])
        commit(storage)
        assert front(storage) == [(3, group_of("b")), (3, group_of("a"))]

    def test_a_host_emptied_and_filled_in_one_group_waits(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        commit(storage)
        settle(storage, "a")
        storage.offer([offered("a", "2", 4)])
        commit(storage)
        assert front(storage) == [(4, group_of("a"))]
        assert run(storage, "a") == ["2"]

    def test_requeue_goes_to_the_tail_of_the_best_queue(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1", 2), offered("a", "2", 4), offered("b", "1", 4)])
        commit(storage)
        settle(storage, "a")
        storage.requeue(group_of("a"))
        commit(storage)
        assert front(storage) == [(4, group_of("b")), (4, group_of("a"))]

    # --- parking ----------------------------------------------------------------------------

    def test_a_parked_host_has_no_front_entry_and_keeps_its_urls(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        commit(storage)
        storage.park(group_of("a"), 1000.5, "asked to wait", "a")
        assert list(storage.parked()) == [(1000.5, group_of("a"))]
        storage.offer([offered("a", "2", 0)])
        commit(storage)
        engine.crash(storage)
        storage = engine.open()
        assert front(storage) == []
        assert run(storage, "a") == ["2", "1"]
        assert list(storage.parked()) == [(1000.5, group_of("a"))]
        record = storage.host(group_of("a"))
        assert (record.wake, record.reason, record.name) == (1000.5, "asked to wait", "a")

    def test_a_woken_host_waits_in_its_best_queue(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1", 4)])
        storage.park(group_of("a"), 1000.0, "", "a")
        storage.offer([offered("a", "2", 1)])
        commit(storage)
        storage.wake(group_of("a"))
        assert list(storage.parked()) == []
        commit(storage)
        assert list(storage.parked()) == []
        assert front(storage) == [(1, group_of("a"))]

    def test_parked_hosts_come_by_wake_time_bans_last(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered(host, "1") for host in "abcd"])
        storage.park(group_of("a"), NEVER, "banned")
        storage.park(group_of("b"), 30.0, "")
        commit(storage)
        storage.park(group_of("c"), 20.0, "")
        storage.seal()
        storage.park(group_of("d"), 25.0, "")
        assert list(storage.parked()) == [
            (20.0, group_of("c")), (25.0, group_of("d")), (30.0, group_of("b")), (NEVER, group_of("a")),
        ]

    @pytest.mark.parametrize("wake", [0.0, 0.0001, 1.0011, 1_763_450_000.1234567, NEVER])
    def test_parking_again_replaces_any_wake_time(self, engine: Engine, wake: float) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        storage.park(group_of("a"), wake, "")
        commit(storage)
        engine.crash(storage)
        storage = engine.open()
        [(found, host)] = storage.parked()
        assert host == group_of("a")
        assert found >= wake
        storage.park(group_of("a"), 77.0, "")
        commit(storage)
        assert list(storage.parked()) == [(77.0, group_of("a"))]
        storage.wake(group_of("a"))
        commit(storage)
        assert list(storage.items("parked")) == []
        assert front(storage) == [(3, group_of("a"))]

    def test_a_host_without_urls_can_be_banned_and_a_later_url_does_not_wait(self, engine: Engine) -> None:
        storage = engine.open()
        storage.park(group_of("a"), NEVER, "banned", "a")
        commit(storage)
        assert storage.offer([offered("a", "1")]) == 1
        commit(storage)
        assert front(storage) == []
        settle(storage, "a")
        commit(storage)
        assert storage.host(group_of("a")).wake == NEVER
        storage.wake(group_of("a"))
        commit(storage)
        assert storage.host(group_of("a")) is None
        assert (front(storage), list(storage.items("host"))) == ([], [])

    # --- marks ------------------------------------------------------------------------------

    def test_a_low_mark_does_not_pass_a_live_entry(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", str(n)) for n in range(5)])
        commit(storage)
        first = storage.read_run(group_of("a"), 1)[0]
        settle(storage, "a", at=2, low=first.seq)  # the first two are still in hand
        commit(storage)
        assert run(storage, "a") == ["0", "1", "3", "4"]

    def test_a_level_that_runs_empty_starts_anew(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1"), offered("a", "9", 9)])
        commit(storage)
        settle(storage, "a", low=MARK)
        storage.offer([offered("a", "2")])
        commit(storage)
        assert run(storage, "a") == ["2", "9"]

    def test_front_marks_are_committed_with_the_next_group(self, engine: Engine) -> None:
        if not getattr(engine, "keeps_front_marks", True):
            pytest.skip("the engine needs no front marks")
        storage = engine.open()
        storage.offer([offered("a", "1"), offered("b", "1")])
        commit(storage)
        second, _ = storage.read_front(3, 0, 2)[1]
        settle(storage, "a")
        storage.front_marks[3] = second
        engine.crash(storage)
        storage = engine.open()
        assert storage.front_marks.get(3, 0) < second  # and so the entry of the first lies not below it
        settle(storage, "a")
        storage.front_marks[3] = second
        commit(storage)
        engine.crash(storage)
        storage = engine.open()
        assert storage.front_marks[3] == second
        assert storage.read_front(3, second - 1, 10) == [(second, group_of("b"))]

    def test_an_empty_front_queue_shows_what_arrives_later(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered(host, "1") for host in "abc"])
        commit(storage)
        last = storage.read_front(3, 0, 10)[-1][0]
        assert storage.read_front(3, last, 10) == []
        storage.offer([offered("d", "1")])
        assert storage.read_front(3, last, 10) == []
        group = storage.seal()
        storage.offer([offered("e", "1")])
        storage.write(group, lambda: None)
        storage.landed(group)
        assert [host for _, host in storage.read_front(3, last, 10)] == [group_of("d")]
        commit(storage)
        assert [host for _, host in storage.read_front(3, last, 10)] == [group_of("d"), group_of("e")]

    # --- contacts and tables ----------------------------------------------------------------

    def test_a_contact_needs_no_commit(self, engine: Engine) -> None:
        storage = engine.open()
        assert storage.contact(group_of("a")) is None
        unsettled = [(key_of("http://a/1"), 2), (key_of("http://a/2"), 1)]
        contact = Contact(10.5, 0.0, 12.5, 2.0, 1, 5.0, unsettled)
        storage.put_contact(group_of("a"), contact)
        engine.crash(storage)
        storage = engine.open()
        assert storage.contact(group_of("a")) == contact

    def test_a_table_shows_its_writes_at_once_and_keeps_committed_ones(self, engine: Engine) -> None:
        storage = engine.open()
        storage.put("robots", b"a", b"rules")
        assert storage.get("robots", b"a") == b"rules"
        group = storage.seal()
        assert storage.get("robots", b"a") == b"rules"
        storage.put("robots", b"a", b"newer")
        storage.write(group, lambda: None)
        storage.landed(group)
        assert storage.get("robots", b"a") == b"newer"
        engine.crash(storage)
        storage = engine.open()
        assert storage.get("robots", b"a") == b"rules"
        assert storage.get("dns", b"a") is None
        storage.delete("robots", b"a")
        assert storage.get("robots", b"a") is None
        commit(storage)
        assert storage.get("robots", b"a") is None
        assert list(storage.items("table")) == []

    def test_many_rows_are_read_as_one_row_is(self, engine: Engine) -> None:
        storage = engine.open()
        for name in (b"committed", b"changed", b"deleted"):
            storage.put("a", name, b"old")
        commit(storage)
        storage.put("a", b"changed", b"newer")
        storage.delete("a", b"deleted")
        landing = storage.seal()
        storage.put("b", b"open", b"newest")
        storage.put("a", b"changed", b"newest")
        wanted = [("a", b"changed"), ("b", b"open"), ("a", b"deleted"), ("a", b"open"), ("a", b"committed")]
        assert storage.get_many(wanted) == [b"newest", b"newest", None, None, b"old"]
        assert storage.get_many(wanted) == [storage.get(*row) for row in wanted]
        assert storage.get_many([]) == []
        storage.write(landing, lambda: None)
        storage.landed(landing)

    # --- groups -----------------------------------------------------------------------------

    def test_one_group_lands_before_the_next_is_sealed(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        group = storage.seal()
        assert storage.landing
        storage.offer([offered("a", "2")])
        assert storage.seal() is None
        storage.write(group, lambda: None)
        assert set(storage.landed(group)) == {group_of("a")}
        assert not storage.landing
        assert storage.seal() is not None

    def test_nothing_to_write_is_no_group(self, engine: Engine) -> None:
        storage = engine.open()
        assert storage.seal() is None
        assert storage.seal({}) is None
        assert commit(storage, {"warc": 10}) is not None
        assert storage.seal({"warc": 10}) is None

    def test_the_open_group_knows_its_size(self, engine: Engine) -> None:
        storage = engine.open()
        assert (storage.open_pages, storage.open_bytes) == (0, 0)
        storage.offer([offered("a", "1"), offered("a", "2")])
        assert storage.open_bytes >= 2 * len("http://a/1")
        commit(storage)
        settle(storage, "a")
        assert storage.open_pages == 1
        commit(storage)
        assert (storage.open_pages, storage.open_bytes) == (0, 0)

    def test_files_are_synced_before_the_group_that_tells_their_length(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        group = storage.seal({"warc/1": 100})
        readable_during_sync = []
        storage.write(group, lambda: readable_during_sync.append(run(storage, "a")))
        storage.landed(group)
        assert readable_during_sync == [[]]
        commit(storage, {"edges/1": 5})
        engine.crash(storage)
        storage = engine.open()
        assert storage.file_lengths == {"warc/1": 100, "edges/1": 5}

    def test_failed_files_leave_the_group_unwritten(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        group = storage.seal({"warc/1": 100})

        def disk_full() -> None:
            raise OSError(28, "No space left on device")

        with pytest.raises(OSError, match="No space"):
            storage.write(group, disk_full)
        engine.crash(storage)
        storage = engine.open()
        assert storage.known(key_of("http://a/1")) is None
        assert storage.file_lengths == {}

    def test_counts_and_sequence_survive(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1")])
        commit(storage)
        engine.crash(storage)
        storage = engine.open()
        storage.offer([offered("a", "2")])
        commit(storage)
        assert run(storage, "a") == ["1", "2"]
        assert storage.counts["offered"] == 2

    def test_records_of_many_hosts_survive_a_small_cache(self, engine: Engine) -> None:
        storage = engine.open()
        names = [f"host{n}" for n in range(300)]
        for path in ("1", "2"):
            storage.offer([offered(name, path) for name in names])
            group = storage.seal()
            storage.offer([offered(name, path + "b") for name in names])
            storage.write(group, lambda: None)
            storage.landed(group)
        commit(storage)
        engine.crash(storage)
        storage = engine.open()
        assert [storage.host(group_of(name)).queued for name in names] == [4] * 300
        assert len(front(storage)) == 300

    def test_items_show_all_that_is_committed(self, engine: Engine) -> None:
        storage = engine.open()
        storage.offer([offered("a", "1"), offered("b", "1", 5)])
        storage.park(group_of("b"), 50.0, "asked", "b")
        storage.put("robots", b"a", b"rules")
        storage.put_contact(group_of("a"), Contact(started=1.0))
        commit(storage)
        size = getattr(engine, "key_bytes", 16)
        keys = {key_of("http://a/1")[:size], key_of("http://b/1")[:size]}
        assert {key for key, _ in storage.items("seen")} == keys
        runs = {(host, rank): candidate for (host, rank, _), candidate in storage.items("run")}
        assert runs == {(group_of("a"), 3): b"http://a/1", (group_of("b"), 5): b"http://b/1"}
        assert [(rank, host) for (rank, _), host in storage.items("front")] == [(3, group_of("a"))]
        assert {host: record.name for host, record in storage.items("host")} == {
            group_of("a"): "a", group_of("b"): "b",
        }
        assert list(storage.items("parked")) == [((50.0, group_of("b")), "asked")]
        assert list(storage.items("contact")) == [(group_of("a"), Contact(started=1.0))]
        assert list(storage.items("table")) == [(("robots", b"a"), b"rules")]

    def test_free_room_is_told(self, engine: Engine) -> None:
        assert engine.open().free_bytes() > 0

    # --- real deaths ------------------------------------------------------------------------

    @pytest.mark.parametrize("point", ["before_files", "before_batch", "after_batch", "after_sync"])
    def test_a_kill_inside_a_commit_leaves_all_of_the_group_or_nothing(
        self, engine: Engine, point: str, tmp_path: Path
    ) -> None:
        archive = tmp_path / "archive"
        child = self._child(engine, f"""
            archive = {str(archive)!r}
            def sync_files(text):
                with open(archive, "a") as file:
                    file.write(text)
            storage.offer([offered("a", "1"), offered("a", "2"), offered("b", "1")])
            group = storage.seal({{"archive": 5}})
            storage.write(group, lambda: sync_files("first"))
            storage.landed(group)
            storage.put_contact(group_of("a"), Contact(started=100.0, unsettled=[(key_of("http://a/1"), 1)]))
            settle(storage, "a")
            settle(storage, "b")
            storage.offer([offered("c", "1", 0), offered("a", "3")])
            storage.put("robots", b"c", b"rules")
            storage.park(group_of("b"), 50.0, "asked")
            group = storage.seal({{"archive": 11}})
            storage.write(group, lambda: sync_files("second"))
        """, fault=f"{point}:2")
        assert child.returncode == -signal.SIGKILL, child.stderr
        storage = engine.open()
        assert storage.contact(group_of("a")) == Contact(started=100.0, unsettled=[(key_of("http://a/1"), 1)])
        landed = point in ("after_batch", "after_sync")
        assert archive.read_text() == ("first" if point == "before_files" else "firstsecond")
        assert storage.file_lengths == {"archive": 11 if landed else 5}
        assert run(storage, "a") == (["2", "3"] if landed else ["1", "2"])
        assert run(storage, "c") == (["1"] if landed else [])
        assert storage.known(key_of("http://b/1")) == state(engine, b"d:reason" if landed else b"q")
        assert storage.get("robots", b"c") == (b"rules" if landed else None)
        assert [wake for wake, _ in storage.parked()] == ([50.0] if landed else [])
        before = [(3, group_of("a")), (3, group_of("b"))]
        assert front(storage) == ([(0, group_of("c")), (3, group_of("a"))] if landed else before)

    def test_what_was_committed_and_written_ahead_survives_kill_9(self, engine: Engine) -> None:
        child = self._child(engine, """
            import os, signal
            for n in range(50):
                storage.offer([offered(f"h{n}", str(m)) for m in range(10)])
                commit(storage)
                storage.put_contact(group_of(f"h{n}"), Contact(started=1.0 + n))
            storage.offer([offered("late", "1")])
            os.kill(os.getpid(), signal.SIGKILL)
        """)
        assert child.returncode == -signal.SIGKILL, child.stderr
        storage = engine.open()
        assert [storage.host(group_of(f"h{n}")).queued for n in range(50)] == [10] * 50
        assert [storage.contact(group_of(f"h{n}")).started for n in range(50)] == [1.0 + n for n in range(50)]
        assert storage.known(key_of("http://late/1")) is None

    @staticmethod
    def _child(engine: Engine, script: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        source = (
            f"{engine.child_open}\n"
            "from crawlerproj.storage.interface import Contact\n"
            "from storage.contract import commit, group_of, key_of, offered, settle\n"
            f"{textwrap.dedent(script)}"
        )
        return subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False,
            env=os.environ | {"CRAWLERPROJ_FAULT": fault, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'tests'}"},
        )
