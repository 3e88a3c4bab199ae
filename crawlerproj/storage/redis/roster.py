"""Who works on the crawl: a row for each worker, which fades when the worker does, and orders for them.

Times are the server's. A worker that says nothing for one lease time is gone; one that was only stalled
is there again as soon as it speaks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgpack

from crawlerproj.storage.redis.line import Line
from crawlerproj.storage.redis.wire import pairs

Status = dict[str, Any]


class Present(NamedTuple):
    """Who is there, and what this worker is to do (`stop`, `drain` or nothing)."""

    order: str
    now: float  # of the server
    workers: dict[str, Status]


class Roster:
    def __init__(self, line: Line, crawl: str, ttl: float = 10.0) -> None:
        self._line, self._ttl = line, ttl
        prefix = f"{crawl}:{{fleet}}:"
        self._workers = f"{prefix}workers".encode()
        self._status, self._orders = f"{prefix}status".encode(), f"{prefix}orders".encode()

    def tell(self, worker: str, status: Mapping[str, Any]) -> Present:
        """This worker is there; gives everybody who is."""
        return self._call(worker, int(self._ttl * 1000), status)

    def leave(self, worker: str) -> None:
        self._call(worker, 0, {})

    def _call(self, worker: str, ttl: int, status: Mapping[str, Any]) -> Present:
        answer = self._line.call("roster", self._workers, worker, ttl, json.dumps(status))
        order, now, rows = msgpack.unpackb(answer, raw=True)
        return Present(order.decode() if order else "", now / 1000, _decoded(pairs(rows)))

    def present(self) -> dict[str, Status]:
        """Everybody who is there, for whoever only looks."""
        [time, rows] = self._line.commands(("TIME",), ("HGETALL", self._status))
        now = int(time[0]) * 1000
        [alive] = self._line.commands(("ZRANGEBYSCORE", self._workers, now, "+inf"))
        found = _decoded(pairs(rows))
        return {name.decode(): found[name.decode()] for name in alive if name.decode() in found}

    def order(self, workers: Iterable[str], what: str) -> None:
        """Each does it within a second."""
        rows = [part for worker in workers for part in (worker, what)]
        if rows:
            self._line.commands(("HSET", self._orders, *rows))


def _decoded(rows: Iterable[tuple[bytes, bytes]]) -> dict[str, Status]:
    return {name.decode(): json.loads(status) for name, status in sorted(rows)}
