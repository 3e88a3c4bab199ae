"""Hosts at one address: one of them at a time, and the address rests between two."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.frontier.by_address import AddressFrontier

from .crawl import Crawl, group_of, host_key, key_of

PLACES = {"a": "192.0.2.1", "b": "192.0.2.1", "c": "192.0.2.1", "d": "192.0.2.2"}


class AddressCrawl(Crawl):
    def open(self) -> None:
        super().open()
        self.frontier: AddressFrontier = AddressFrontier(
            self.storage, self.limits, key_of=key_of, group_of=group_of,
            priority_of=lambda candidate, host: candidate.priority or 1,
            now=self.now, wall=self.wall, rng=self.rng,
        )  # fmt: skip

    def begin(self) -> Ticket | None:
        """As errands do it: a host whose address is not free is held."""
        while (ticket := self.take()) is not None:
            if self.frontier.may_contact(ticket.host, PLACES[ticket.name], self.now):
                self.frontier.begin(ticket, self.now)
                return ticket
            self.frontier.hold(ticket)
        return None

    def begun(self) -> list[str]:
        """The hosts that are fetched from now."""
        names = []
        while (ticket := self.begin()) is not None:
            self.tickets[ticket.name] = ticket
            names.append(ticket.name)
        return names

    def end(self, name: str, delay: float = 2.0) -> None:
        ticket = self.tickets.pop(name)
        self.release(ticket, delay)
        self.frontier.settle(ticket, "done", "200")
        self.commit()

    tickets: dict[str, Ticket]


@pytest.fixture
def crawl(fast_directory: Path) -> Iterator[AddressCrawl]:
    crawl = AddressCrawl(fast_directory / "state", back_queues_min=9)
    crawl.tickets = {}
    yield crawl
    crawl.close()


def test_one_host_at_an_address_at_a_time_and_a_rest_between_two(crawl: AddressCrawl) -> None:
    crawl.add(*(f"{host}/{n}" for host in "abcd" for n in range(2)))
    first = crawl.begun()
    assert len(first) == 2 and "d" in first  # the other address is nobody else's affair
    crawl.pass_time(60)
    assert crawl.begun() == []
    served = [next(host for host in first if host != "d")]
    while len(served) < 6:
        crawl.end(served[-1], 2.0)
        crawl.pass_time(1.9)
        assert crawl.begun() == []
        due = crawl.frontier.next_due()
        assert due is not None and 0.05 < due - crawl.now < 0.15
        crawl.pass_time(0.1)
        served += crawl.begun()
        assert len(crawl.tickets) == 2
    assert sorted(served) == sorted("aabbcc")
    assert sorted(served[:3]) == sorted("abc")  # they take turns
    crawl.end(served[-1])
    crawl.end("d")
    assert (crawl.frontier.holding, crawl.frontier.in_hand) == (0, 0)


def test_a_host_with_nothing_left_to_ask_does_not_hold_up_those_behind_it(crawl: AddressCrawl) -> None:
    crawl.add("a/1", "b/1", "c/1")
    [first] = crawl.begun()
    second, third = (host for host in "abc" if host != first)
    crawl.frontier.park(host_key(second), second, crawl.wall + 1e6, "banned")
    crawl.frontier.park(host_key(third), third, crawl.wall + 30, "resting")
    crawl.end(first)
    for _ in range(40):
        crawl.pass_time(1)
        if third in crawl.begun():
            break
        crawl.commit()  # parked, and later woken
    assert list(crawl.tickets) == [third]
    assert crawl.frontier.holding == 0


@pytest.mark.parametrize("ended", [True, False])
def test_the_rest_of_an_address_outlives_the_process(crawl: AddressCrawl, ended: bool) -> None:
    crawl.add("a/1", "b/1")
    [first] = crawl.begun()
    if ended:
        crawl.end(first, 20.0)
    crawl.tickets.clear()
    crawl.crash(down=1.0)  # without an end on record it ended now: ten times the second it may have taken
    assert crawl.begun() == []
    crawl.pass_time(9.5)
    assert crawl.begun() == []
    crawl.pass_time(10)
    assert len(crawl.begun()) == 1


def test_a_host_without_an_address_waits_for_nobody(crawl: AddressCrawl) -> None:
    crawl.add("a/1")
    ticket = crawl.take()
    assert ticket is not None
    crawl.frontier.begin(ticket, crawl.now)
    crawl.release(ticket)


def test_clocks_that_are_on_record_need_not_be_kept(
    crawl: AddressCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawlerproj.frontier.by_address._CLOCKS_KEPT", 1)
    crawl.add("a/1", "d/1", "b/1")
    while crawl.begun():
        pass
    for name in list(crawl.tickets):
        crawl.end(name, 20.0)
    for address in ("192.0.2.3", "192.0.2.4"):
        assert crawl.frontier.may_contact(b"x", address, crawl.now)
    assert not crawl.frontier.may_contact(b"y", "192.0.2.2", crawl.now)


