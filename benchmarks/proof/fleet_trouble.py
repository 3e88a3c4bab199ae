"""A fleet in trouble: workers killed, one stopped past its lease, Redis killed, and its log cut.

What no worker can help is counted apart: a stopped process cannot close its connections, and a request it
has on the wire lasts, for the server, as long as the stop. Everything else has to be polite.

No worker is killed within the seconds that the cut takes from Redis's log: what such a worker alone had
written would be lost, as docs/scale.md says of `appendfsync everysec`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import redis
from crawls import Crawl
from runs import Result

from crawlerproj.judge.verdict import Violation
from crawlerproj.storage.redis.private_server import PrivateServer

LEASE_SECONDS = 10.0  # the default
LOST_SECONDS = 1.0  # of Redis's log
# A kill repeats what was in flight and what two groups held, of the defaults of settings.py.
REPEATS_A_KILL = 128 + 2 * 64


@dataclass
class Stop:
    """When a worker was stopped and went on, on the web's clock."""

    began: float = 0.0
    ended: float = 0.0


@dataclass
class Fleet:
    crawl: Crawl
    rng: random.Random
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    stop: Stop = field(default_factory=Stop)
    redis_restarts: int = 0

    def __post_init__(self) -> None:
        self._start_redis()
        self.crawl.settings |= {"STORAGE": self.server.url, "LEASE_SECONDS": LEASE_SECONDS}

    def _start_redis(self) -> None:
        self.server = PrivateServer(self.crawl.directory, "web")
        with redis.Redis.from_url(self.server.url) as client:
            self._redis_pid = int(client.info("server")["process_id"])

    # --- workers ------------------------------------------------------------------------------

    def start(self, workers: int = 1) -> None:
        self.running += [self.crawl._start() for _ in range(workers)]

    def fetched(self, more: int) -> bool:
        """Waits for so many further answers of the web; False if all workers have ended before."""
        wanted, deadline = self._answers() + more, time.monotonic() + 600
        while self._answers() < wanted:
            self.look()
            if not self.running:
                return False
            if time.monotonic() > deadline:
                raise TimeoutError(f"the fleet did not fetch {more} pages within 600 s: "
                                   f"{self.crawl.last_words()}")
            time.sleep(0.02)
        return True

    def _answers(self) -> int:
        return self.crawl.log.read_bytes().count(b'"url"') if self.crawl.log.exists() else 0

    def look(self) -> None:
        for process in list(self.running):
            if process.poll() is not None:
                self.running.remove(process)
                self.statuses[process.returncode] += 1

    def kill(self) -> None:
        self.look()
        if self.running:
            victim = self.running.pop(self.rng.randrange(len(self.running)))
            victim.kill()
            self.crawl.kills += victim.wait() == -signal.SIGKILL
        self.start()

    def stall(self) -> None:
        """One is stopped for longer than its leases last; the others take its hosts."""
        victim = self.rng.choice(self.running)
        victim.send_signal(signal.SIGSTOP)
        self.stop.began = time.time()
        time.sleep(1.5 * LEASE_SECONDS)
        self.stop.ended = time.time()  # before it has: it closes what it had open within microseconds
        victim.send_signal(signal.SIGCONT)

    def wait(self) -> None:
        deadline = time.monotonic() + 1800
        while self.running and time.monotonic() < deadline:
            self.look()
            time.sleep(0.1)

    # --- Redis --------------------------------------------------------------------------------

    def kill_redis(self) -> None:
        os.kill(self._redis_pid, signal.SIGKILL)
        os.waitpid(self._redis_pid, 0)
        self.redis_restarts += 1

    def restart_redis(self) -> None:
        self.kill_redis()
        self._start_redis()

    def power_cut(self) -> int:
        """Redis comes back without the last second of its log; gives how many bytes that was."""
        [log] = (self.crawl.directory / "redis" / "appendonlydir").glob("*.incr.aof")
        time.sleep(LOST_SECONDS)  # nobody has died since what is left was written
        length = log.stat().st_size
        time.sleep(LOST_SECONDS)
        self.kill_redis()
        lost = log.stat().st_size - length
        with log.open("r+b") as file:
            file.truncate(length)
        self._start_redis()
        return lost

    def close(self) -> None:
        for process in self.running:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.server.stop()
        self.crawl.close()


