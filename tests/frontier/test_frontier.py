"""The rules of the frontier, one example each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from crawlerproj.frontier.front_queues import FrontQueues
from crawlerproj.storage.interface import NEVER

from .crawl import Crawl, host_key, name

CrawlWith = Callable[..., Crawl]


# --- out ----------------------------------------------------------------------------------------


def test_a_url_can_be_taken_when_its_group_has_landed(crawl: Crawl) -> None:
    assert crawl.offer("a/1") == 1
    assert crawl.take() is None
    crawl.commit()
    assert name(crawl.take()) == "a/1"


def test_a_url_comes_out_once(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2", "b/1")
    crawl.add("a/1", "b/1")
    assert sorted(crawl.drain()) == ["a/1", "a/2", "b/1"]
    assert crawl.state("a/1") == "d:200"
    assert crawl.check() == ([], {"queued": 0, "done": 3, "parked": 0, "hosts": 0, "waiting_hosts": 0,
                                  "parked_hosts": 0})


def test_urls_of_a_host_come_by_priority_then_by_arrival(crawl: Crawl) -> None:
    crawl.add("a/low1", "a/low2", priority=1)
    crawl.add("a/high", priority=7)
    crawl.add("a/low3", priority=1)
    assert crawl.drain() == ["a/high", "a/low1", "a/low2", "a/low3"]


def test_something_more_urgent_overtakes_what_a_back_queue_has_read(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2", "a/3")
    ticket = crawl.begin()
    crawl.add("a/urgent", priority=8)  # lands while the host is busy
    crawl.release(ticket)
    crawl.settle(ticket)
    assert crawl.drain() == ["a/urgent", "a/2", "a/3"]


def test_a_run_longer_than_a_back_queues_head_comes_out_whole_and_in_order(crawl: Crawl) -> None:
    urls = [f"a/{n:03}" for n in range(100)]
    crawl.add(*urls)
    assert crawl.drain() == urls


def test_a_giant_host_is_drained_while_many_settlements_have_not_landed(crawl: Crawl) -> None:
    urls = [f"a/{n:03}" for n in range(60)]
    crawl.add(*urls)
    assert [crawl.fetch(delay=0.0) for _ in range(60)] == urls
    assert crawl.fetch() is None
    crawl.commit()
    assert crawl.frontier.back == {}
    assert crawl.check().faults == []


# --- politeness ---------------------------------------------------------------------------------


def test_a_host_has_one_url_in_transfer(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2", "b/1")
    hosts = [crawl.begin(), crawl.begin()]
    assert {name(ticket) for ticket in hosts} == {"a/1", "b/1"}
    crawl.pass_time(1000)
    assert crawl.begin() is None


def test_a_host_has_one_url_in_hand_even_before_its_transfer_begins(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    assert name(crawl.take()) == "a/1"
    crawl.commit()
    assert crawl.take() is None


def test_a_landing_group_does_not_wake_a_busy_host(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    crawl.begin()
    crawl.add("a/3")
    assert crawl.take() is None


def test_a_landed_url_is_not_remembered_by_its_back_queue(crawl: Crawl) -> None:
    crawl.add(*(f"a/{n}" for n in range(30)))
    for _ in range(20):
        crawl.fetch(delay=0.0)
    assert len(crawl.frontier.back[host_key("a")].drawn) == 20
    crawl.commit()
    assert len(crawl.frontier.back[host_key("a")].drawn) == 0


def test_a_host_waits_from_the_end_of_its_transfer(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    ticket = crawl.begin()
    crawl.pass_time(3)
    crawl.release(ticket, delay=30.0)
    assert crawl.frontier.next_due() == crawl.now + 30
    crawl.pass_time(29.9)
    assert crawl.begin() is None
    crawl.pass_time(0.1)
    assert name(crawl.begin()) == "a/2"  # though the first is not settled yet


def test_the_ready_time_outlives_the_back_queue(crawl: Crawl) -> None:
    crawl.add("a/1")
    assert crawl.fetch(delay=30.0) == "a/1"
    crawl.commit()
    assert crawl.frontier.back == {}
    crawl.add("a/2")
    assert crawl.fetch() is None
    assert crawl.frontier.next_due() == pytest.approx(crawl.now + 30)
    crawl.pass_time(30.001)
    assert crawl.fetch() == "a/2"


def test_the_ready_time_outlives_the_process(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    crawl.fetch(delay=30.0)
    crawl.commit()
    crawl.crash(down=10)
    assert crawl.fetch() is None
    assert crawl.frontier.next_due() == pytest.approx(crawl.now + 20)


def test_a_transfer_cut_by_a_crash_ended_when_the_next_process_opened(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(delay_factor=10, delay_minimum=2, fetch_timeout=60)
    crawl.add("a/1")
    crawl.begin()
    crawl.pass_time(1)
    crawl.crash(down=3)  # four seconds, as far as anyone can know
    assert crawl.begin() is None
    assert crawl.frontier.next_due() == pytest.approx(crawl.now + 40)


def test_a_transfer_cut_by_a_crash_ended_at_its_timeout_at_the_latest(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(delay_factor=1, delay_minimum=2, fetch_timeout=60)
    crawl.add("a/1")
    crawl.begin()
    crawl.crash(down=90)
    assert crawl.begin() is None
    assert crawl.frontier.next_due() == pytest.approx(crawl.now + 30)


def test_a_cut_transfer_keeps_the_delay_its_host_had(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    crawl.fetch(delay=100.0)
    crawl.pass_time(100)
    crawl.begin()
    crawl.crash()
    assert crawl.begin() is None
    assert crawl.frontier.next_due() == pytest.approx(crawl.now + 100)


def test_a_ready_time_from_a_wrong_clock_is_bounded(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(ready_maximum=600)
    crawl.add("a/1", "a/2")
    crawl.fetch(delay=50.0)
    crawl.commit()
    crawl.wall -= 1_000_000  # the clock was wrong before
    crawl.crash()
    assert crawl.begin() is None
    assert crawl.frontier.next_due() == pytest.approx(crawl.now + 600)


def test_failures_are_counted_in_a_row_and_across_a_crash(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2", "a/3")
    for expected in (1, 2):
        ticket = crawl.begin()
        crawl.frontier.release(ticket.host, crawl.now, 2.0, crawl.frontier.failures(ticket.host) + 1)
        assert crawl.frontier.failures(ticket.host) == expected
        crawl.settle(ticket)
        crawl.pass_time(2)
    crawl.commit()
    crawl.crash(down=100)
    ticket = crawl.begin()
    assert crawl.frontier.failures(ticket.host) == 2
    crawl.release(ticket)
    assert crawl.frontier.failures(ticket.host) == 0


# --- settlement ---------------------------------------------------------------------------------


def test_a_url_is_settled_once(crawl: Crawl) -> None:
    crawl.add("a/1")
    ticket = crawl.begin()
    crawl.release(ticket)
    crawl.settle(ticket)
    with pytest.raises(RuntimeError, match="settled twice: http://a/1"):
        crawl.settle(ticket)


def test_a_retry_goes_behind_its_host_and_counts(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    ticket = crawl.begin()
    assert ticket.attempts == 1
    crawl.release(ticket)
    crawl.settle(ticket, "retry")
    crawl.commit()
    crawl.pass_time(2)
    assert crawl.fetch() == "a/2"
    crawl.commit()
    crawl.pass_time(2)
    again = crawl.begin()
    assert (name(again), again.attempts, again.suspect) == ("a/1", 2, False)


def test_the_retry_of_a_hosts_only_url_comes_back(crawl: Crawl) -> None:
    crawl.add("a/1")
    assert crawl.fetch(kind="retry") == "a/1"
    assert crawl.drain() == ["a/1"]


def test_a_url_put_back_is_next_and_is_no_attempt(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    for _ in range(5):
        crawl.frontier.put_back(crawl.take())
    ticket = crawl.begin()
    assert (name(ticket), ticket.attempts) == ("a/1", 1)


def test_a_url_put_back_after_a_contact_waits_for_its_host(crawl: Crawl) -> None:
    """As when the contact fetched the host's robots.txt."""
    crawl.add("a/1", "a/2")
    ticket = crawl.begin()
    crawl.release(ticket, 5.0)
    crawl.frontier.put_back(ticket)
    assert crawl.begin() is None
    crawl.crash(down=5)
    again = crawl.begin()
    assert (name(again), again.attempts, again.suspect) == ("a/1", 1, False)


