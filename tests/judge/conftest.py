"""Clean logs as a polite crawl leaves them, to be mutated by the tests."""

import json
import random

import pytest

FACTOR, MINIMUM, MAXIMUM = 10.0, 2.0, 300.0


class CleanLog:
    """Simulates a polite client of some hosts and writes the lines a demo web would."""

    def __init__(self, hosts: int = 5, pages: int = 12, seed: int = 1) -> None:
        self.rng = random.Random(seed)
        self.lines: list[dict] = []
        for host in range(hosts):
            self._visit_host(f"www.host{host}.example", f"127.1.0.{host + 1}", pages)
        self.lines.sort(key=lambda line: line.get("end", line.get("at")))

    def _visit_host(self, host: str, address: str, pages: int) -> None:
        rng, now, made = self.rng, 1000 + self.rng.random(), 0
        delay = rng.choice([None, None, 5.0])
        connection, opened = f"{host}/0", now
        for number in range(pages):
            path = "/robots.txt" if number == 0 else f"/{number}.html"
            start = now + 0.001 if now == opened else now
            end = start + rng.choice([0.001, 0.1, 1.0, 40.0])
            status = 503 if rng.random() < 0.2 and number else 200
            after = 30 if status == 503 else None
            self.lines.append(
                {
                    "host": host, "address": address, "connection": connection, "opened": opened,
                    "start": start, "end": end, "method": "GET", "url": f"http://{host}:8000{path}",
                    "status": status, "bytes": 100, "retry_after": after, "crawl_delay": delay,
                    "forbidden": False,
                }
            )  # fmt: skip
            begun = opened if start != now else start
            wait = max(min(FACTOR * (end - begun), MAXIMUM), MINIMUM, delay or 0, after or 0)
            now = end + wait + rng.random() * 0.1
            if rng.random() < 0.4 or number == pages - 1:
                self.lines.append({"closed": connection, "at": end + rng.random()})
                made += 1
                connection, opened = f"{host}/{made}", now

    def requests(self, host: int = 0) -> list[dict]:
        name = f"www.host{host}.example"
        return [line for line in self.lines if line.get("host") == name]

    def text(self) -> list[str]:
        return [json.dumps(line) for line in self.lines]


@pytest.fixture
def clean_log():
    return CleanLog
