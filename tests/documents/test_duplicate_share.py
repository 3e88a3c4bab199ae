"""Hosts that copy much: what they have waits in a lower front queue, and is drawn after that of others."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from scrapy.settings import Settings

from crawlerproj import settings as project_settings
from crawlerproj.assembly import Crawl
from crawlerproj.documents import duplicate_share
from crawlerproj.documents.duplicate_share import DuplicateShare
from crawlerproj.documents.tables import MemoryTables
from crawlerproj.items import Candidate

FRESH, HALF, COPIES = "fresh.example", "half.example", "copies.example"


def text(number: int) -> str:
    return " ".join(f"word{number}x{n}" for n in range(60))


def commit(crawl: Crawl) -> None:
    group = crawl.storage.seal({})
    crawl.storage.write(group, lambda: None)
    crawl.frontier.landed(group.settled, crawl.storage.landed(group))


@pytest.fixture
def crawl(tmp_path):
    """A whole crawl as its settings make it, without an engine. Hosts are drawn one by one."""
    settings = Settings()
    settings.setmodule(project_settings, priority="project")
    settings.setdict({
        "CRAWL_DIR": str(tmp_path), "CONCURRENT_REQUESTS": 1, "BACK_QUEUES_MIN": 1, "BACK_QUEUES_MAX": 1,
        "FRONT_QUEUE_BIAS": 1e9, "FRONTIER_SEED": 1, "MERCATOR_ARCHIVE": False, "MERCATOR_GRAPH": False,
    })
    crawl = Crawl(settings, "share", lambda stat, by=1: None)
    crawl.open({})
    yield crawl
    crawl.close()


def fetch_pages(crawl: Crawl, host: str, texts: list[int]) -> None:
    for number, which in enumerate(texts):
        crawl.content_seen.judge(f"http://{host}/{number}", host, text(which), ())


def waiting_in(crawl: Crawl, *hosts: str) -> list[int]:
    """The front queue in which each host waits."""
    records = [crawl.storage.host(crawl.group_of(f"http://{host}/")[0]) for host in hosts]
    return [crawl.limits.queues - record.front[0] for record in records]


def drawn_first(crawl: Crawl) -> str:
    return crawl.frontier.take(time.monotonic()).candidate.url


def test_links_to_a_host_wait_the_lower_the_more_it_copies(crawl):
    for first, host in enumerate((FRESH, HALF, COPIES)):
        others = {FRESH: range(1, 30), HALF: [*range(13), *[0] * 17], COPIES: [0] * 30}[host]
        fetch_pages(crawl, host, [100 * first + number for number in others])
    hosts = (COPIES, HALF, FRESH)
    crawl.offer([Candidate(f"http://{host}/new", depth=2) for host in hosts])
    commit(crawl)
    found = waiting_in(crawl, *hosts)
    assert found == [found[2] - 2, found[2] - 1, found[2]]
    assert drawn_first(crawl) == f"http://{FRESH}/new"


def test_what_waits_already_is_drawn_after_that_of_hosts_beside_it(crawl):
    hosts = (COPIES, FRESH)
    crawl.offer([Candidate(f"http://{host}/new", depth=2) for host in hosts])
    fetch_pages(crawl, COPIES, [0] * 30)
    commit(crawl)
    assert len(set(waiting_in(crawl, *hosts))) == 1
    assert drawn_first(crawl) == f"http://{FRESH}/new"


def test_hosts_that_do_not_copy_are_drawn_as_they_came(crawl):
    hosts = (HALF, FRESH)
    crawl.offer([Candidate(f"http://{host}/new", depth=2) for host in hosts])
    fetch_pages(crawl, HALF, list(range(30)))
    commit(crawl)
    assert drawn_first(crawl) == f"http://{HALF}/new"


def test_a_host_that_sank_rises_when_it_has_pages_of_its_own_again():
    share = DuplicateShare(MemoryTables())
    for copied in [True] * 30:
        share.count(COPIES, copied)
    assert share.steps_down(COPIES) == 2
    steps = Counter()
    for _ in range(60):
        share.count(COPIES, False)
        steps[share.steps_down(COPIES)] += 1
    assert list(steps) == [2, 1, 0]


def test_a_later_run_knows_it_from_the_next_page_on():
    tables = MemoryTables()
    before = DuplicateShare(tables)
    for _ in range(30):
        before.count(COPIES, True)
    share = DuplicateShare(tables)
    share.count(COPIES, True)
    assert share.steps_down(COPIES) == 2
    assert share.lower(Candidate(f"http://{COPIES}/x"), "") == -2


def test_only_so_many_sinking_hosts_are_known(monkeypatch):
    monkeypatch.setattr(duplicate_share, "SINKING_HOSTS", 3)
    share = DuplicateShare(MemoryTables())
    for host in "abcde":
        for _ in range(30):
            share.count(host, True)
    assert [share.steps_down(host) for host in "abcde"] == [0, 0, 2, 2, 2]
