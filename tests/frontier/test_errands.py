"""Errands over a frontier on disk: what a host asked for binds also while its rules are read again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from crawlerproj.frontier.budgets import Budgets
from crawlerproj.frontier.errands import Errand, Errands, Manners

from .crawl import Crawl

PLACE = "http://slow"


@dataclass
class Rules:
    crawl_delay: float = 0.0
    unreachable: bool = False
    expires_at: float = 0.0
    failures: int = 0

    def allowed(self, url: str) -> bool:
        return True


class Host:
    """One host with robots.txt and pages; the rules in memory are lost in a crash."""

    def __init__(self, directory) -> None:
        self.crawl = Crawl(directory)
        self.rules: dict[str, Rules] = {}
        self._open()

    def _open(self) -> None:
        self.errands = Errands(
            self.crawl.frontier, Manners(), refusal=lambda candidate: None, rules_of=self.rules.get,
            delay_of=lambda fetched, asked, failures: max(10 * fetched, 0.1, asked),
            failures_after=lambda failures, failed: 0, prepared=lambda url, host: True,
            budgets=Budgets(self.crawl.storage, 0, 0), runaways=None, stopped=lambda url: "",
            led_to=lambda url, new: None, keep=lambda page: None, count=lambda *path: None,
            unknown=lambda candidates: set(),
        )

    def crash(self) -> None:
        self.crawl.crash()
        self.rules = {}
        self._open()

    def next(self) -> Errand:
        """The next errand, however long it takes until the host may be asked."""
        crawl = self.crawl
        while (errand := self.errands.next(crawl.now, crawl.wall)) is None:
            assert crawl.wait()
        return errand

    def answer(self, errand: Errand, rules: Rules | None = None, moved_to: str = "") -> None:
        crawl = self.crawl
        errand.status, errand.fetch_seconds = (302 if moved_to else 200), 0.001
        if moved_to:
            self.errands.robots_moved(errand, moved_to, True, crawl.wall)
        elif rules is not None:
            self.rules[PLACE] = rules
        self.errands.release(errand, crawl.now, crawl.wall)
        self.errands.finish(errand, crawl.now, crawl.wall)
        crawl.commit()

    def gap_to_next(self) -> tuple[float, Errand]:
        ended = self.crawl.wall
        errand = self.next()
        return self.crawl.wall - ended, errand


@pytest.fixture
def host(tmp_path):
    host = Host(tmp_path)
    host.crawl.add(*(f"slow/{page}" for page in range(9)))
    yield host
    host.crawl.close()


def test_a_crawl_delay_binds_after_a_crash_that_forgot_the_rules(host):
    host.answer(host.next(), Rules(crawl_delay=5.0))
    host.crash()
    gap, errand = host.gap_to_next()
    assert errand.robots == PLACE
    assert gap == pytest.approx(5.0, abs=0.01)
    for hop in ("http://slow/moved/robots.txt", "http://slow/again/robots.txt"):
        host.answer(errand, moved_to=hop)
        gap, errand = host.gap_to_next()
        assert errand.url == hop
        assert gap == pytest.approx(5.0, abs=0.01)


def test_a_crawl_delay_binds_while_robots_txt_cannot_be_read_again(host):
    host.answer(host.next(), Rules(crawl_delay=5.0))
    errand = host.next()
    del host.rules[PLACE]  # expired
    host.answer(errand)
    gap, errand = host.gap_to_next()
    assert (errand.robots, gap) == (PLACE, pytest.approx(5.0, abs=0.01))
    host.answer(errand, Rules(unreachable=True, expires_at=host.crawl.wall + 1.0, failures=1))
    del host.rules[PLACE]
    gap, errand = host.gap_to_next()
    assert gap == pytest.approx(5.0, abs=0.01)


def test_a_crawl_delay_that_is_gone_from_robots_txt_binds_no_longer(host):
    host.answer(host.next(), Rules(crawl_delay=5.0))
    host.crash()
    host.answer(host.next(), Rules())
    gap, _ = host.gap_to_next()
    assert gap == pytest.approx(0.1, abs=0.01)
