"""What a crawl on Redis costs: bytes and server CPU by a model of the load, worker CPU by whole crawls.

Model (one real redis-server, its memory and CPU as INFO tells them):
  bytes_per_seen_url      a fingerprint in the URL-seen test, when nothing is queued any more
  bytes_per_queued_url    a URL of 75 bytes in its run, the host's front entry included, 10 a host; also
                          for 3 and 60 a host
  redis_ms_per_page       server CPU of one page: contact begun and ended, 65 links of which 13 are new, the
                          settlement; AOF everysec, groups of 50 pages; 35 of the links known to the cache of
                          recent keys (`_without_cache`: none)
Crawls of one demo web, no nuisances, delays zero, one after the other in one run:
  cpu_ratio_vs_embedded         a worker's CPU per page on Redis over the embedded engine, everything on
  ratio_vs_scrapy_redis         CPU per page of worker and server, scrapy-redis over frontier and archive
  ratio_vs_scrapy_redis_all     the same over everything on
  redis_bytes_per_fetched_page  what Redis keeps of a page that is done (content-seen, states), without
                                robots, addresses and the URL-seen test
  two_workers_wall_ratio        the time of two workers over that of one, and what the machine allowed
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
import xxhash
from crawl import FRONTIER_AND_ARCHIVE, OURS

from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb
from crawlerproj.items import Candidate
from crawlerproj.storage.interface import Contact, Offer, Settlement
from crawlerproj.storage.redis import RedisStorage
from crawlerproj.storage.redis.private_server import PrivateServer

ROOT = Path(__file__).parents[1]
PARTITIONS = 64
_COLLECT = 3_000


# --- the server ---------------------------------------------------------------------------------


@contextmanager
def server() -> Iterator[tuple[str, redis.Redis]]:
    """A server with a log, in a directory that goes with it."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as place:
        private = PrivateServer(Path(place), "web")
        client = redis.Redis.from_url(private.url)
        client.config_set("auto-aof-rewrite-percentage", "0")
        try:
            yield private.url, client
        finally:
            private.stop()
            time.sleep(0.2)


