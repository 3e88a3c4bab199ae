"""When a crawl ends, and with which reason: plain logic over a frontier, with time as an argument."""

from __future__ import annotations

from crawlerproj.frontier.ending import ending

from .crawl import Crawl

HORIZON = 300.0


def _ending(crawl: Crawl, answered: bool = True) -> str:
    assert crawl.take() is None  # as the engine does: it asks when there is nothing to hand out
    return ending(crawl.frontier, crawl.now, HORIZON, answered)


def test_nothing_left_is_finished(crawl):
    assert _ending(crawl) == "finished"
    crawl.add("a/1")
    crawl.fetch()
    crawl.commit()
    assert _ending(crawl) == "finished"


def test_a_host_due_within_the_horizon_is_waited_for_and_a_later_one_is_not(crawl):
    crawl.add("a/1", "a/2")
    crawl.fetch(delay=HORIZON)
    crawl.commit()
    assert _ending(crawl) == ""
    crawl.wait()
    crawl.fetch(delay=HORIZON + 1, kind="retry")
    crawl.commit()
    assert _ending(crawl) == "waiting"
    crawl.pass_time(1)
    assert _ending(crawl) == ""


def test_a_wait_that_only_a_crash_caused_does_not_end_the_crawl(crawl_with):
    """A fetch of a second, then a kill: the host rests as after the slowest fetch, past the horizon."""
    crawl = crawl_with(fetch_timeout=2 * HORIZON, delay_factor=10.0, delay_maximum=10 * HORIZON)
    crawl.add("a/1", "b/1")
    crawl.begin()
    crawl.pass_time(1)
    crawl.crash(down=HORIZON)
    assert crawl.fetch() is not None  # the other host
    crawl.commit()
    assert crawl.fetch() is None
    assert crawl.frontier.next_due() > crawl.now + HORIZON
    assert _ending(crawl) == ""
    crawl.wait()
    assert crawl.fetch(delay=2.0) is not None
    crawl.commit()
    assert _ending(crawl) == "finished"


def test_if_nobody_ever_answered_it_says_so_at_once(crawl):
    crawl.add("a/1", "b/1")
    for failures in (1, 0):
        ticket = crawl.begin()
        crawl.frontier.release(ticket.host, crawl.now, 30.0 + failures, failures)
        crawl.settle(ticket, "retry")
        crawl.commit()
    assert _ending(crawl, answered=False) == ""  # one of them did not fail
    crawl.wait()
    ticket = crawl.begin()
    crawl.frontier.release(ticket.host, crawl.now, 30.0, 1)
    crawl.settle(ticket, "retry")
    crawl.commit()
    assert _ending(crawl, answered=False) == "no_seed_reachable"
    assert _ending(crawl, answered=True) == ""
