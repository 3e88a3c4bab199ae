"""How fast hosts change hands in a fleet, in lease times of the default `LEASE_SECONDS`.

One worker crawls a demo web; again and again a second one joins and is killed with -9, which nobody tells
the first. Times are wall time, from the outside: the start of the process, the kill, the web's own log.
  join_lease_times_wall     from the start of the second process until it has its first page done
  death_lease_times_wall    from its death until the last host that either had fetched from is served again
  start_url_seconds_wall    from `lpush web:start_urls` until a worker has taken the URL; it is queued with
                            the next commit (a tenth of a second)
Each figure is the worst of its turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis
from fleet import ROOT, server

from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb

LEASE_SECONDS = 10.0
DELAY_SECONDS = 2.0
_STATUS = "web:{fleet}:status"


def start_worker(web: DemoWebProcess, work: Path, url: str) -> subprocess.Popen[bytes]:
    settings = {
        "CRAWL_DIR": work / "crawl", "STORAGE": url, "DNS_SERVERS": web.dns_server, "LOG_LEVEL": "WARNING",
        "FETCH_PRIVATE_ADDRESSES": 1, "DELAY_MINIMUM": DELAY_SECONDS, "LEASE_SECONDS": LEASE_SECONDS,
    }
    pairs = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with (work / "workers.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "scrapy", "crawl", "web", "-a",
                                 f"seeds={work / 'seeds.txt'}", *pairs], cwd=ROOT, stdout=log, stderr=log)


def until(condition: Callable[[], Any], what: str) -> float:
    """Waits, and gives the seconds it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + 120:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.02)
    return time.monotonic() - began


def done_by(client: redis.Redis, process: subprocess.Popen[bytes]) -> int:
    if process.poll() is not None:
        raise SystemExit("a worker has ended: the web is too small")
    rows = map(json.loads, client.hgetall(_STATUS).values())
    return next((int(row["done"]) for row in rows if row["pid"] == process.pid), 0)


def contacts(log: Path) -> list[tuple[float, str]]:
    """When each request began, and at which host."""
    rows = (json.loads(line) for line in log.read_text().splitlines() if line.endswith("}"))
    return [(row["start"], row["host"]) for row in rows if "url" in row]


def served_again(log: Path, death: float) -> float:
    """Seconds until every host that had been fetched from shortly before was fetched from again."""
    hosts = {host for at, host in contacts(log) if death - 3 * DELAY_SECONDS < at <= death}
    until(lambda: hosts <= {host for at, host in contacts(log) if at > death}, "the dead worker's hosts")
    first: dict[str, float] = {}
    for at, host in contacts(log):
        if at > death and host in hosts:
            first.setdefault(host, at)
    return max(first.values()) - death


def start_url(client: redis.Redis, web: DemoWebProcess, number: int) -> float:
    client.lpush("web:start_urls", f"{web.seeds[0]}pushed-{number}")
    return until(lambda: not client.exists("web:start_urls"), "a start URL")


def measure(turns: int) -> dict[str, float]:
    joins, deaths, pushes = [], [], []
    with tempfile.TemporaryDirectory() as place, server() as (url, client):
        work, log = Path(place), Path(place) / "access.jsonl"
        with start_demoweb(seed=9, hosts=60, pages=10_000, nuisance="none", log=log) as web:
            (work / "seeds.txt").write_text("\n".join(web.seeds))
            first = start_worker(web, work, url)
            try:
                until(lambda: done_by(client, first) > 60, "the first worker")
                for turn in range(turns):
                    pushes += [start_url(client, web, 5 * turn + number) for number in range(5)]
                    second = start_worker(web, work, url)
                    joins.append(until(lambda: done_by(client, second), "the second worker"))  # noqa: B023
                    until(lambda: done_by(client, second) > 60, "its share")  # noqa: B023
                    second.kill()
                    death = time.time()
                    second.wait()
                    deaths.append(served_again(log, death))
                    print(f"turn {turn}: joined in {joins[-1]:.1f} s, hosts served again in "
                          f"{deaths[-1]:.1f} s, start URLs taken in {max(pushes):.2f} s", flush=True)
            finally:
                first.kill()
                first.wait()
    return {"join_lease_times_wall": max(joins) / LEASE_SECONDS,
            "death_lease_times_wall": max(deaths) / LEASE_SECONDS, "start_url_seconds_wall": max(pushes)}


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--quick", action="store_true", help="two turns instead of five")
    figures = measure(2 if parser.parse_args().quick else 5)
    print(json.dumps({"name": "fleet_moves",
                      "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
