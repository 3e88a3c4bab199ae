"""Ordinary spiders of a fresh project: the same items as without the add-on, now polite and resumable."""

from __future__ import annotations

import json
import signal
import time

from crawlerproj.graph.edge_log_files import log_files

NUISANCE = "mild,retry=0.1,compression=0.3,sitemaps=1"


def _told(items):
    """Each item as often as it is there, whatever the order."""
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def test_a_crawl_spider_has_the_same_items_politely_and_its_pages_archived(project_of):
    project = project_of(71, 10, 90, NUISANCE)
    output = project.run("pages", "-o", "with.jsonl")

    assert "Spider closed (finished)" in output, output[-3000:]
    project.assert_polite()
    fetched, stored = project.fetched(), project.stored("pages")
    assert stored == fetched  # redirects, errors, failed attempts and robots.txt too
    assert any(url.endswith("/robots.txt") for url in fetched)
    assert max(fetched.values()) <= 1 + 3  # a start URL is linked to as well, and tried again as Scrapy does
    assert list(log_files(project.directory / "crawls" / "pages" / "edges", "0"))

    project.run("pages", "-o", "without.jsonl", addon=False)

    with_addon = project.items("with.jsonl")
    assert len(with_addon) > 50
    assert {(i["url"], i["title"]) for i in with_addon} == {
        (i["url"], i["title"]) for i in project.items("without.jsonl")}


def test_a_sitemap_spider_has_the_same_items_politely(project_of):
    project = project_of(72, 4, 40, NUISANCE)
    sitemaps = [seed.rstrip("/") + "/robots.txt" for seed in project.web.seeds]
    output = project.run("listed", "-o", "with.jsonl", seeds=sitemaps)

    assert "Spider closed (finished)" in output, output[-3000:]
    project.assert_polite()
    project.run("listed", "-o", "without.jsonl", seeds=sitemaps, addon=False)
    assert len(project.items("with.jsonl")) > 20
    assert _told(project.items("with.jsonl")) == _told(project.items("without.jsonl"))


def test_killed_in_the_middle_it_goes_on_and_no_item_is_lost(project_of):
    project = project_of(73, 14, 120, "mild")
    kills = 0
    for wanted in (25, 60):
        process = project.start("pages", "-o", "items.jsonl")
        _wait_until_fetched(project, process, wanted)
        process.kill()
        output, _ = process.communicate(timeout=60)
        kills += process.returncode == -signal.SIGKILL
        assert process.returncode == -signal.SIGKILL, output[-3000:]
    # A kill may come in the middle of a line: here it surely does.
    with (project.directory / "items.jsonl").open("a") as feed:
        feed.write('{"url": "http://torn.exam')

    output = project.run("pages", "-o", "items.jsonl")

    assert kills == 2
    assert "Spider closed (finished)" in output, output[-3000:]
    assert "ended in the middle of a line" in output
    project.assert_polite()
    found = {item["url"] for item in project.items("items.jsonl")}
    project.run("pages", "-o", "without.jsonl", addon=False)
    assert found == {item["url"] for item in project.items("without.jsonl")}
    assert "torn" not in (project.directory / "items.jsonl").read_text()

    # What is done is not fetched again, so a feed that holds it is not given up either.
    before = (project.directory / "items.jsonl").read_bytes()
    output = project.run("pages", "-O", "items.jsonl")
    assert "would be overwritten" in output and "CRAWL_DIR" in output
    assert (project.directory / "items.jsonl").read_bytes() == before


def _wait_until_fetched(project, process, number):
    """Returns when the server has answered that many requests, or the crawl has ended."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        # A line of the log is some 300 bytes long.
        if project.log.exists() and project.log.stat().st_size >= number * 300:
            return
        time.sleep(0.005)
