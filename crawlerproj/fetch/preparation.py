"""A host is prepared before its fetch: its address is known, or known not to be had.

A name that must be asked for takes no download slot: the host is held, and goes on when the answer is
there, so that a slow name server delays nobody else. Where hosts of one address share a clock, the
address must be free as well (`frontier/by_address.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from crawlerproj.fetch.dns import DnsError, Resolver
from crawlerproj.urls.hosts import host_of, hostname


class Preparation:
    """`free(host, address, now)` says whether the address may be contacted; None: only the host counts."""

    def __init__(
        self,
        resolver: Resolver,
        resume: Callable[[bytes], None],
        maximum: int = 1_000,
        free: Callable[[bytes, str, float], bool] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolver, self._resume, self._maximum = resolver, resume, maximum
        self._free, self._now = free, now
        self._tasks: set[asyncio.Task[None]] = set()

    def ready(self, url: str, host: bytes) -> bool:
        """Is the address known? If not it is asked for, and `resume(host)` is called afterwards."""
        name = hostname(host_of(url)).strip("[]")
        known = self._resolver.cached(name)
        if known is None and (self._free is not None or len(self._tasks) < self._maximum):
            task = asyncio.get_running_loop().create_task(self._look_up(name, host))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return False
        # A name without an address is contacted nowhere: its fetch fails at once.
        return self._free is None or not known or self._free(host, known[0], self._now())

    def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def _look_up(self, name: str, host: bytes) -> None:
        with contextlib.suppress(DnsError):  # the fetch meets the same answer in the cache, and counts it
            await self._resolver.lookup(name)
        self._resume(host)
