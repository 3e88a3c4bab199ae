"""Standing still, and what is excused for it."""

from __future__ import annotations

from crawlerproj.frontier import excuses
from crawlerproj.frontier.excuses import Excuses
from crawlerproj.frontier.stalls import BEAT_SECONDS, Stalls


def beating(stalls: Stalls, start: float, end: float) -> float:
    now = start
    while now + BEAT_SECONDS <= end:
        now += BEAT_SECONDS
        stalls.beat(now)
    return now


def test_a_process_that_runs_has_not_stood_still():
    stalls = Stalls(0.0)
    now = beating(stalls, 0.0, 60.0)
    assert not stalls.since(0.0, now + BEAT_SECONDS)


def test_a_beat_that_is_late_tells_of_a_stall_to_all_that_was_under_way():
    stalls = Stalls(0.0)
    now = beating(stalls, 0.0, 10.0)
    stalls.beat(now + 5.0)
    assert stalls.since(9.0, now + 5.1)
    assert stalls.since(now + 4.9, now + 5.1)
    assert not stalls.since(now + 5.1, now + 5.2)


def test_a_stall_is_known_before_its_beat_has_come():
    stalls = Stalls(0.0)
    now = beating(stalls, 0.0, 10.0)
    assert stalls.since(9.0, now + 5.0)


def test_a_busy_process_does_not_stand_still():
    stalls = Stalls(0.0)
    stalls.beat(BEAT_SECONDS + 0.3)
    assert not stalls.since(0.0, BEAT_SECONDS + 0.6)


def test_excuses_come_to_an_end():
    some = Excuses()
    assert [some.grant(b"a", 2) for _ in range(3)] == [True, True, False]
    assert some.grant(b"b", 1)
    assert not some.grant(b"b", 1)


def test_only_so_many_urls_are_known(monkeypatch):
    monkeypatch.setattr(excuses, "KEPT", 3)
    some = Excuses()
    for key in (b"a", b"b", b"c", b"d"):
        assert some.grant(key, 1)
    assert not some.grant(b"d", 1)
    assert some.grant(b"a", 1)
