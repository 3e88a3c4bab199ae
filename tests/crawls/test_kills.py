"""kill -9 at random moments and inside commits: nothing is lost, no gap is broken, the archive is whole."""

from __future__ import annotations

import random
import signal
import time

from .conftest import PROOF

FAULTS = ("before_files", "before_batch", "after_batch", "after_sync")
KILLS, SIZE = (20, (300, 10_000)) if PROOF else (8, (60, 1_500))


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
    crawl = crawl_of(31, *SIZE)
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
    fetched = crawl.fetched()
    repeats = sum(fetched.values()) - len(fetched)
    print(f"{killed} kills, {repeats} repeated fetches of {sum(fetched.values())}")
    # At most what was in flight (one for each back queue in use) and what was not committed (two groups).
    assert repeats <= killed * (SIZE[0] + 2 * 64)
    # The archive holds committed pages alone: each page once.
    assert max(n for url, n in crawl.stored().items() if not url.endswith("/robots.txt")) == 1


def test_ctrl_c_once_is_a_clean_stop_and_the_crawl_goes_on(crawl_of):
    crawl = crawl_of(33, 30, 600)
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


def test_ctrl_c_twice_ends_at_once_and_loses_nothing(crawl_of):
    crawl = crawl_of(34, 10, 200)
    process = crawl.start()
    _wait_until_fetched(crawl, process, 20)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert crawl.frontier("check")["sound"]
    assert crawl.run().returncode == 0
    crawl.assert_covered()