def used(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def cpu(client: redis.Redis) -> float:
    told = client.info("cpu")
    return float(told["used_cpu_user"] + told["used_cpu_sys"])


def delete(client: redis.Redis, *patterns: str) -> None:
    for pattern in patterns:
        keys = list(client.scan_iter(pattern, count=5_000))
        for start in range(0, len(keys), 2_000):
            client.delete(*keys[start:start + 2_000])


# --- the model ----------------------------------------------------------------------------------


def name_of(host: int) -> str:
    return f"www.host{host:07d}.example.org"


def url_of(host: int, number: int) -> str:
    """75 bytes long."""
    base, tail = f"https://{name_of(host)}/", str(number)
    return base + ("section/article-with-a-longer-title-" + "x" * 40)[:75 - len(base) - len(tail)] + tail


def offer_of(url: str, name: str) -> Offer:
    return Offer(xxhash.xxh3_128_digest(url.encode()), xxhash.xxh3_64_digest(name.encode()), name, 3,
                 Candidate(url, depth=3).encode())


def opened(client: redis.Redis, recent_keys: int) -> RedisStorage:
    storage = RedisStorage(client, "web", "model", partitions=PARTITIONS, ranks=8, grace=0, ttl=3_600,
                           recent_keys=recent_keys)
    for partition in range(PARTITIONS):
        assert storage.claim(partition)
    return storage


def commit(storage: RedisStorage) -> None:
    group = storage.seal()
    if group is not None:
        storage.write(group, lambda: None)
        storage.landed(group)


def load(storage: RedisStorage, urls: int, per_host: int) -> None:
    collected = 0
    for host in range(urls // per_host):
        storage.offer([offer_of(url_of(host, number), name_of(host)) for number in range(per_host)])
        collected += per_host
        if collected >= _COLLECT:
            commit(storage)
            collected = 0
    commit(storage)


def measure_bytes(urls: int, per_host: int) -> dict[str, float]:
    with server() as (_, client):
        storage = opened(client, recent_keys=10)
        empty = used(client)
        load(storage, urls, per_host)
        full, resident = used(client), int(client.info("memory")["used_memory_rss"])
        delete(client, "web:{*}:[rf]*")
        seen = used(client)
        storage.close()
        return {"seen": (seen - empty) / urls, "queued": (full - seen) / urls, "rss": resident / urls}


def measure_server(pages: int, preload: int, known_links: int, cached: bool) -> float:
    """Milliseconds of server CPU a page; `known_links` are sent though the server knows them."""
    with server() as (_, client):
        storage = opened(client, recent_keys=200_000)
        load(storage, preload, 10)
        storage._recent.clear()
        hosts, rng = preload // 10, random.Random(1)
        held: set[bytes] = set()
        storage.held = held
        waiting: list[bytes] = []
        cursors = {(partition, 3): 0 for partition in range(PARTITIONS)}
        before, done, fresh = cpu(client), 0, hosts
        while done < pages:
            if not waiting:
                wanted = [(partition, rank, after) for (partition, rank), after in cursors.items()]
                for (partition, rank, _), found in zip(wanted, storage.read_fronts(wanted, 8), strict=True):
                    cursors[partition, rank] = found[-1][0] if found else cursors[partition, rank]
                    waiting += [host for _, host in found]
                rng.shuffle(waiting)
            host = waiting.pop()
            held.add(host)
            storage.host(host)
            for entry in storage.read_run(host, 16):
                url = Candidate.decode(entry.candidate).url
                key = xxhash.xxh3_128_digest(url.encode())
                contact = Contact(time.time(), 0.0, 0.0, 2.0, 0, [(key, 1)])
                storage.put_contact(host, contact)
                contact.ended = time.time()
                contact.ready_at = contact.ended + 2
                storage.put_contact(host, contact)
                if not cached:
                    storage._recent.clear()
                places = [(fresh + j // 3, 0 if j % 3 else j) for j in range(13)]
                new = [offer_of(url_of(h, number) + str(done), name_of(h)) for h, number in places]
                old = [(rng.randrange(hosts), rng.randrange(10)) for _ in range(known_links)]
                storage.offer(new + [offer_of(url_of(h, number), name_of(h)) for h, number in old])
                storage.settle(Settlement(key, host, entry.rank, entry.seq, "done", "200", 0, b"",
                                          entry.candidate))
                fresh += 1
                done += 1
                if done % 50 == 0:
                    commit(storage)
            held.discard(host)
            storage.requeue(host)
        commit(storage)
        storage.line.commands(("PING",))
        spent = cpu(client) - before
        storage.close()
        return spent / done * 1_000


# --- whole crawls -------------------------------------------------------------------------------


def crawl_command(web: DemoWebProcess, work: Path, pages: int, extra: dict[str, object]) -> list[str]:
    settings = {
        "CRAWL_DIR": str(work / "crawl"), "DNS_SERVERS": [web.dns_server], "FETCH_PRIVATE_ADDRESSES": True,
        "DELAY_FACTOR": 0, "DELAY_MINIMUM": 0, "LOG_LEVEL": "WARNING", "IDLE_HORIZON": 5,
        "CLOSESPIDER_PAGECOUNT": pages, **extra,
    }
    return [sys.executable, "-c", OURS, json.dumps({"seeds": str(work / "seeds.txt"), "settings": settings})]


def run(*commands: list[str]) -> dict[str, float]:
    """Runs them at once; pages and CPU seconds of all, and the wall seconds."""
    began = time.monotonic()
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
                 for command in commands]
    total = {"pages": 0.0, "cpu_seconds": 0.0}
    for process in processes:
        output, errors = process.communicate(timeout=900)
        if process.returncode != 0:
            raise SystemExit(f"a crawl failed:\n{errors[-3000:]}")
        found = json.loads(output.splitlines()[-1])
        for part in total:
            total[part] += found[part]
    return {**total, "wall_seconds": time.monotonic() - began}


@contextmanager
def place(web: DemoWebProcess) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        work, layout = Path(directory), web.world.layout
        (work / "seeds.txt").write_text("\n".join(web.seeds))
        names = (f"{layout.address(host)} {layout.names[host]}" for host in range(layout.hosts))
        (work / "hosts").write_text("\n".join(names))
        yield work


def on_redis(web: DemoWebProcess, pages: int, extra: dict[str, object], workers: int = 1) -> dict[str, float]:
    with server() as (url, client), place(web) as work:
        before = cpu(client)
        settings = {**extra, "STORAGE": url}
        found = run(*[crawl_command(web, work, pages, settings)] * workers)
        found["server_seconds"] = cpu(client) - before
        delete(client, "web:{[0-9]*}:[rfc]*", "web:{t*}:robots*", "web:{t*}:dns*")
        with_pages = used(client)
        delete(client, "web:{t*}:*")
        found["bytes_per_page"] = (with_pages - used(client)) / found["pages"]
        return found


def embedded(web: DemoWebProcess, pages: int, extra: dict[str, object]) -> dict[str, float]:
    with place(web) as work:
        return run(crawl_command(web, work, pages, extra))


def scrapy_redis(web: DemoWebProcess, pages: int) -> dict[str, float]:
    with server() as (url, client), place(web) as work:
        before = cpu(client)
        found = run([sys.executable, "benchmarks/stock_scrapy_redis.py", f"--seeds={work / 'seeds.txt'}",
                     f"--hosts-file={work / 'hosts'}", f"--pages={pages}", f"--redis={url}"])
        found["server_seconds"] = cpu(client) - before
        return found


def per_page(found: dict[str, float]) -> float:
    return (found["cpu_seconds"] + found.get("server_seconds", 0.0)) / found["pages"]


def measure_crawls(pages: int, turns: int) -> dict[str, float]:
    figures: dict[str, Any] = {}
    kinds = {
        "embedded": lambda web: embedded(web, 0, {}),
        "redis": lambda web: on_redis(web, 0, {}),
        "redis_bare": lambda web: on_redis(web, 0, FRONTIER_AND_ARCHIVE),
        "scrapy_redis": lambda web: scrapy_redis(web, pages // 3),
    }
    totals: dict[str, dict[str, float]] = {}
    with start_demoweb(seed=7, hosts=200, pages=pages, nuisance="none") as web:
        for _ in range(turns):
            for name, crawl in kinds.items():
                found = crawl(web)
                told = ", ".join(f"{part} {value:.2f}" for part, value in found.items())
                print(f"{name}: {told}", flush=True)
                total = totals.setdefault(name, {})
                for part, value in found.items():
                    total[part] = total.get(part, 0.0) + value
        two = on_redis(web, 0, {}, workers=2)
        print(f"two workers: {two['wall_seconds']:.1f} s on {os.cpu_count()} cores, beside the web and the "
              f"server (load {os.getloadavg()[0]:.1f})", flush=True)
    worker, alone = totals["redis"], totals["embedded"]
    theirs = per_page(totals["scrapy_redis"])
    figures["cpu_ratio_vs_embedded"] = (worker["cpu_seconds"] / worker["pages"]) / per_page(alone)
    figures["ratio_vs_scrapy_redis"] = theirs / per_page(totals["redis_bare"])
    figures["ratio_vs_scrapy_redis_all"] = theirs / per_page(worker)
    figures["crawl_redis_ms_per_page"] = worker["server_seconds"] / worker["pages"] * 1_000
    figures["redis_bytes_per_fetched_page"] = worker["bytes_per_page"] / turns
    figures["two_workers_wall_ratio"] = two["wall_seconds"] / (worker["wall_seconds"] / turns)
    return figures


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--quick", action="store_true", help="fewer pages, one turn: under 3 minutes")
    parser.add_argument("--urls", type=int, help="URLs of the byte figures (default: 10 M; quick: 3 M)")
    parser.add_argument("--only", choices=("bytes", "server", "crawls"), nargs="*",
                        default=["bytes", "server", "crawls"])
    options = parser.parse_args()
    quick = options.quick
    figures: dict[str, float] = {}
    if "crawls" in options.only:
        figures |= measure_crawls(2_000 if quick else 12_000, 1 if quick else 3)
    if "server" in options.only:
        pages, preload = (3_000, 200_000) if quick else (20_000, 1_000_000)
        figures["redis_ms_per_page"] = measure_server(pages, preload, 17, True)
        figures["redis_ms_per_page_without_cache"] = measure_server(pages, preload, 52, False)
    if "bytes" in options.only:
        urls = options.urls or (3_000_000 if quick else 10_000_000)
        found = measure_bytes(urls, 10)
        figures["bytes_per_seen_url"] = found["seen"]
        figures["bytes_per_queued_url"], figures["rss_bytes_per_url"] = found["queued"], found["rss"]
        for per_host in (3, 60):
            figures[f"bytes_per_queued_url_{per_host}_a_host"] = measure_bytes(urls // 10, per_host)["queued"]
    print(f"client CPU {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.0f} s")
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps({"name": "fleet", "figures": rounded}))


if __name__ == "__main__":
    main()
