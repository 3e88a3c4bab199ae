"""When things go wrong: a page that kills, a second process, a full disk, nobody at home."""

from __future__ import annotations

import errno
import resource
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from scrapy.utils.defer import deferred_from_coro
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.assembly import Crawl
from crawlerproj.spiders.web import WebSpider
from crawlerproj.storage.embedded import EmbeddedStorage

from .conftest import ROOT
from .site import html, make_crawler, serving

# A spider module for scrapy runspider-like use: the page named "deadly" kills the process.
DEADLY = """
import os, signal
from crawlerproj.spiders.web import WebSpider

class DeadlySpider(WebSpider):
    name = "deadly"

    def parse(self, response, **kwargs):
        if response.url == os.environ["DEADLY"]:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().parse(response, **kwargs)
"""


def test_a_page_that_kills_the_process_is_parked_as_poison(crawl_of, tmp_path):
    crawl = crawl_of(41, 10, 100, nuisance="none")
    (tmp_path / "deadly_spiders.py").write_text(DEADLY)
    deadly = crawl.web.truth().must[37]
    command = [part if part != "web" else "deadly"
               for part in crawl.command(settings={"SPIDER_MODULES": "deadly_spiders"})]
    environment = {"DEADLY": deadly, "PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin"}
    deaths = 0
    for _ in range(6):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
        deaths += 1

    assert deaths == 3  # MAX_ATTEMPTS
    assert crawl.frontier("why", deadly)["outcome"] == "poison"
    assert crawl.frontier("stats")["parked"] == 1
    missing = set(crawl.web.truth().must) - set(crawl.stored())
    reached_through_it = missing - {deadly}
    assert deadly in missing
    assert len(reached_through_it) < 50  # only what nothing else links to
    assert crawl.frontier("check")["sound"]


def test_a_second_process_gets_a_clear_error_and_does_no_harm(crawl_of):
    crawl = crawl_of(42, 20, 300)
    first = crawl.start()
    while not (crawl.directory / "control").exists() and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGSTOP)  # it does not end before the other one has tried

    second = crawl.run()

    first.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert "another process is using" in second.stdout and "CRAWL_DIR" in second.stdout
    output, _ = first.communicate(timeout=120)
    assert first.returncode == 0, output[-2000:]
    crawl.assert_covered()


