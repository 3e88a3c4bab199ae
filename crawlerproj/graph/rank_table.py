"""Ranks for the frontier: how many queues a host's candidates go up or down for its PageRank.

`scrapy graph rank --feed-frontier` writes a table of lines `host<TAB>queues`; a running crawl looks
at it again when it has changed. Hosts in the table's best hundredth go up two queues, in the best tenth
one, in the lower half down one. A host that is not in the table stays where it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from crawlerproj.items import Candidate
from crawlerproj.urls.hosts import host_of

STEPS = ((0.99, 2), (0.90, 1), (0.50, 0), (0.0, -1))  # from this share of hosts below on: queues
_LOOK_SECONDS = 5.0


def write_rank_table(path: Path, hosts: Sequence[str], ranks: Sequence[float]) -> int:
    """Writes the table in one step; gives the number of lines. Who neither rises nor falls is left out."""
    order = sorted(range(len(hosts)), key=lambda index: ranks[index])
    lines = ["# queues up or down by PageRank of the host: `scrapy graph rank --feed-frontier`\n"]
    for place, index in enumerate(order):
        queues = next(up for share, up in STEPS if place >= share * len(order))
        if queues and hosts[index]:
            lines.append(f"{hosts[index]}\t{queues}\n")
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    return len(lines) - 1


class RankTable:
    """The table of a crawl, read again within seconds after it was replaced. No table: no effect."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path, self._clock = path, clock
        self._looked = float("-inf")
        self._version: tuple[int, int] | None = None
        self._queues: dict[str, int] = {}

    def __call__(self, candidate: Candidate, group: str) -> int:
        """A rule of the prioritiser: the number of queues to move a candidate up."""
        # The politeness group may be a whole domain: the table is about hosts.
        return self.standing(host_of(candidate.url))

    def standing(self, host: str) -> int:
        """How many queues up a host belongs now."""
        now = self._clock()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._look()
        return self._queues.get(host, 0)

    def _look(self) -> None:
        try:
            status = self._path.stat()
        except OSError:
            self._version, self._queues = None, {}
            return
        version = (status.st_mtime_ns, status.st_ino)
        if version != self._version:
            self._version = version
            with suppress(OSError, ValueError):  # unreadable: what was read before stands
                self._queues = _read(self._path)


def _read(path: Path) -> dict[str, int]:
    queues: dict[str, int] = {}
    for line in path.read_text("utf-8").splitlines():
        host, _, number = line.partition("\t")
        if not line.startswith("#") and number.isascii() and number.removeprefix("-").isdigit():
            queues[host] = int(number)
    return queues
