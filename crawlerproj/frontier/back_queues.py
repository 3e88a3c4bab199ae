"""A back queue: one host, the head of its run, and what is known of its last contact."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from crawlerproj.items import Candidate
from crawlerproj.storage.interface import Contact, Entry


@dataclass(slots=True, eq=False)
class Ticket:
    """A URL in hand: taken from its back queue, to be settled exactly once."""

    host: bytes
    name: str
    entry: Entry
    key: bytes
    candidate: Candidate
    attempts: int
    deaths: int = 0  # of the process, while the URL was in hand
    settled: bool = False

    @property
    def suspect(self) -> bool:
        return self.deaths > 0


@dataclass(slots=True, eq=False)
class BackQueue:
    """In memory only: a crash forgets it, and reading the run from its beginning finds it all again."""

    host: bytes
    name: str
    contact: Contact
    ready_at: float
    head: deque[Entry] = field(default_factory=deque)
    stale: bool = False  # a group has landed since the head was read: something more urgent may have come
    # Taken and not landed yet: still visible in the run, not to be taken again.
    drawn: set[tuple[int, int]] = field(default_factory=set)
    # Taken and not settled: (rank, seq) -> (url key, deaths if the process died now).
    unsettled: dict[tuple[int, int], tuple[bytes, int]] = field(default_factory=dict)
    # URLs that were in hand when the process died, and how often.
    suspects: dict[bytes, int] = field(default_factory=dict)
    # Taken, put back and not taken again: alive, though later entries may have been settled.
    returned: set[tuple[int, int]] = field(default_factory=set)
    busy: bool = False
    held: bool = False  # not to be drawn until `resume`: its address is being looked up
    hand: Ticket | None = None  # taken and not begun: no other URL of the host may be taken
    token: int = 0  # its place in the heap; 0 = sleeping
    taken: int = 0
    leaving: bool = False
    park: tuple[float, str] | None = None

    def low_mark(self, rank: int, seq: int) -> int:
        """A mark no live entry of this level lies below, once (rank, seq) has been settled."""
        alive = [s for r, s in self.unsettled if r == rank]
        if self.returned:
            alive += [s for r, s in self.returned if r == rank]
        return min(alive, default=seq + 1)
