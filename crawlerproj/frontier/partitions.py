"""Partitions of a shared crawl: which hosts are this worker's, and how they come and go.

    adopt    a lease was claimed: the partition's waiting hosts join the front queues
    drain    it is to be given back: nothing new is drawn; `drained` says when all is settled
    abandon  its lease is lost: its back queues are forgotten, and what is in hand no longer counts

Back queues are memory only, so a partition carries everything else with it: ready times, contacts,
back-offs and parked hosts lie in storage.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Protocol

from crawlerproj.frontier.back_queues import BackQueue
from crawlerproj.frontier.front_queues import Standing, best_first
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.storage.interface import HostRecord

_PIECE = 64
_Place = tuple[int, int]  # partition, rank


class SharedStorage(Protocol):
    """What shared storage offers beyond `Storage`."""

    def host(self, host: bytes) -> HostRecord | None: ...

    def read_fronts(self, wanted: Sequence[tuple[int, int, int]],
                    limit: int) -> list[list[tuple[int, bytes]]]: ...

    def reread(self, hosts: Sequence[bytes]) -> dict[bytes, HostRecord]: ...


class PartitionedFronts:
    """The front queues of all owned partitions: a rank by chance, then its partitions in turn."""

    def __init__(self, storage: SharedStorage, queues: int, bias: float, rng: random.Random,
                 standing: Standing | None = None) -> None:
        self._storage, self._queues, self._rng, self._standing = storage, queues, rng, standing
        self._weights = [bias ** (queues - 1 - rank) for rank in range(queues)]
        self._cursors: dict[_Place, int] = {}
        self._heads: dict[_Place, deque[tuple[int, bytes]]] = {}
        self._turns: list[deque[int]] = [deque() for _ in range(queues)]  # partitions with a head, by rank
        self._read = False  # everything there was has been read, until something arrives
        # Entries that did not fit what was known of their host: a group that lands may have changed one or
        # the other. They are looked at again when one has.
        self._doubtful: dict[bytes, int] = {}  # host -> partition
        self._look_again = False

    def adopt(self, partition: int) -> None:
        """Its hosts wait from the beginning of its queues."""
        for rank in range(self._queues):
            self._cursors[partition, rank] = 0
            self._heads[partition, rank] = deque()
        self._read = False

    def abandon(self, partition: int) -> None:
        for rank in range(self._queues):
            self._cursors.pop((partition, rank), None)
            self._heads.pop((partition, rank), None)
            if partition in self._turns[rank]:
                self._turns[rank].remove(partition)
        self._doubtful = {host: place for host, place in self._doubtful.items() if place != partition}

    def arrivals(self) -> None:
        self._read = False
        self._look_again = bool(self._doubtful)

    @property
    def exhausted(self) -> bool:
        return self._read and not self._doubtful and not any(self._turns)

    def take(self) -> bytes | None:
        """The next waiting host, or None until something arrives."""
        if self._look_again:
            self._settle_doubts()
        while True:
            ranks = [rank for rank, turns in enumerate(self._turns) if turns]
            if not ranks:
                if self._read or not self._fill():
                    return None
                continue
            cumulative = list(accumulate(self._weights[rank] for rank in ranks))
            rank = ranks[bisect(cumulative, self._rng.random() * cumulative[-1], 0, len(ranks) - 1)]
            turns = self._turns[rank]
            partition = turns[0]
            head = self._heads[partition, rank]
            seq, host = head[0]
            record = self._storage.host(host)  # may be a Pause: nothing has been taken yet
            head.popleft()
            if head:
                turns.rotate(-1)
            else:
                turns.popleft()
                self._read = False  # there may be more behind it
            # An entry may have been replaced or deleted by a group that has not landed yet.
            if record is not None and record.front == (rank, seq) and not record.wake:
                return host
            self._doubtful[host] = partition

    def _settle_doubts(self) -> None:
        """Hosts that wait after all join a head again; those a group still holds are asked for later."""
        for host, record in self._storage.reread(list(self._doubtful)).items():
            partition = self._doubtful.pop(host)
            if record.front is None or record.wake or (partition, record.front[0]) not in self._heads:
                continue
            rank, seq = record.front
            head = self._heads[partition, rank]
            head.appendleft((seq, host))
            if partition not in self._turns[rank]:
                self._turns[rank].append(partition)
        self._look_again = False

    def _fill(self) -> bool:
        """Reads on wherever a head is empty, in one round trip."""
        places = [place for place, head in self._heads.items() if not head]
        wanted = [(partition, rank, self._cursors[partition, rank]) for partition, rank in places]
        found = self._storage.read_fronts(wanted, _PIECE) if wanted else []
        ordered = found
        if self._standing is not None:  # may be a Pause: nothing has been noted yet
            ordered = [best_first(entries, self._standing, self._storage.host) for entries in found]
        self._read = True
        for (partition, rank), entries, heads in zip(places, found, ordered, strict=True):
            if entries:
                self._heads[partition, rank].extend(heads)
                self._cursors[partition, rank] = entries[-1][0]
                self._turns[rank].append(partition)
                self._read = False
        return not self._read

    def mark(self, held: list[tuple[int, int]]) -> None:
        """Shared storage needs no marks: an emptied queue leaves nothing to cross."""


class Partitions:
    """The owned partitions of one frontier, made with these `fronts`; a part of it, in a file of its own."""

    def __init__(self, frontier: Frontier, fronts: PartitionedFronts,
                 partition_of: Callable[[bytes], int]) -> None:
        self._frontier, self._fronts, self._partition_of = frontier, fronts, partition_of
        self.owned: set[int] = set()
        self.draining: set[int] = set()
        self._orphaned: dict[bytes, int] = {}  # host whose transfer outlived its lease -> its partition then

    def adopt(self, partition: int, wall: float) -> bool:
        """False while a transfer of its former time here goes on: to be tried again, lease kept or not."""
        orphans = self._frontier.orphans
        self._orphaned = {host: place for host, place in self._orphaned.items() if host in orphans}
        if partition in self._orphaned.values():
            return False
        self.owned.add(partition)
        self.draining.discard(partition)
        self._fronts.adopt(partition)
        self._frontier.adopted(wall)
        return True

    def drain(self, partition: int) -> None:
        """Nothing more of it is drawn; what is in hand is settled as ever."""
        self.draining.add(partition)
        self._fronts.abandon(partition)
        self._forget_undrawn(partition)
        for queue in self._back_queues(partition):
            queue.leaving, queue.token = True, 0
            self._frontier._leave_or_sleep(queue)

    def drained(self, partition: int) -> bool:
        """No back queue is left: once the groups have landed too, the lease can be released."""
        return not self._back_queues(partition)

    def released(self, partition: int) -> None:
        self.owned.discard(partition)
        self.draining.discard(partition)

    def abandon(self, partition: int) -> None:
        """The lease is lost: another worker will draw its URLs again."""
        self.released(partition)
        self._fronts.abandon(partition)
        frontier = self._frontier
        for queue in self._back_queues(partition):
            frontier._drop(queue)
            frontier.in_hand -= len(queue.unsettled)
            frontier.holding -= queue.held
            if queue.unsettled:
                frontier.orphans[queue.host] = set(queue.unsettled)
                self._orphaned[queue.host] = partition
            suspect = frontier.suspects.current
            if suspect is not None and suspect.host == queue.host:
                frontier._forget_suspect(suspect)
        self._forget_undrawn(partition)

    def _forget_undrawn(self, partition: int) -> None:
        """The host whose turn it was, when storage could not be read."""
        frontier = self._frontier
        if frontier._undrawn is not None and self._partition_of(frontier._undrawn) == partition:
            frontier._undrawn = None

    def _back_queues(self, partition: int) -> list[BackQueue]:
        return [queue for host, queue in self._frontier.back.items() if self._partition_of(host) == partition]
