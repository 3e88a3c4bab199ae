"""`scrapy fleet`: run, status, stop, drain, as a user would type them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
from crawls.conftest import HASTE, ROOT
from storage.redis_server import PROGRAM

from .conftest import SLOW

needs_redis = pytest.mark.skipif(
    PROGRAM is None, reason="redis-server is missing: apt-get install redis-server")


def fleet(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "scrapy", "fleet", *arguments], cwd=ROOT,
                          capture_output=True, text=True, timeout=120, **options)


@contextmanager
def running(crawl, *more, **extra):
    """`scrapy fleet run`; whatever happens, workers and server end with it."""
    process = started(crawl, *more, **extra)
    try:
        yield process
    finally:
        for _ in range(2):  # the first time cleanly
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=60)
        process.kill()


def started(crawl, *more, **extra):
    settings = {**HASTE, "DNS_SERVERS": crawl.web.dns_server, "LEASE_SECONDS": "3", **extra}
    pairs = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", "fleet", "run", "web", "-a", f"seeds={','.join(crawl.web.seeds)}",
         "--dir", str(crawl.directory), *pairs, *more],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def status(crawl):
    told = fleet("status", "--dir", str(crawl.directory), "--json")
    return json.loads(told.stdout) if told.returncode == 0 else {"workers": {}, "counts": {"done": 0}}


def wait_for(crawl, condition, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = status(crawl)
        if condition(found):
            return found
    raise AssertionError(f"not within {seconds} s: {found}")


@needs_redis
def test_without_a_server_it_starts_its_own_and_goes_on_after_a_stop(crawl_of):
    crawl = crawl_of(81, 20, 200)
    with running(crawl, "--workers", "2", **SLOW) as process:
        wait_for(crawl, lambda found: len(found["workers"]) == 2 and found["counts"]["done"] > 5)
        stopped = fleet("stop", "--dir", str(crawl.directory))
        said, _ = process.communicate(timeout=120)
    assert stopped.returncode == 0, stopped.stderr
    assert process.returncode == 0, said
    assert "The same command goes on" in said
    assert fleet("status", "--dir", str(crawl.directory)).returncode == 1  # its server is stopped too

    with running(crawl, "--workers", "2", IDLE_HORIZON="100") as process:
        said, _ = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert " 0 queued" in said
    missing = set(crawl.web.truth().must) - set(crawl.stored())
    assert not missing
    assert max(crawl.fetched().values()) == 1


@needs_redis
def test_a_drained_worker_leaves_and_the_others_go_on(crawl_of):
    crawl = crawl_of(82, 20, 200)
    with running(crawl, "--workers", "2", **SLOW) as process:
        found = wait_for(crawl, lambda found: len(found["workers"]) == 2
                         and all(row["partitions"] for row in found["workers"].values()))
        first = next(iter(found["workers"]))
        drained = fleet("drain", first, "--dir", str(crawl.directory), "--json")
        assert drained.returncode == 0, drained.stderr
        assert list(json.loads(drained.stdout)["workers"]) == [name for name in found["workers"]
                                                               if name != first]
        wait_for(crawl, lambda found: [row["partitions"] for row in found["workers"].values()] == [64])
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said


def test_what_cannot_be_done_is_told_with_its_remedy(tmp_path):
    nothing = fleet("status", "--dir", str(tmp_path))
    assert nothing.returncode == 1 and "--dir" in nothing.stderr
    away = fleet("status", "-s", f"STORAGE=unix://{tmp_path}/nobody.sock")
    assert away.returncode == 1 and "cannot be reached" in away.stderr
    assert fleet("run").returncode == 2
    no_program = fleet("run", "web", "--dir", str(tmp_path), env={"PATH": "/nonexistent"})
    assert no_program.returncode == 1 and "apt-get install redis-server" in no_program.stderr
