"""Leases: a partition belongs to one worker, for a time.

The fence (a counter and a random claim id) protects writes: every script of an owner checks it. The
deadline protects the wire: it is the clock before the call + ttl - margin, on a clock that goes on
while the machine sleeps, and nothing is sent to a host of the partition after it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from crawlerproj.storage.interface import Pause
from crawlerproj.storage.redis.line import Line


def boot_clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(slots=True)
class Lease:
    fence: bytes
    deadline: float  # of `boot_clock`


class Leases:
    """The partitions this worker holds. `grace` is how long a restarted server grants nothing."""

    def __init__(self, line: Line, owner: str, place: Callable[[int], bytes], *, ttl: float = 10.0,
                 margin: float = 1.0, grace: float | None = None,
                 clock: Callable[[], float] = boot_clock) -> None:
        self._line, self._owner, self._place, self._clock = line, owner, place, clock
        self.ttl, self._margin = ttl, margin
        self._grace = ttl if grace is None else grace
        self.held: dict[int, Lease] = {}
        self.lost: set[int] = set()  # lost without being released: to be abandoned

    def claim(self, partition: int) -> bytes | None:
        """The fence, or None: another worker holds the partition, or the server has just come up."""
        before = self._clock()
        fence: bytes | None = self._line.call(
            "claim", self._place(partition), self._owner, secrets.token_hex(8), int(self.ttl * 1000),
            self._grace)
        if fence is None:
            return None
        self.held[partition] = Lease(fence, before + self.ttl - self._margin)
        self.lost.discard(partition)
        return fence

    def renew(self, line: Line | None = None) -> set[int]:
        """Renews all in one round trip; gives those that are lost. Worth doing every ttl / 3."""
        before = self._clock()
        for partition, lease in list(self.held.items()):
            if lease.deadline <= before:
                self.lose(partition, lease.fence)  # a lease that may have ended is never revived
        partitions = list(self.held)
        try:
            answers = (line or self._line).calls([
                ("renew", self._place(partition),
                 (self.held[partition].fence, int(self.ttl * 1000), self._grace))
                for partition in partitions
            ])
        except Pause:
            return set(self.lost)  # the deadlines stand
        for partition, answer in zip(partitions, answers, strict=True):
            current = self.held.get(partition)
            if current is not None and answer == 1:
                current.deadline = before + self.ttl - self._margin
            elif current is not None:
                self.lose(partition, current.fence)
        return set(self.lost)

    def release(self, partition: int) -> None:
        """Gives a drained partition back."""
        lease = self.held.pop(partition, None)
        if lease is not None:
            self._line.call("release", self._place(partition), lease.fence)

    def lose(self, partition: int, fence: bytes) -> None:
        """This fence no longer opens the partition."""
        lease = self.held.get(partition)
        if lease is not None and lease.fence == fence:
            del self.held[partition]
            self.lost.add(partition)

    def fence(self, partition: int) -> bytes | None:
        lease = self.held.get(partition)
        return lease.fence if lease is not None else None

    def server_restarted(self) -> None:
        """It may have forgotten leases: nothing is granted until all it forgot have ended."""
        self._grace = max(self._grace, self.ttl)

    def ended(self) -> set[int]:
        """Partitions whose time is over, though they have not been given up yet."""
        now = self._clock()
        return {partition for partition, lease in list(self.held.items()) if lease.deadline <= now}

    def first_deadline(self) -> float | None:
        """When the first lease ends unless it is renewed, on `boot_clock`."""
        return min((lease.deadline for lease in list(self.held.values())), default=None)

    def valid(self, partition: int) -> bool:
        """May a request to a host of this partition leave now?"""
        lease = self.held.get(partition)
        return lease is not None and self._clock() < lease.deadline

    def deadline(self, partition: int) -> float:
        """When transfers of the partition must have ended, on `boot_clock`."""
        lease = self.held.get(partition)
        return lease.deadline if lease is not None else 0.0
