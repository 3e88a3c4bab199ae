"""Which partitions does this worker hold? Its fair share of them, as workers come, go, die and stall.

Each worker looks at who is there and does its own part: who has too many drains some and gives them back,
who has too few claims what is free. Nobody tells anybody. What a dead worker held is free when its lease
has ended; what a stalled one held is lost to it, and it lets go as soon as it notices.

Plain logic: leases and the state of commits come in as callables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from crawlerproj.frontier.partitions import Partitions


class Leases(Protocol):
    """What is asked of shared storage."""

    def claim(self, partition: int) -> bytes | None: ...

    def renew(self) -> set[int]: ...

    def abandoned(self, partition: int) -> None: ...

    def release(self, partition: int) -> None: ...

    def unclaimed(self, partitions: Sequence[int]) -> list[int]: ...


class Membership:
    """`eligible` are the partitions this worker may hold; `mark` and `landed` number commit groups: all that
    was written before `mark()` was called is durable when `landed()` has reached it. `hang_up` ends idle
    connections to the hosts of a partition that is about to go, or is gone."""

    def __init__(self, leases: Leases, partitions: Partitions, eligible: Iterable[int], *,
                 mark: Callable[[], int], landed: Callable[[], int],
                 hang_up: Callable[[set[int]], object] = lambda partitions: None) -> None:
        self._leases, self._partitions = leases, partitions
        self._eligible = sorted(eligible)
        self._mark, self._landed, self._hang_up = mark, landed, hang_up
        self._leaving: dict[int, int] = {}  # drained partition -> the group after which it can be released
        self.closing = False  # all is to be given back

    @property
    def owned(self) -> set[int]:
        return self._partitions.owned

    @property
    def empty_handed(self) -> bool:
        return not self._partitions.owned

    def renew(self) -> list[int]:
        """To be called every third of a lease; gives the partitions that are lost and now forgotten."""
        lost = sorted(self._leases.renew())
        for partition in lost:
            self._leaving.pop(partition, None)
            self._partitions.abandon(partition)
            self._leases.abandoned(partition)
        if lost:
            self._hang_up(set(lost))
        return lost

    def balance(self, wall: float, place: int, workers: int) -> list[int]:
        """Comes nearer to the fair share of worker number `place` of so many; gives what was claimed."""
        self._give_back()
        share = 0 if self.closing else self.share(place, workers)
        kept = sorted(self._partitions.owned - self._partitions.draining)
        for partition in kept[share:]:
            self._partitions.drain(partition)
        self._give_back()
        return self._claim(share - len(kept), wall) if share > len(kept) else []

    def share(self, place: int, workers: int) -> int:
        each, left = divmod(len(self._eligible), max(1, workers))
        return each + (place < left)

    def _claim(self, wanted: int, wall: float) -> list[int]:
        claimed: list[int] = []
        here = self._partitions.owned
        for partition in self._leases.unclaimed([each for each in self._eligible if each not in here]):
            if len(claimed) >= wanted:
                break
            if self._leases.claim(partition) is None:
                continue
            if self._partitions.adopt(partition, wall):
                claimed.append(partition)
            else:
                self._leases.release(partition)  # a transfer of its former time here has not ended
        return claimed

    def _give_back(self) -> None:
        for partition in sorted(self._partitions.draining):
            if partition not in self._leaving:
                if not self._partitions.drained(partition):
                    continue
                self._leaving[partition] = self._mark()
            if self._landed() >= self._leaving[partition]:
                del self._leaving[partition]
                self._hang_up({partition})
                self._leases.release(partition)
                self._partitions.released(partition)

    def leave(self) -> None:
        """Everything has landed and nothing is in hand: all leases are given back."""
        self._hang_up(set(self._partitions.owned))
        for partition in sorted(self._partitions.owned):
            self._leases.release(partition)
            self._partitions.released(partition)
