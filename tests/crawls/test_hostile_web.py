"""The whole demo web with every nuisance: complete, polite, ended, and its results readable."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from .conftest import PROOF, ROOT
from .test_kills import _wait_until_fetched

SIZE = (1_000, 20_000) if PROOF else (40, 400)


@pytest.mark.parametrize("kills", [0, 20 if PROOF else 3])
def test_every_nuisance_at_once(crawl_of, kills):
    # A page that timed out, be it because the machine was too busy, is asked for again after some five
    # seconds: with a horizon below that the crawl would end as `waiting`, with the page still to come.
    crawl = crawl_of(61, *SIZE, nuisance="all", IDLE_HORIZON="20")
    rng = random.Random(61)
    for _ in range(kills):
        process = crawl.start()
        _wait_until_fetched(crawl, process, rng.randint(20, SIZE[1] // 4))
        process.kill()
        process.communicate(timeout=60)

    done = crawl.run(timeout=3000 if PROOF else 200)

    assert done.returncode == 0, done.stdout[-3000:]
    crawl.assert_covered()
    crawl.assert_polite()
    assert crawl.frontier("check")["sound"]


def test_traps_take_a_small_share_of_the_fetches(crawl_of):
    """Three hosts in ten have a trap; a crawl without rules would never leave them."""
    crawl = crawl_of(62, 100 if PROOF else 30, 20_000 if PROOF else 6_000, nuisance="traps=0.3",
                     DELAY_MINIMUM="0", DELAY_FACTOR="0")
    assert crawl.run(timeout=1000 if PROOF else 200).returncode == 0
    crawl.assert_covered()
    fetched = crawl.fetched()
    trapped = {url for url in fetched if "/trap/" in url}
    assert len({url.partition("/trap/")[0] for url in trapped}) == (30 if PROOF else 9)
    assert any("/trap/facets/" in url for url in trapped)
    share = sum(fetched[url] for url in trapped) / sum(fetched.values())
    print(f"traps took {share:.1%} of {sum(fetched.values())} fetches")
    assert share <= 0.05


def test_the_results_of_a_crawl_are_read_by_the_other_commands(crawl_of):
    crawl = crawl_of(63, 10, 120)
    assert crawl.run().returncode == 0
    page = crawl.web.seeds[0]

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([sys.executable, "-m", "scrapy", *arguments, "--dir", str(crawl.directory)],
                              cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done

    assert "sound" in command("docs", "check").stdout
    assert len(command("docs", "get", page, "--text").stdout) > 100
    command("graph", "build")
    answer = command("graph", "outlinks", page, "--json").stdout.splitlines()
    links = {json.loads(line)["url"] for line in answer}
    world = crawl.web.world
    assert set(world.links(world.split(page)[0], 0)) - {page} <= links
