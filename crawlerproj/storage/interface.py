"""The storage interface: what the frontier asks of an engine, and what it is promised.

Writes collect in the open group. `seal()` closes it, `write(group)` makes it one atomic,
durable write (safe in a thread), `landed(group)` ends it. Until a group has landed its
URLs count as known and its settlements as made, but reads of runs and front queues show
the state before it: taking is only reading, so a crash needs no recovery step.

Contacts are written ahead, outside the groups: they survive the death of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

NEVER = float("inf")


class StorageError(Exception):
    """The state cannot be used; the message says why and what to do."""


class Pause(StorageError):
    """The state cannot be reached or grown now, and will be: to be treated as "nothing now"."""


class Offer(NamedTuple):
    """A URL to enqueue if its key is new. Rank 0 is the most urgent front queue."""

    key: bytes
    host: bytes
    name: str
    rank: int
    candidate: bytes


class Entry(NamedTuple):
    """A candidate in its host's run."""

    rank: int
    seq: int
    candidate: bytes


class Settlement(NamedTuple):
    """The end of a handed-out URL: `done`, `parked`, or `retry` (back to the tail of its run).

    `taken` is the candidate as it was read from the run, `candidate` that of a retry.
    """

    key: bytes
    host: bytes
    rank: int
    seq: int
    kind: str
    outcome: str
    low: int
    candidate: bytes = b""
    taken: bytes = b""


@dataclass(slots=True)
class HostRecord:
    """What is queued for one host. Exists only while something is."""

    name: str
    front: tuple[int, int] | None = None
    wake: float = 0.0  # parked until this wall time; 0 = not parked, NEVER = banned
    reason: str = ""
    levels: dict[int, list[int]] = field(default_factory=dict)  # rank -> [count, low mark]

    @property
    def queued(self) -> int:
        return sum(level[0] for level in self.levels.values())

    @property
    def best(self) -> int | None:
        """The most urgent rank with something queued."""
        return min((rank for rank, level in self.levels.items() if level[0]), default=None)


@dataclass(slots=True)
class Contact:
    """The last contact with a host, in wall time. `ended` 0 means: it was still going on.

    `crawl_delay` is what its robots.txt last asked for: it binds also while that file is fetched again.
    """

    started: float = 0.0
    ended: float = 0.0
    ready_at: float = 0.0
    delay: float = 0.0
    failures: int = 0
    crawl_delay: float = 0.0
    unsettled: list[tuple[bytes, int]] = field(default_factory=list)


class SealedGroup(Protocol):
    """What one commit writes. `settled` are the run entries it deletes: (host, rank, seq)."""

    settled: list[tuple[bytes, int, int]]


class Storage(Protocol):
    """One crawl's shared state. Times are wall clock."""

    front_marks: dict[int, int]  # rank -> no live front entry lies below; written with the next group
    file_lengths: dict[str, int]  # as committed
    counts: dict[str, int]  # offered (new ones), done, parked
    held: Container[bytes]  # hosts with a back queue, set by the frontier: their front entries stay

    # --- URLs ---

    def offer(self, offers: Sequence[Offer]) -> int:
        """Enqueues those whose key is new; says how many. Newness test and enqueue are one write."""

    def unseen(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those that seem new: saves making offers of the others. `offer` itself decides."""

    def known(self, key: bytes) -> bytes | None:
        """The state of a URL (`q`, `d:outcome`, `p:reason`), uncommitted groups included, or None."""

    def unknown(self, places: Sequence[tuple[bytes, bytes]]) -> set[bytes]:
        """Of some (URL key, host) the keys that were never offered."""

    def settle(self, settlement: Settlement) -> None: ...

    # --- hosts ---

    def host(self, host: bytes) -> HostRecord | None:
        """Its record, uncommitted groups included; None when it is not parked and nothing is queued."""

    def requeue(self, host: bytes) -> None:
        """Rewrites the host's front entry at the tail of its best queue (its quantum is over)."""

    def park(self, host: bytes, wake: float, reason: str, name: str = "") -> None:
        """Takes the host's front entry away until `wake` (NEVER: a ban); its URLs stay queued."""

    def wake(self, host: bytes) -> None:
        """Ends a host's parking: it waits at the tail of its best queue."""

    def parked(self) -> Iterator[tuple[float, bytes]]:
        """Parked hosts, uncommitted ones included, the earliest wake time first."""

    def read_run(self, host: bytes, limit: int) -> list[Entry]:
        """The first committed entries of a host's run, the most urgent first."""

    def read_front(self, rank: int, after: int, limit: int) -> list[tuple[int, bytes]]:
        """Committed entries (seq, host) of a front queue with a seq above `after`."""

    # --- contacts and tables ---

    def contact(self, host: bytes) -> Contact | None: ...

    def put_contact(self, host: bytes, contact: Contact) -> None:
        """Written at once, outside the groups."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """A row of a table, uncommitted groups included."""

    def get_many(self, wanted: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        """Some rows (table, key) in one call, in the order asked for."""

    def put(self, table: str, key: bytes, value: bytes) -> None: ...

    def delete(self, table: str, key: bytes) -> None: ...

    # --- groups ---

    def count(self, name: str, by: int) -> None:
        """Adds to one of `counts`, which are kept with the next group."""

    @property
    def open_pages(self) -> int:
        """Settlements in the open group."""

    @property
    def open_bytes(self) -> int:
        """Bytes of candidates and rows in the open group."""

    @property
    def dirty(self) -> bool:
        """The open group holds something."""

    @property
    def landing(self) -> bool:
        """A group is sealed and has not landed: no other can be sealed."""

    def seal(self, lengths: dict[str, int] | None = None) -> SealedGroup | None:
        """Closes the open group, `lengths` being those of the files it speaks of; None: nothing to write."""

    def write(self, group: Any, sync_files: Callable[[], None]) -> None:
        """Files first, then the batch that says how long they are: one durable write."""

    def landed(self, group: Any) -> Iterable[bytes]:
        """Ends a group; gives the hosts it touched."""

    # --- the whole ---

    def items(self, family: str) -> Iterator[tuple[Any, Any]]:
        """All that is committed in a family, in the order of its keys:

        seen    key, state                 run     (host, rank, seq), candidate
        front   (rank, seq), host          host    host, HostRecord
        parked  (wake, host), reason       contact host, Contact
        table   (table, key), value        meta    "counts", "front_marks", "file_lengths", their dicts
        """

    def free_bytes(self) -> int:
        """Room left where the state is kept."""

    def close(self) -> None:
        """What was not committed is as after a crash."""
