"""The commit groups of the embedded engine: one collects, one may be landing."""

from __future__ import annotations

from collections.abc import Iterator

from rocksdict import WriteBatch

from crawlerproj.storage.interface import HostRecord


class Group:
    """What one commit will write."""

    __slots__ = ("batch", "bytes", "hosts", "keys", "next_seq", "pages", "rows", "settled")

    def __init__(self) -> None:
        self.batch = WriteBatch(raw_mode=True)
        self.keys: dict[bytes, bytes] = {}  # url key -> its state, as this group leaves it
        self.hosts: dict[bytes, HostRecord] = {}
        self.rows: dict[bytes, bytes | None] = {}  # of tables; None = deleted
        self.settled: list[tuple[bytes, int, int]] = []
        self.pages = 0
        self.bytes = 0
        self.next_seq = 0  # all it writes lies below

    def __bool__(self) -> bool:
        return bool(self.keys or self.hosts or self.rows)


class Groups:
    """The open group, the one being written if any, and the sequence that numbers all entries."""

    __slots__ = ("landing", "next_seq", "open")

    def __init__(self, next_seq: int) -> None:
        self.open = Group()
        self.landing: Group | None = None
        self.next_seq = next_seq

    def take_seq(self) -> int:
        seq = self.next_seq
        self.next_seq = seq + 1
        return seq

    def uncommitted(self) -> Iterator[Group]:
        """Those whose writes cannot be read from the database yet, the newest first."""
        yield self.open
        if self.landing is not None:
            yield self.landing

    def seal(self) -> Group:
        """The open group becomes the landing one."""
        group = self.landing = self.open
        group.next_seq = self.next_seq
        self.open = Group()
        return group