def test_a_full_disk_stops_cleanly_and_nothing_is_lost(crawl_of):
    crawl = crawl_of(43, 20, 400)
    limit = 300_000  # bytes of any one file: the archive meets it in the middle of the crawl

    process = subprocess.Popen(
        crawl.command(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    output, _ = process.communicate(timeout=120)

    assert process.returncode == 1, output[-3000:]
    assert "is full" in output and "start the same command again" in output
    assert crawl.frontier("check")["sound"]
    assert crawl.run().returncode == 0
    crawl.assert_covered()
    assert max(n for url, n in crawl.stored().items() if not url.endswith("/robots.txt")) == 1


@pytest.mark.parametrize("when", ["a fetch begins", "a fetch ends", "a page is settled"])
def test_a_disk_that_is_full_outside_a_commit_stops_as_cleanly(tmp_path, monkeypatch, caplog, when):
    """Contacts are written at once, and pages go to the archive before their commit."""
    full = Exception("IO error: No space left on device: While appending to file: 000004.log")
    routes = {"/": html("<a href=/a>a</a><a href=/b>b</a>"), "/a": html("a"), "/b": html("b")}
    put_contact, keep, close = EmbeddedStorage.put_contact, Crawl._keep, EmbeddedStorage.close

    def full_contact(self, host, contact):
        if "/" in site.asked and bool(contact.ended) == (when == "a fetch ends"):
            raise full
        put_contact(self, host, contact)

    def full_archive(self, page):
        if page.url.endswith("/a"):
            raise OSError(errno.ENOSPC, "No space left on device")
        keep(self, page)

    def full_close(self):
        close(self)
        raise full

    async def run() -> None:
        nonlocal site
        async with serving(routes) as site:
            with monkeypatch.context() as patched:
                if when == "a page is settled":
                    patched.setattr(Crawl, "_keep", full_archive)
                else:
                    patched.setattr(EmbeddedStorage, "put_contact", full_contact)
                patched.setattr(EmbeddedStorage, "close", full_close)
                crawler = make_crawler(WebSpider, tmp_path)
                await crawler.crawl_async(seeds=site.origin + "/")
            assert crawler.stats.get_value("finish_reason") == "disk_full"
            assert "make room and start the same command again" in Crawl.of(crawler).failure
            assert "Traceback" not in caplog.text

            crawler = make_crawler(WebSpider, tmp_path)
            await crawler.crawl_async(seeds=site.origin + "/")
            assert crawler.stats.get_value("finish_reason") == "finished"
            assert Crawl.of(crawler).final_counts["done"] == 3
        (warc,) = (tmp_path / "warc").glob("*.warc.gz")
        with warc.open("rb") as stream:
            kept = [record.rec_headers["WARC-Target-URI"] for record in ArchiveIterator(stream)
                    if record.rec_type == "response"]
        assert sorted(url for url in kept if "robots" not in url) == [site.origin + each for each in routes]

    site: Any = None
    return deferred_from_coro(run())


def test_no_seed_reachable_says_why_for_each_and_fails(crawl_of, tmp_path):
    crawl = crawl_of(44, 3, 10)
    crawl.web.seeds[:] = ["http://no-such-name.example/", "http://127.0.0.1:9/", "ftp://example.com/"]

    done = crawl.run()

    assert done.returncode == 1
    assert "no seed could be reached" in done.stdout
    assert "no-such-name.example/: dns" in done.stdout
    assert "127.0.0.1:9/: connection_refused" in done.stdout
    assert "ftp://example.com/ (line 3) is not crawled: scheme" in done.stdout


def test_wrong_arguments_are_told_without_a_traceback(tmp_path):
    (tmp_path / "link").symlink_to("/no/such/place")
    seeds = ["-a", "seeds=http://example.com/"]
    for arguments, status, expected in [
        (["web", "-a", "seeds=no-such-file.txt"], 1, "no seed file"),
        (["web", *seeds, "-a", "allow=("], 1, "regular expression"),
        (["web", *seeds, "-a", "mode=twice"], 1, "mode=once"),
        (["web", *seeds, "-a", "mode=continuous"], 1, "not available in this version"),
        (["web", *seeds, "-s", f"CRAWL_DIR={tmp_path / 'link'}"], 1, "choose a CRAWL_DIR"),
        (["web", *seeds, "-s", "BLACKLIST=none.txt"], 1, "none.txt cannot be read"),
        (["web", *seeds, "-s", "HOST_WEIGHTS=none.txt"], 1, "none.txt cannot be read"),
        (["web"], 1, "seeds=FILE"),
        (["web", *seeds, "-s", "DELAY_MINIMUM=soon"], 2, "DELAY_MINIMUM is 'soon': give a number"),
        (["web", *seeds, "-s", "COMMIT_SYNC=maybe"], 2, "COMMIT_SYNC is 'maybe': give True or False"),
        (["wed", *seeds], 2, "there are: web"),
        ([], 2, "name one spider"),
    ]:
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "crawl", "-s", f"CRAWL_DIR={tmp_path / 'c'}", *arguments],
            cwd=ROOT, capture_output=True, text=True, timeout=120,
        )
        assert done.returncode == status, done.stderr
        assert expected in done.stderr + done.stdout
        assert "Traceback" not in done.stderr


def test_other_url_rules_on_the_same_directory_are_refused(crawl_of):
    crawl = crawl_of(45, 3, 10)
    assert crawl.run().returncode == 0

    done = crawl.run(settings={"URL_SORT_QUERY": "1"})

    assert done.returncode == 1
    assert "other URL rules" in done.stdout