def test_a_url_put_back_is_not_forgotten_when_later_ones_are_settled(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2", "a/3")
    first = crawl.begin()
    crawl.release(first, 0.0)
    second = crawl.begin()
    crawl.release(second, 0.0)
    crawl.frontier.put_back(first)
    crawl.settle(second)
    crawl.commit()
    assert crawl.check().faults == []
    crawl.crash(down=10)
    assert crawl.drain() == ["a/1", "a/3"]


def test_settling_out_of_order_loses_nothing_in_a_crash(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2", "a/3")
    tickets = []
    for _ in range(3):
        ticket = crawl.begin()
        crawl.release(ticket, 0.0)
        tickets.append(ticket)
    crawl.settle(tickets[2])
    crawl.commit()
    crawl.settle(tickets[1])
    crawl.commit()
    assert crawl.check().faults == []
    crawl.crash(down=10)
    assert crawl.drain() == ["a/1"]


# --- waking -------------------------------------------------------------------------------------


def test_a_host_whose_urls_are_all_in_hand_is_woken_by_a_new_one(crawl: Crawl) -> None:
    crawl.add("a/1")
    ticket = crawl.begin()
    crawl.add("a/2")
    crawl.release(ticket, 0.0)
    assert name(crawl.begin()) == "a/2"  # before the first is settled


def test_a_host_that_slept_for_an_unlanded_url_is_woken_when_it_lands(crawl: Crawl) -> None:
    crawl.add("a/1")
    ticket = crawl.begin()
    crawl.offer("a/2")
    crawl.release(ticket, 0.0)
    crawl.settle(ticket)
    assert crawl.take() is None
    assert crawl.take() is None
    assert crawl.frontier.next_due() is None  # or the caller would spin
    crawl.commit()
    assert name(crawl.take()) == "a/2"


def test_a_host_emptied_while_a_group_lands_is_found_again(crawl: Crawl) -> None:
    crawl.add("a/1")
    assert crawl.fetch(0.0) == "a/1"
    group = crawl.storage.seal()
    crawl.offer("a/2")
    crawl.storage.write(group, lambda: None)
    crawl.frontier.landed(group.settled, crawl.storage.landed(group))
    assert crawl.fetch() is None
    crawl.commit()
    crawl.pass_time(0.001)
    assert crawl.fetch() == "a/2"


# --- sharing ------------------------------------------------------------------------------------


def test_back_queues_grow_only_while_nobody_is_due(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(back_queues_min=2, quantum=1000)
    crawl.add(*(f"h{n}/{m}" for n in range(10) for m in range(20)))
    for _ in range(20):
        assert crawl.fetch(delay=0.0) is not None
    assert len(crawl.frontier.back) == 2
    for _ in range(5):
        assert crawl.fetch(delay=60.0) is not None
    assert 2 < len(crawl.frontier.back) <= 6


def test_back_queues_have_a_maximum(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(back_queues_min=2, back_queues_max=3)
    crawl.add(*(f"h{n}/{m}" for n in range(10) for m in range(2)))
    assert [crawl.fetch(delay=60.0) is not None for _ in range(5)] == [True, True, True, False, False]
    assert len(crawl.frontier.back) == 3


def test_a_host_gives_up_its_back_queue_after_its_quantum_if_others_wait(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(back_queues_min=1, back_queues_max=1, quantum=3)
    crawl.add(*(f"giant/{n}" for n in range(9)))
    crawl.add("small/1")
    names = crawl.drain(delay=0.0)
    assert names.index("small/1") == 3
    assert len(names) == 10


def test_a_host_keeps_its_back_queue_when_nobody_waits(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(back_queues_min=1, quantum=3)
    crawl.add(*(f"a/{n}" for n in range(9)))
    assert crawl.fetch(0.0) == "a/0"
    crawl.frontier.take(crawl.now - 1)  # nobody is due: the front queues are found empty
    queue = crawl.frontier.back[host_key("a")]
    for n in range(1, 9):
        assert crawl.fetch(0.0) == f"a/{n}"
        if n < 8:
            assert crawl.frontier.back[host_key("a")] is queue


def test_nothing_starves_beside_giants_of_the_highest_priority(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(queues=8, back_queues_min=2, back_queues_max=2, quantum=5)
    crawl.add(*(f"giant{g}/{n}" for g in range(6) for n in range(400)), priority=8)
    crawl.add("poor/1", priority=1)
    names = crawl.drain(delay=0.0)
    assert len(names) == 2401
    assert names.index("poor/1") < 2100  # the giants had much more to give


def test_higher_queues_are_drained_faster(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(queues=3, bias=2.0, back_queues_min=1, back_queues_max=1)
    for priority in (1, 2, 3):
        crawl.add(*(f"p{priority}-{n}/1" for n in range(300)), priority=priority)
    first = Counter(url[1] for url in crawl.drain(delay=0.0)[:350])
    assert first["3"] > 1.25 * first["2"] > 1.25 * 1.25 * first["1"] > 0


# --- crashes ------------------------------------------------------------------------------------


def test_nothing_is_lost_when_everything_in_hand_is(crawl: Crawl) -> None:
    urls = [f"h{n}/{m}" for n in range(5) for m in range(3)]
    crawl.add(*urls)
    for _ in range(5):
        assert crawl.begin() is not None
    crawl.crash(down=1000)
    assert crawl.check().faults == []
    assert sorted(crawl.drain()) == urls


def test_suspects_are_drawn_one_at_a_time_and_innocents_meanwhile(crawl: Crawl) -> None:
    crawl.add("a/1", "b/1", "c/1")
    for _ in range(3):
        crawl.begin()
    crawl.crash(down=1000)
    crawl.add("d/1")
    suspect = crawl.begin()
    assert (suspect.suspect, suspect.deaths) == (True, 1)
    innocent = crawl.begin()
    assert (name(innocent), innocent.suspect) == ("d/1", False)
    assert crawl.begin() is None
    crawl.release(suspect)
    crawl.settle(suspect)
    assert crawl.begin() is None  # its settlement may still be lost, and it with it
    crawl.commit()
    assert crawl.begin().suspect


def test_a_page_that_kills_the_process_is_parked_and_nobody_else(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(max_attempts=3)
    innocents = [f"h{n}/1" for n in range(6)]
    crawl.add("bad/1", "bad/2", *innocents)
    deaths = 0
    done: list[str] = []
    for _ in range(500):
        ticket = crawl.begin()
        if ticket is None:
            crawl.commit()
            if not crawl.wait() and crawl.frontier.idle():
                break
        elif name(ticket) == "bad/1":
            deaths += 1
            crawl.crash(down=1000)
        else:
            crawl.release(ticket)
            crawl.settle(ticket)
            done.append(name(ticket))
    assert deaths == 3
    assert crawl.state("bad/1") == "p:poison"
    assert set(done) == {"bad/2", *innocents}
    assert crawl.check().faults == []


def test_suspects_not_drawn_yet_stay_suspects_in_the_next_crash(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(max_attempts=2)
    crawl.add("a/1", "a/2", "a/3")
    for _ in range(3):  # all three are being processed when the process dies
        crawl.release(crawl.begin(), 0.0)
    crawl.crash(down=1000)
    assert name(crawl.begin()) == "a/1"
    crawl.crash(down=1000)
    contact = crawl.storage.contact(host_key("a"))
    assert sorted(deaths for _, deaths in contact.unsettled) == [1, 1, 2]
    ticket = crawl.begin()  # the first is poison by now
    assert (name(ticket), ticket.deaths) == ("a/2", 1)
    assert crawl.state("a/1") == "p:poison"


def test_a_settled_suspect_is_not_blamed_for_a_kill_during_its_commit(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(max_attempts=2)
    crawl.add("a/1")
    crawl.begin()
    crawl.crash(down=1000)
    for _ in range(5):
        ticket = crawl.begin()
        assert name(ticket) == "a/1"
        crawl.release(ticket)
        crawl.settle(ticket)
        crawl.crash(down=1000)  # before the commit
    assert crawl.state("a/1") == "q"


def test_a_retried_url_is_no_suspect_when_its_host_gets_a_back_queue_again(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(quantum=1, back_queues_min=1, back_queues_max=1)
    crawl.add("a/1", "b/1")
    assert crawl.fetch(0.0, "retry") == "a/1"
    crawl.commit()
    assert crawl.fetch(0.0) == "b/1"
    crawl.commit()
    crawl.pass_time(0.001)
    ticket = crawl.begin()
    assert (name(ticket), ticket.suspect, ticket.attempts) == ("a/1", False, 2)


def test_a_suspect_put_back_stays_a_suspect(crawl: Crawl) -> None:
    crawl.add("a/1")
    crawl.begin()
    crawl.crash(down=1000)
    for _ in range(3):
        ticket = crawl.begin()
        assert (ticket.suspect, ticket.deaths) == (True, 1)
        crawl.release(ticket, 0.0)
        crawl.frontier.put_back(ticket)
    crawl.crash(down=1000)
    assert crawl.begin().deaths == 1


# --- parking ------------------------------------------------------------------------------------


def test_a_parked_host_rests_until_its_wake_time(crawl: Crawl) -> None:
    crawl.add("a/1")
    crawl.frontier.park(host_key("a"), "a", crawl.wall + 500, "asked")
    crawl.commit()
    assert crawl.take() is None
    assert crawl.frontier.next_due() == pytest.approx(crawl.now + 500, abs=0.002)
    assert "parked: asked" in crawl.frontier.why("http://a/1", crawl.now)["because"]
    crawl.crash(down=400)
    assert crawl.take() is None
    crawl.pass_time(100.01)
    crawl.take()
    crawl.commit()
    assert crawl.fetch() == "a/1"


def test_a_host_with_urls_in_hand_is_parked_when_they_are_settled(crawl: Crawl) -> None:
    crawl.add("a/1", "a/2")
    ticket = crawl.begin()
    crawl.frontier.park(host_key("a"), "a", NEVER, "banned")
    crawl.release(ticket, 0.0)
    assert crawl.take() is None
    crawl.settle(ticket)
    crawl.commit()
    assert crawl.take() is None
    assert crawl.frontier.next_due() is None
    assert crawl.storage.host(host_key("a")).wake == NEVER
    assert crawl.check().faults == []
    crawl.crash()
    assert crawl.take() is None
    assert crawl.offer("a/3") == 1
    crawl.commit()
    assert crawl.take() is None


# --- marks --------------------------------------------------------------------------------------


def test_marks_rise_and_a_process_that_starts_there_misses_nobody(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(back_queues_min=3, quantum=2)
    crawl.add(*(f"h{n:02}/{m}" for n in range(30) for m in range(2)))
    names = []
    for n in range(25):
        names.append(crawl.fetch(delay=0.0))
        if n % 5 == 0:
            crawl.frontier.mark()
        crawl.commit()
        assert crawl.check().faults == []
    assert max(crawl.storage.front_marks.values()) > 1
    crawl.crash()
    names += crawl.drain(delay=0.0)
    assert sorted(names) == sorted(f"h{n:02}/{m}" for n in range(30) for m in range(2))


# --- telling ------------------------------------------------------------------------------------


def test_why_tells_where_a_url_is(crawl: Crawl) -> None:
    why = lambda url: crawl.frontier.why("http://" + url, crawl.now)  # noqa: E731
    assert why("a/1")["state"] == "unknown"
    crawl.add("a/1", "a/2", "b/1")
    assert why("a/1")["because"] == "its host waits in a front queue"
    ticket = crawl.begin()
    assert "fetched or processed now" in why(name(ticket))["because"]
    assert "earlier URLs of the host come first" in why("a/2")["because"]
    crawl.release(ticket)
    crawl.settle(ticket)
    assert (why(name(ticket))["state"], why(name(ticket))["outcome"]) == ("done", "200")


def test_a_death_is_not_held_against_a_url_as_an_attempt(crawl_with: CrawlWith) -> None:
    """Two retries and one death are not three deaths: the URL comes again."""
    crawl = crawl_with(max_attempts=3)
    crawl.add("a/1")
    for _ in range(2):
        assert crawl.fetch(kind="retry") == "a/1"
        crawl.commit()
        crawl.wait()
    assert crawl.begin().attempts == 3
    crawl.crash(down=1000)
    ticket = crawl.begin()
    assert (name(ticket), ticket.attempts, ticket.deaths) == ("a/1", 3, 1)


def test_a_url_of_two_deaths_waits_until_nothing_else_is_left(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(max_attempts=3)
    crawl.add("bad/1")
    for _ in range(2):
        crawl.begin()
        crawl.crash(down=1000)
    crawl.add("a/1", "b/1")
    crawl.pass_time(1)
    others = [crawl.begin(), crawl.begin()]
    assert sorted(map(str, map(name, others))) == ["a/1", "b/1"]
    assert crawl.begin() is None
    assert not crawl.frontier.idle()
    for ticket in others:
        crawl.release(ticket)
        crawl.settle(ticket)
    crawl.commit()
    assert name(crawl.begin()) == "bad/1"


def test_a_url_of_two_deaths_waits_a_minute_beside_others(crawl_with: CrawlWith) -> None:
    crawl = crawl_with(max_attempts=3)
    crawl.add("bad/1")
    for _ in range(2):
        crawl.begin()
        crawl.crash(down=1000)
    crawl.add("a/1")
    assert name(crawl.begin()) == "a/1"  # and is in hand from now on
    assert crawl.begin() is None
    crawl.pass_time(61)
    assert name(crawl.begin()) == "bad/1"


def test_a_host_that_has_risen_since_its_urls_were_offered_is_drawn_first(crawl):
    standing = {"c": 2, "a": -1}
    crawl.add("a/1", "b/1", "c/1", "d/1")
    fronts = FrontQueues(crawl.storage, crawl.limits.queues, crawl.limits.bias, crawl.rng,
                         lambda host: standing.get(host, 0))
    assert [fronts.take() for _ in range(5)] == [*map(host_key, "cbda"), None]


def test_marks_stay_below_every_host_of_a_piece_that_was_reordered(crawl):
    crawl.add("a/1", "b/1", "c/1")
    fronts = FrontQueues(crawl.storage, crawl.limits.queues, crawl.limits.bias, crawl.rng,
                         lambda host: host == "c")
    assert fronts.take() == host_key("c")
    fronts.mark([])
    rank, seq = crawl.storage.host(host_key("a")).front
    assert crawl.storage.front_marks[rank] == seq
