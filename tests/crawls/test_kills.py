"""kill -9 at random moments and inside commits: no URL, no document, no link is lost, no gap is broken."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler

from .conftest import HASTE, PROOF, ROOT
from .test_places import served

FAULTS = ("before_files", "before_batch", "after_batch", "after_sync")
KILLS, SIZE = (20, (300, 10_000)) if PROOF else (8, (60, 1_500))
PLACES, GROUP = 16, 16  # transfers at once, pages in a commit: few, so that the bound on repeats is tight


def _wait_until_fetched(crawl, process, more):
    """Returns when the server has answered `more` further requests, or the crawl has ended."""
    size = crawl.log.stat().st_size if crawl.log.exists() else 0
    wanted = size + more * 300  # a line of the log is some 300 bytes long
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if crawl.log.exists() and crawl.log.stat().st_size >= wanted:
            return
        time.sleep(0.005)


def test_killed_again_and_again_it_loses_nothing(crawl_of):
    crawl = crawl_of(31, *SIZE, CONCURRENT_REQUESTS=str(PLACES), COMMIT_PAGES=str(GROUP))
    rng = random.Random(31)
    killed = 0
    for turn in range(KILLS):
        if turn % 2:
            process = crawl.start(fault=f"{FAULTS[turn // 2 % 4]}:{rng.randint(1, 6)}")
        else:
            process = crawl.start()
            _wait_until_fetched(crawl, process, rng.randint(5, SIZE[1] // KILLS))
            process.kill()
        output, _ = process.communicate(timeout=120)
        killed += process.returncode == -signal.SIGKILL
        assert process.returncode in (0, -signal.SIGKILL), output[-3000:]
        assert crawl.frontier("check")["sound"]

    done = crawl.run()

    assert killed >= KILLS // 2, "most of the kills came too late to matter"
    assert done.returncode == 0, done.stdout[-3000:]
    crawl.assert_covered()
    crawl.assert_polite()
    assert crawl.frontier("check")["sound"]
    assert crawl.frontier("stats")["parked"] == 0
    fetched = Counter({url: n for url, n in crawl.fetched().items() if not url.endswith("/robots.txt")})
    repeats = fetched.total() - len(fetched)
    # At most what was in flight and what was not committed: the group being written and the open one, each of
    # them overfull by what was in flight when it was full.
    bound = killed * (PLACES + 2 * (GROUP + PLACES))
    print(f"{killed} kills, {repeats} repeated fetches of {fetched.total()}, at most {bound} allowed")
    assert repeats <= bound
    crawl.assert_linked()
    # The archive holds committed pages alone: each page once.
    assert max(n for url, n in crawl.stored().items() if not url.endswith("/robots.txt")) == 1


def test_ctrl_c_once_is_a_clean_stop_and_the_crawl_goes_on(crawl_of):
    crawl = crawl_of(33, 30, 600, DOWNLOAD_TIMEOUT="60")
    process = crawl.start()
    _wait_until_fetched(crawl, process, 100)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 0, output[-3000:]
    assert "Closing spider (shutdown)" in output
    state = crawl.frontier("stats")
    assert state["queued"] > 0 and state["done"] > 0
    # Cleanly: all that the server sent is stored, and nothing is fetched again.
    assert sum(crawl.stored().values()) == sum(crawl.fetched().values())

    assert crawl.run().returncode == 0
    crawl.assert_covered()
    assert max(n for url, n in crawl.fetched().items() if not url.endswith("/robots.txt")) == 1


def test_ctrl_c_twice_ends_at_once_and_loses_nothing(tmp_path):
    """The one page of the crawl never comes: a clean stop would wait for it until its time-out."""
    asked, never = threading.Event(), threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/robots.txt":
                self.send_error(404)
                return
            asked.set()
            never.wait()

        def log_message(self, *_: object) -> None:
            pass

    settings = {**HASTE, "CRAWL_DIR": str(tmp_path / "crawl"), "DOWNLOAD_TIMEOUT": "3600",
                "FETCH_FIRST_BYTE_TIMEOUT": "3600", "FETCH_LOW_SPEED_SECONDS": "3600"}
    pairs = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with served("127.0.0.1", Silent) as origin:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={origin}/page", *pairs],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            assert asked.wait(120)
            process.send_signal(signal.SIGINT)
            # Two signals at once may reach the process as one.
            lines = iter(process.stdout.readline, "")
            assert any("Send again to force" in line for line in lines)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=120)
        finally:
            process.kill()
            never.set()
    assert "twice" in output
    done = subprocess.run([sys.executable, "-m", "scrapy", "frontier", "check", "--json", "--dir",
                           str(tmp_path / "crawl")], cwd=ROOT, capture_output=True, text=True, timeout=120)
    state = json.loads(done.stdout)
    assert state["sound"] and (state["counts"]["queued"], state["counts"]["done"]) == (1, 0)
