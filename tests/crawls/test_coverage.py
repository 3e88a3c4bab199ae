"""Every page is found, nothing forbidden is asked for, every gap is kept: judged by the server's own log."""

from __future__ import annotations

import pytest

from .conftest import PROOF

SIZE = (300, 10_000) if PROOF else (60, 1_200)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5] if PROOF else [11, 12])
def test_a_crawl_finds_all_it_must_and_nothing_it_may_not(crawl_of, seed):
    crawl = crawl_of(seed, *SIZE, DOWNLOAD_TIMEOUT="60")  # a busy machine is no reason to ask twice

    done = crawl.run()

    assert done.returncode == 0, done.stdout[-3000:]
    assert "Closing spider (finished)" in done.stdout
    crawl.assert_covered()
    crawl.assert_polite()
    assert crawl.frontier("check")["sound"]
    assert max(crawl.stored().values()) == 1  # without a crash nothing is fetched twice


def test_a_finished_crawl_run_again_says_so_and_fetches_nothing(crawl_of):
    crawl = crawl_of(21, 5, 40)
    assert crawl.run().returncode == 0
    before = sum(crawl.fetched().values())

    again = crawl.run()

    assert again.returncode == 0
    assert "was finished before" in again.stdout and "CRAWL_DIR" in again.stdout
    assert sum(crawl.fetched().values()) == before
