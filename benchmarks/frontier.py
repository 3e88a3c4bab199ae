"""What the frontier costs: CPU of a link, of a next, memory and reopening, as it grows.

One cycle is what a page does to the frontier: 65 links offered, 13 of them new, then next (take and
begin), release and settle; 64 pages make a commit group, synced. CPU is that of all threads,
RocksDB's included; making the URLs is not counted. Of the 52 known links two thirds are among the
last 20,000 URLs (a site's own pages), one third anywhere (the hard case); `…_uniform` has all 52
anywhere. 100,000 hosts; `…_giant` has one host that owns half of the URLs.

    python benchmarks/frontier.py [--quick] [--directory DIR]

The last line is {"name": "frontier", "figures": {...}}.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import xxhash

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.limits import Limits
from crawlerproj.frontier.prioritiser import Prioritiser
from crawlerproj.items import Candidate
from crawlerproj.settings import GC_THRESHOLD
from crawlerproj.storage.embedded import EmbeddedStorage
from crawlerproj.urls.hosts import host_of

LINKS, NEW, PAGES = 65, 13, 64
RECENT = 20_000


class World:
    """URLs 0, 1, 2, …: which host each belongs to, how it is written, how deep it lies."""

    def __init__(self, hosts: int, giant: bool) -> None:
        self._hosts, self._giant = hosts, giant

    def candidate(self, number: int) -> Candidate:
        mixed = xxhash.xxh3_64_intdigest(number.to_bytes(8, "big"))
        host = 0 if self._giant and mixed & 1 else (mixed >> 8) % self._hosts
        return Candidate(f"https://www.site-{host}.example/{mixed:016x}/page-{number}.html", 1 + number % 6)


class Bench:
    """A frontier on disk, a clock of its own, and the CPU it has used."""

    def __init__(self, directory: Path, *, hosts: int = 100_000, giant: bool = False, known: str = "mixed",
                 delay: float = 2.0, **limits: int) -> None:
        self.directory, self.world, self.known = directory, World(hosts, giant), known
        self.delay, self.limits = delay, Limits(**limits)
        self.rng = random.Random(1)
        self.size = 0
        self.now = 1000.0
        self.groups: dict[str, tuple[bytes, str]] = {}
        self.open()

    def open(self) -> None:
        self.storage = EmbeddedStorage(self.directory)
        self.frontier = Frontier(
            self.storage, self.limits, key_of=self.key_of, group_of=self.group_of,
            priority_of=Prioritiser(self.limits.queues), now=self.now, wall=1e9 + self.now, rng=self.rng,
        )

    def key_of(self, candidate: Candidate) -> bytes:
        key: bytes = xxhash.xxh3_128_digest(candidate.url.encode(), 1)
        return key

    def group_of(self, url: str) -> tuple[bytes, str]:
        host = host_of(url)
        found = self.groups.get(host)
        if found is None:
            if len(self.groups) >= 65_536:
                self.groups.clear()
            found = self.groups[host] = (xxhash.xxh3_64_digest(host.encode()), host)
        return found

    def links(self, new: int, known: int) -> list[Candidate]:
        rng, size = self.rng, self.size
        numbers = list(range(size, size + new))
        for n in range(known):
            near = self.known == "mixed" and n % 3
            numbers.append(rng.randrange(max(0, size - RECENT) if near else 0, size))
        rng.shuffle(numbers)
        self.size += new
        return [self.world.candidate(number) for number in numbers]

    def commit(self) -> None:
        group = self.storage.seal()
        if group is not None:
            self.storage.write(group, _no_files)
            self.frontier.landed(group.settled, self.storage.landed(group))

    def fill(self, size: int) -> None:
        """Offers new URLs only, without fetching any."""
        while self.size < size:
            self.frontier.offer(self.links(min(PAGES * NEW, size - self.size), 0))
            self.commit()
        self.frontier.mark()

    def cycles(self, size: int) -> float:
        """Page cycles until `size` URLs are known; CPU seconds a link."""
        links, making = 0, 0.0
        began = time.process_time()
        frontier = self.frontier
        while self.size < size:
            for _ in range(PAGES):
                made = time.thread_time()
                batch = self.links(NEW, LINKS - NEW)
                making += time.thread_time() - made
                self.now += 0.002
                ticket = frontier.take(self.now)
                while ticket is None:
                    self.now += 0.1
                    ticket = frontier.take(self.now)
                frontier.begin(ticket, self.now)
                frontier.release(ticket.host, self.now, self.delay)
                frontier.offer(batch)
                frontier.settle(ticket, "done", "200")
                links += LINKS
            self.commit()
            if links % (LINKS * PAGES * 30) == 0:
                frontier.mark()
        return (time.process_time() - began - making) / links

    def nexts(self, count: int, chunk: int = 64) -> Iterator[float]:
        """CPU seconds of take and begin, a chunk at a time; release and settle are not counted."""
        frontier = self.frontier
        done = 0
        while done < count:
            tickets = []
            began = time.process_time()
            for _ in range(min(chunk, count - done)):
                ticket = frontier.take(self.now)
                if ticket is None:
                    break
                frontier.begin(ticket, self.now)
                tickets.append(ticket)
            spent = time.process_time() - began
            for ticket in tickets:
                frontier.release(ticket.host, self.now, self.delay)
                frontier.settle(ticket, "done", "200")
            self.commit()
            if done // 2000 != (done + len(tickets)) // 2000:
                frontier.mark()
            done += len(tickets)
            if tickets:
                yield spent / len(tickets)
            else:
                due = frontier.next_due()
                if due is None:
                    return
                self.now = max(self.now, due)

    def close(self) -> None:
        self.storage.close()


def _no_files() -> None:
    pass


def _mean(values: Iterator[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _rss_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# --- parts: each in a process of its own ------------------------------------------------------


def links_1m(directory: Path, giant: bool = False, known: str = "mixed") -> float:
    bench = Bench(directory, giant=giant, known=known)
    bench.fill(750_000)
    return bench.cycles(1_000_000) * 1e6


def part_link(directory: Path) -> dict[str, float]:
    return {"us_per_link_1m": links_1m(directory)}


def part_link_giant(directory: Path) -> dict[str, float]:
    return {"us_per_link_1m_giant": links_1m(directory, giant=True)}


def part_link_uniform(directory: Path) -> dict[str, float]:
    return {"us_per_link_1m_uniform": links_1m(directory, known="uniform")}


def _after_90_percent(directory: Path, giant: bool) -> dict[str, float]:
    size, sample = 200_000, 4_000
    bench = Bench(directory, hosts=20_000, giant=giant, delay=0.05, back_queues_max=2_000)
    bench.fill(size)
    fresh = _mean(bench.nexts(sample))
    for _ in bench.nexts(size * 9 // 10 - sample):
        pass
    late = _mean(bench.nexts(sample))
    bench.close()
    bench.open()
    reopened = _mean(bench.nexts(sample))
    name = "_giant" if giant else ""
    return {
        f"next_us_fresh{name}": fresh * 1e6,
        f"next_us_after_90pct_done{name}": late * 1e6,
        f"next_us_after_90pct_done_reopened{name}": reopened * 1e6,
        f"next_us_ratio_after_90pct_done{name}": max(late, reopened) / fresh,
    }


def part_done(directory: Path) -> dict[str, float]:
    return _after_90_percent(directory, giant=False)


def part_done_giant(directory: Path) -> dict[str, float]:
    return _after_90_percent(directory, giant=True)


def part_next(directory: Path) -> dict[str, float]:
    bench = Bench(directory, quantum=1)  # every next is another host's
    bench.fill(300_000)
    bench.close()
    bench.open()  # nothing is in memory: every host, contact and run is read
    return {"next_per_s_100k_hosts": 1 / _mean(bench.nexts(90_000))}


def part_30m(directory: Path) -> dict[str, float]:
    bench = Bench(directory)
    bench.fill(750_000)
    figures = {"us_per_link_1m_same_run": bench.cycles(1_000_000) * 1e6}
    bench.fill(10_000_000)
    bench.close()
    began, wall = time.process_time(), time.monotonic()
    bench.open()
    assert bench.frontier.take(bench.now) is not None
    figures["reopen_s_10m"] = time.process_time() - began
    figures["reopen_wall_s_10m"] = time.monotonic() - wall
    figures["rss_mb_10m"] = _rss_mb()
    bench.close()
    bench.open()
    bench.fill(28_500_000)
    figures["us_per_link_30m"] = bench.cycles(30_000_000) * 1e6
    figures["rss_mb_30m"] = _rss_mb()
    figures["disk_bytes_per_url_30m"] = sum(f.stat().st_size for f in directory.iterdir()) / bench.size
    return figures


QUICK = [part_link, part_link_giant, part_link_uniform, part_done, part_done_giant, part_next]
PARTS = {part.__name__: part for part in [*QUICK, part_30m]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="without 10 M and 30 M URLs")
    parser.add_argument("--directory", help="where the state is kept meanwhile (default: a temporary one)")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        place = Path(tempfile.mkdtemp(prefix="frontier-bench-", dir=options.directory))
        gc.set_threshold(GC_THRESHOLD, 20, 20)  # as a crawl does
        try:
            print(json.dumps(PARTS[options.part](place)))
        finally:
            shutil.rmtree(place)
        return
    figures: dict[str, float] = {}
    for name in [part.__name__ for part in QUICK] + ([] if options.quick else ["part_30m"]):
        command = [sys.executable, __file__, "--part", name]
        if options.directory:
            command += ["--directory", options.directory]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        found = json.loads(output.splitlines()[-1])
        print(name, {key: round(value, 3) for key, value in found.items()}, flush=True)
        figures |= found
    if "us_per_link_30m" in figures:
        figures["us_ratio_30m_to_1m"] = figures["us_per_link_30m"] / figures["us_per_link_1m_same_run"]
    rounded = {key: round(value, 3) for key, value in figures.items()}
    print(json.dumps({"name": "frontier", "figures": rounded}))


if __name__ == "__main__":
    main()
