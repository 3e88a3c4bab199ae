"""Several workers crawl one web: all is found, each page once, every gap kept, whoever dies or stalls."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

from crawls.conftest import ROOT

from .conftest import LEASE_SECONDS, SLOW

# The whole story, with 20 kills on 20,000 pages, is `make proof ONLY=fleet`.
WORKERS, HOSTS, PAGES, KILLS = 3, 30, 400, 4


def test_workers_share_a_crawl_and_fetch_each_page_once(fleet_of):
    fleet = fleet_of(71, 40, 500)

    fleet.run(WORKERS)

    fleet.assert_covered()
    fleet.crawl.assert_linked()
    assert fleet.violations() == []
    assert fleet.frontier("check")["sound"]
    assert max(fleet.crawl.fetched().values()) == 1
    assert max(fleet.crawl.stored().values()) == 1
    done = fleet.frontier("stats")
    assert done["queued"] == 0 and done["done"] == done["offered"]
    # Each worker has files of its own, and the commands read them as one.
    assert len({path.name.split("-")[1] for path in (fleet.crawl.directory / "warc").glob("*.gz")}) == WORKERS
    for command in (("docs", "check"), ("graph", "build")):
        told = subprocess.run([sys.executable, "-m", "scrapy", *command, "--dir", str(fleet.crawl.directory)],
                              cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert told.returncode == 0, told.stdout[-2000:] + told.stderr[-2000:]

    again = fleet.start()
    assert again.wait() == 0
    assert "was finished before" in again.said


def test_a_start_url_pushed_into_a_running_crawl_is_fetched(fleet_of):
    fleet = fleet_of(72, 10, 100)
    workers = [fleet.start(settings=SLOW) for _ in range(2)]
    fleet.wait_until_fetched(5)
    host = fleet.crawl.web.seeds[0].split("/")[2]
    pushed = [f"http://{host}/pushed-by-hand-{number}" for number in range(2)]

    with fleet.server.client() as client:
        client.lpush("web:start_urls", *pushed)
        deadline = time.monotonic() + 60
        # Taken, and kept in mind until they are durable.
        while client.exists("web:start_urls", "{web:start_urls}:pending"):
            assert time.monotonic() < deadline, workers[0].said[-3000:]
            time.sleep(0.01)
    for worker in workers:
        worker.process.send_signal(signal.SIGINT)
    for worker in workers:
        assert worker.wait() == 0, worker.said[-3000:]
    last = fleet.start(settings={"IDLE_HORIZON": "100"})  # hosts rest as long as they were told to before
    assert last.wait() == 0, last.said[-3000:]

    assert set(pushed) <= set(fleet.crawl.fetched())


def test_killed_stalled_and_with_redis_restarted_it_loses_nothing(fleet_of):
    # A longer time limit: on a busy machine even an honest host may take two seconds to answer.
    fleet = fleet_of(73, HOSTS, PAGES, nuisance="all", sync="everysec", DOWNLOAD_TIMEOUT="4")
    rng = random.Random(73)
    for _ in range(WORKERS):
        fleet.start()
    killed = 0
    for turn in range(KILLS):
        fleet.wait_until_fetched(fleet.requests() + rng.randint(5, PAGES // (3 * KILLS)))
        running = fleet.running()
        if running:
            rng.choice(running).kill()
            killed += 1
        fleet.start()
        if turn == KILLS // 2:
            fleet.server.kill()
            fleet.server.start()

    stalled, stopped, resumed = _stall(fleet)
    _power_cut(fleet.server)
    for worker in fleet.running():
        assert worker.wait() == 0, worker.said[-3000:]
    fleet.run(1)  # whatever was left by a worker that died last

    assert killed >= KILLS // 2, "most of the kills came too late to matter"
    fleet.assert_covered()
    fleet.crawl.assert_linked()
    violations, closed = fleet.violations(), fleet.closed_at()
    others = [each for each in violations if not _of_the_stalled(each, closed, stopped, resumed)]
    print(f"counted apart, on the wire or open while its worker was stopped: {len(violations) - len(others)}")
    assert others == []
    assert fleet.frontier("check")["sound"]
    assert stalled.process.returncode == 0
    fetched = fleet.crawl.fetched()
    repeats = sum(fetched.values()) - len(fetched)  # those that the web's own nuisances ask for included
    print(f"{killed} kills, {repeats} repeats of {sum(fetched.values())}")
    assert repeats <= (killed + 3) * (HOSTS + 2 * 64)


def _of_the_stalled(violation, closed, stopped, resumed):
    """A stopped process cannot close a connection, and the server takes a request it has on the wire to last
    as long as the stop: nobody else can know of either."""
    before = violation.previous
    if before is None or before.opened >= stopped:
        return False
    if violation.kind == "two_connections":
        return closed.get(before.connection, 0.0) >= resumed
    return violation.kind == "gap" and before.start < stopped and before.end >= resumed


def _power_cut(server):
    """Redis dies and comes back without the last second of its log: who lives on writes it again."""
    [log] = (server.directory / "appendonlydir").glob("*.incr.aof")
    length = log.stat().st_size
    time.sleep(1.0)
    server.kill()
    with log.open("r+b") as file:
        file.truncate(length)
    server.start()


def _stall(fleet):
    """Stops one worker for longer than its leases last."""
    worker = fleet.running()[0] if fleet.running() else fleet.start()
    fleet.wait_until_fetched(fleet.requests() + 10)
    os.kill(worker.process.pid, signal.SIGSTOP)
    stopped = time.time()
    time.sleep(1.5 * LEASE_SECONDS)
    resumed = time.time()  # before it is: it closes what it had open within microseconds
    os.kill(worker.process.pid, signal.SIGCONT)
    return worker, stopped, resumed
