"""The front queues: FIFOs of waiting hosts, one for each rank, read from storage a piece at a time."""

from __future__ import annotations

import random
from bisect import bisect
from collections import deque
from collections.abc import Callable
from itertools import accumulate

from crawlerproj.storage.interface import HostRecord, Storage

_PIECE = 64
Standing = Callable[[str], int]
"""How many queues up a host belongs now, whatever it was when its URLs were offered."""


def best_first(entries: list[tuple[int, bytes]], standing: Standing,
               record_of: Callable[[bytes], HostRecord | None]) -> list[tuple[int, bytes]]:
    """A piece of a front queue, hosts of higher standing first, else in order of arrival.

    A piece is emptied before the next is read, so nobody waits for more than one piece of better hosts.
    """
    def rank(entry: tuple[int, bytes]) -> int:
        record = record_of(entry[1])
        return -standing(record.name) if record is not None else 0

    return sorted(entries, key=rank)


class FrontQueues:
    """Chooses the next waiting host: a rank by chance, biased to the urgent ones, then in order of arrival.

    Cursors only move forward; hosts behind a cursor hold a back queue or have left. `arrivals()` says
    that a group has landed, so ranks that were found empty are looked at again.
    """

    def __init__(self, storage: Storage, queues: int, bias: float, rng: random.Random,
                 standing: Standing | None = None) -> None:
        self._storage, self._standing = storage, standing
        self._rng = rng
        self._weights = [bias ** (queues - 1 - rank) for rank in range(queues)]
        self._cursors = [max(0, storage.front_marks.get(rank, 0) - 1) for rank in range(queues)]
        self._heads: list[deque[tuple[int, bytes]]] = [deque() for _ in range(queues)]
        self._reopen()

    def _reopen(self) -> None:
        self._open = set(range(len(self._heads)))
        self._weigh()

    def _weigh(self) -> None:
        self._ranks = sorted(self._open)
        self._cumulative = list(accumulate(self._weights[rank] for rank in self._ranks))

    def arrivals(self) -> None:
        if len(self._open) < len(self._heads):
            self._reopen()

    @property
    def exhausted(self) -> bool:
        return not self._open

    def take(self) -> bytes | None:
        """The next waiting host, or None until something arrives."""
        while self._open:
            cumulative = self._cumulative
            # As random.choices does it, without adding up the weights anew for every host.
            point = self._rng.random() * cumulative[-1]
            rank = self._ranks[bisect(cumulative, point, 0, len(cumulative) - 1)]
            head = self._heads[rank]
            if not head:
                piece = self._storage.read_front(rank, self._cursors[rank], _PIECE)
                if not piece:
                    self._open.discard(rank)
                    self._weigh()
                    continue
                self._cursors[rank] = piece[-1][0]
                if self._standing is not None:
                    piece = best_first(piece, self._standing, self._storage.host)
                head.extend(piece)
            seq, host = head.popleft()
            record = self._storage.host(host)
            # An entry may have been replaced or deleted by a group that has not landed yet.
            if record is not None and record.front == (rank, seq) and not record.wake:
                return host
        return None

    def mark(self, held: list[tuple[int, int]]) -> None:
        """Moves the low-water marks up to the first entry that may still be alive."""
        marks = {rank: min((seq for seq, _ in self._heads[rank]), default=cursor + 1)
                 for rank, cursor in enumerate(self._cursors)}
        for rank, seq in held:
            marks[rank] = min(marks[rank], seq)
        self._storage.front_marks.update(marks)