def fleet(directory: Path, seed: int, kills: int = 20, workers: int = 4,
          size: tuple[int, int] = (1_000, 20_000)) -> Result:
    """Four workers over one Redis, every nuisance, 20 kill -9, a worker stopped past its lease, Redis killed
    twice, once losing the last second of its log."""
    crawl = Crawl("fleet", directory, seed, *size, "all")
    rng = random.Random(seed)
    group = Fleet(crawl, rng)
    try:
        group.start(workers)
        lost = 0
        for turn in range(kills):
            if not group.fetched(rng.randint(size[1] // (4 * kills), size[1] // kills)):
                break
            group.kill()
            crawl.say(f"killed a worker, {group._answers():,} answers")
            if turn == kills // 4:
                group.restart_redis()
                crawl.say("Redis restarted")
            elif turn == kills // 2:
                group.fetched(50)
                group.stall()
                crawl.say("a worker was stopped past its lease")
            elif turn == kills * 3 // 4:
                group.fetched(50)
                lost = group.power_cut()
                crawl.say(f"Redis restarted without the last {lost:,} bytes of its log")
                time.sleep(2 * LOST_SECONDS)  # those who live write it again
        group.wait()
        early = bool(group.running)
        group.start()  # whatever was left by a worker that died last
        group.wait()
        result = judged(group)
        result.expect(not early, "the workers did not end by themselves")
        result.expect(crawl.kills == kills, f"only {crawl.kills} of {kills} kills came in time")
        result.expect(group.redis_restarts == 2 and lost > 0, "Redis was not cut short")
        result.figures["Redis restarts"] = f"2, one without the last {lost:,} bytes of its log"
        return result
    finally:
        group.close()


def judged(group: Fleet) -> Result:
    crawl, result = group.crawl, Result()
    crawl.say("ended; judging")
    fetched = crawl.fetched()
    found, verdict = crawl.coverage(fetched, crawl.stored()), crawl.verdict()
    # Two workers that meet the same text within one commit may both follow its links.
    over = [family for family, n, cap in found.over_cap if family != "duplicates" or n > 2 * cap]
    result.expect(not (found.missing or found.forbidden or found.unknown or over),
                  f"coverage: {len(found.missing)} of MUST missing, {len(found.forbidden)} of NEVER fetched, "
                  f"{over} over cap\n{found.as_text()}")
    closed = closed_at(crawl.log)
    apart = [each for each in verdict.violations if of_the_stopped(each, closed, group.stop)]
    others = [each for each in verdict.violations if each not in apart]
    kinds = Counter(each.kind for each in others)
    told = "\n".join(f"{each.kind}: {each.reason}" for each in others[:10])
    result.expect(not others, f"impolite: {dict(kinds)}\n{told}")
    sound = crawl.frontier("check")
    result.expect(bool(sound["sound"]), f"the frontier is not sound: {sound}")
    again = answered_again(crawl.log)
    result.expect(again <= (crawl.kills + 1) * REPEATS_A_KILL, f"{again} pages were fetched again")
    failed = {status: n for status, n in group.statuses.items() if status}
    result.expect(not failed, f"workers ended with {failed}: {crawl.last_words()}")
    worst = verdict.worst_ratio
    result.figures = {
        "hosts": crawl.hosts, "pages": crawl.pages, "nuisance": crawl.nuisance, "kills": crawl.kills,
        "worker processes": crawl.starts, "ended": crawl.ended_with(),
        "stopped": f"one worker, {group.stop.ended - group.stop.began:.1f} s, with leases of "
                   f"{LEASE_SECONDS:g} s",
        "requests, robots.txt included": verdict.visits, "fetched": fetched.total(),
        "asked for more than once": fetched.total() - len(fetched),
        "of these after a whole answer with 200": again,
        "MUST": f"{found.must - len(found.missing)} of {found.must}",
        "MAY": f"{found.families.total()} fetched, {len(over)} of {len(found.families)} families over cap",
        "NEVER": f"{len(found.forbidden)} fetched",
        "politeness violations": f"{len(others)} in {len(verdict.ratios)} gaps",
        "counted apart": f"{len(apart)}, on the wire or open while their worker was stopped",
        "duration": f"{time.monotonic() - crawl.began:.0f} s",
    }
    if worst is not None and not apart:
        result.figures["politeness violations"] += f", smallest gap / required gap {worst:.3f}"  # type: ignore[operator]
    return result


def closed_at(log: Path) -> dict[str, float]:
    """When each connection was closed, as the web saw it."""
    rows = map(json.loads, log.read_text().splitlines())
    return {row["closed"]: row["at"] for row in rows if "closed" in row}


def answered_again(log: Path) -> int:
    """Fetches of pages that had been answered with 200 before: what the web itself did not ask for."""
    answered: set[str] = set()
    again = 0
    for row in map(json.loads, log.read_text().splitlines()):
        url = row.get("url", "/robots.txt")
        if not url.endswith("/robots.txt"):
            again += url in answered
            if row["status"] == 200:
                answered.add(url)
    return again


def of_the_stopped(violation: Violation, closed: dict[str, float], stop: Stop) -> bool:
    before = violation.previous
    if before is None or before.opened >= stop.began:
        return False
    if violation.kind == "two_connections":
        return closed.get(before.connection, 0.0) >= stop.ended
    return violation.kind == "gap" and before.start < stop.began and before.end >= stop.ended
