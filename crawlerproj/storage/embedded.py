"""The embedded engine: one RocksDB under CRAWL_DIR/state, one process (its families: `layout`).

A group is one WriteBatch: a crash leaves all of it or nothing. `write` goes through the
operating system at once, so it survives kill -9; `flush_wal(True)` makes it survive a
power cut and runs without the GIL.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgpack
from rocksdict import Rdict, ReadOptions

from crawlerproj.faults import fault
from crawlerproj.storage.embedded_groups import Group, Groups
from crawlerproj.storage.embedded_hosts import HostRows
from crawlerproj.storage.embedded_options import database_options
from crawlerproj.storage.interface import Contact, Entry, HostRecord, Offer, Settlement, StorageError
from crawlerproj.storage.layout import (
    DECODERS,
    FAMILIES,
    FRONT,
    RUN,
    decode_contact,
    encode_contact,
    encode_host,
    table_key,
)
from crawlerproj.storage.recent import RecentKeys

__all__ = ["EmbeddedStorage", "Group", "StorageError", "open_storage"]

_QUEUED = b"q"


class EmbeddedStorage:
    """RocksDB behind the storage interface. Its lock keeps a second process out."""

    def __init__(self, directory: Path, *, sync: bool = True, memory_mb: int = 256,
                 hosts_cached: int = 100_000, recent_keys: int = 200_000) -> None:
        self._path = directory
        self._sync = sync
        directory.mkdir(parents=True, exist_ok=True)
        base, families = database_options(memory_mb)
        try:
            self._db = Rdict(str(directory), base, column_families=families)
        except Exception as error:
            if "lock" in str(error).lower():
                raise StorageError(
                    f"another process is using {directory}: stop it first, or crawl into another CRAWL_DIR"
                ) from None
            remedy = ("make room on the disk and start again" if "space" in str(error).lower()
                      else "see whether the folder may be written, or crawl into another CRAWL_DIR")
            raise StorageError(f"cannot open {directory} ({error}): {remedy}") from error
        self._handle = {name: self._db.get_column_family_handle(name) for name in FAMILIES}
        # The library's stubs know str keys too; ours are bytes, in and out.
        self._family: dict[str, Any] = {name: self._db.get_column_family(name) for name in FAMILIES}
        self._seen, self._run_handle = self._family["seen"], self._handle["run"]
        self._tables = self._family["table"]
        state = self._meta()
        self._groups = Groups(state.get("seq", 1))
        self._landed_seq = self._groups.next_seq  # all that can be read lies below
        self.front_marks: dict[int, int] = state.get("front_marks", {})
        self.file_lengths: dict[str, int] = state.get("file_lengths", {})
        self.counts: dict[str, int] = state.get("counts", {})
        self.held: Container[bytes] = frozenset()
        self._hosts = HostRows(self._groups, self._family, self._handle, hosts_cached)
        self._recent = RecentKeys(recent_keys)
        self._absent: set[bytes] = set()  # the last answer of `unseen`: true until something is offered
        self._nothing_between: dict[int, tuple[int, int]] = {}  # rank -> an empty stretch of its front queue

    # --- offers -----------------------------------------------------------------------------

    def offer(self, offers: Sequence[Offer]) -> int:
        keys = {offer.key for offer in offers}
        unseen = keys if keys <= self._absent else self.unseen(list(keys))
        new = 0
        for offer in offers:
            if offer.key in unseen:
                unseen.discard(offer.key)
                self._enqueue(offer)
                new += 1
        self._absent = set()
        self.count("offered", new)
        return new

    def unseen(self, keys: Sequence[bytes]) -> set[bytes]:
        unknown = self._recent.without(keys)
        for group in self._groups.uncommitted():
            unknown = unknown.difference(group.keys)
        if unknown:
            asked = list(unknown)
            absent = {key for key, state in zip(asked, self._seen[asked], strict=True) if state is None}
            self._recent.add(unknown - absent)
        else:
            absent = unknown
        self._absent = absent
        return set(absent)

    def _enqueue(self, offer: Offer) -> None:
        key, host, name, rank, candidate = offer
        groups = self._groups
        group, seq = groups.open, groups.take_seq()
        group.keys[key] = _QUEUED
        group.batch.put(RUN.pack(host, rank, seq), candidate, self._run_handle)
        group.bytes += len(candidate)
        record = self._hosts.change(host, name)
        level = record.levels.get(rank)
        if level is None:
            record.levels[rank] = [1, seq]
        else:
            level[0] += 1
        front = record.front
        if not record.wake and (front is None or (rank < front[0] and host not in self.held)):
            self._hosts.put_front(host, record, rank)

    def known(self, key: bytes) -> bytes | None:
        for group in self._groups.uncommitted():
            if key in group.keys:
                return group.keys[key]
        state: bytes | None = self._seen.get(key)
        return state

    # --- settlements ------------------------------------------------------------------------

    def unknown(self, places: Sequence[tuple[bytes, bytes]]) -> set[bytes]:
        return {key for key, _ in places if self.known(key) is None}

    def settle(self, settlement: Settlement) -> None:
        key, host, rank, seq, kind, outcome, low, candidate, _ = settlement
        group = self._groups.open
        record = self._hosts.change(host)
        level = record.levels[rank]
        group.batch.delete(RUN.pack(host, rank, seq), self._handle["run"])
        group.settled.append((host, rank, seq))
        group.pages += 1
        level[0] -= 1
        level[1] = max(level[1], low)
        if kind == "retry":
            seq = self._groups.take_seq()
            group.batch.put(RUN.pack(host, rank, seq), candidate, self._handle["run"])
            group.bytes += len(candidate)
            if not level[0]:
                level[1] = seq
            level[0] += 1
        else:
            state = b"d:" if kind == "done" else b"p:"
            group.keys[key] = state + outcome.encode()
            self.count(kind, 1)
        if not level[0]:
            del record.levels[rank]
        if not record.levels:
            self._hosts.delete_front(record)

    # --- hosts ------------------------------------------------------------------------------

    def host(self, host: bytes) -> HostRecord | None:
        record = self._hosts.record(host)
        return record if record is not None and (record.levels or record.wake) else None

    def requeue(self, host: bytes) -> None:
        self._hosts.requeue(host)

    def park(self, host: bytes, wake: float, reason: str, name: str = "") -> None:
        self._hosts.park(host, wake, reason, name)

    def wake(self, host: bytes) -> None:
        self._hosts.wake(host)

    def parked(self) -> Iterator[tuple[float, bytes]]:
        return self._hosts.parked()

    # --- reading ----------------------------------------------------------------------------

    def read_run(self, host: bytes, limit: int) -> list[Entry]:
        record = self._hosts.record(host)
        if record is None:
            return []
        entries: list[Entry] = []
        run = self._family["run"]
        cursor = None
        for rank, (count, low) in sorted(record.levels.items()):
            first = RUN.pack(host, rank, low)
            if count == 1 and (only := run.get(first)) is not None:
                entries.append(Entry(rank, low, only))  # most hosts are small, and an iterator is dear
                if len(entries) >= limit:
                    break
                continue
            if cursor is None:
                # The iterator points into the options: they must live as long as it does.
                options = ReadOptions()
                options.set_iterate_upper_bound(RUN.pack(host, max(record.levels) + 1, 0))
                options.set_prefix_same_as_start(True)
                cursor = run.iter(options)
            cursor.seek(first)  # past what has been deleted
            while len(entries) < limit and cursor.valid():
                _, found, seq = RUN.unpack(cursor.key())
                if found != rank:
                    break
                entries.append(Entry(rank, seq, cursor.value()))
                cursor.next()
            if len(entries) >= limit:
                break
        return entries

    def read_front(self, rank: int, after: int, limit: int) -> list[tuple[int, bytes]]:
        start = after + 1
        since, until = self._nothing_between.get(rank, (-1, 0))
        if since == after:
            start = until  # what was deleted there need not be crossed again
        options = ReadOptions()
        options.set_iterate_upper_bound(FRONT.pack(rank + 1, 0))
        pairs = self._family["front"].items(from_key=FRONT.pack(rank, start), read_opt=options)
        found = [(FRONT.unpack(key)[1], host) for key, host in islice(pairs, limit)]
        self._hosts.load([host for _, host in found])
        if not found:
            self._nothing_between[rank] = (after, max(after + 1, self._landed_seq))
        return found

    # --- contacts and tables ----------------------------------------------------------------

    def contact(self, host: bytes) -> Contact | None:
        data = self._family["contact"].get(host)
        return decode_contact(data) if data is not None else None

    def put_contact(self, host: bytes, contact: Contact) -> None:
        self._family["contact"].put(host, encode_contact(contact))

    def get(self, table: str, key: bytes) -> bytes | None:
        row = table_key(table, key)
        for group in self._groups.uncommitted():
            if row in group.rows:
                return group.rows[row]
        data: bytes | None = self._tables.get(row)
        return data

    def get_many(self, wanted: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        rows = [table_key(table, key) for table, key in wanted]
        found: list[bytes | None] = self._tables[rows]
        for group in reversed(list(self._groups.uncommitted())):
            written = group.rows
            if not written.keys().isdisjoint(rows):
                found = [written.get(row, known) for row, known in zip(rows, found, strict=True)]
        return found

    def put(self, table: str, key: bytes, value: bytes) -> None:
        group = self._groups.open
        group.rows[table_key(table, key)] = value
        group.bytes += len(value)

    def delete(self, table: str, key: bytes) -> None:
        self._groups.open.rows[table_key(table, key)] = None

    # --- groups -----------------------------------------------------------------------------

    @property
    def open_pages(self) -> int:
        return self._groups.open.pages

    @property
    def open_bytes(self) -> int:
        return self._groups.open.bytes

    @property
    def dirty(self) -> bool:
        return bool(self._groups.open)

    @property
    def landing(self) -> bool:
        return self._groups.landing is not None

    def count(self, name: str, by: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + by

    def seal(self, lengths: dict[str, int] | None = None) -> Group | None:
        group = self._groups.open
        grown = bool(lengths) and {**self.file_lengths, **(lengths or {})} != self.file_lengths
        if self.landing or not (group or grown):
            return None
        batch, handle = group.batch, self._handle
        for key, state in group.keys.items():
            batch.put(key, state, handle["seen"])
        for host, record in group.hosts.items():
            if record.levels or record.wake:
                batch.put(host, encode_host(record), handle["host"])
            else:
                batch.delete(host, handle["host"])
        for row, value in group.rows.items():
            if value is None:
                batch.delete(row, handle["table"])
            else:
                batch.put(row, value, handle["table"])
        self.file_lengths.update(lengths or {})
        batch.put(b"m", msgpack.packb({
            "seq": self._groups.next_seq, "front_marks": self.front_marks, "file_lengths": self.file_lengths,
            "counts": self.counts,
        }))
        return self._groups.seal()

    def write(self, group: Group, sync_files: Callable[[], None]) -> None:
        fault("before_files")
        sync_files()
        fault("before_batch")
        self._db.write(group.batch)
        fault("after_batch")
        if self._sync:
            self._db.flush_wal(True)
        fault("after_sync")

    def landed(self, group: Group) -> Iterable[bytes]:
        self._recent.add(group.keys)
        self._landed_seq = group.next_seq
        self._groups.landing = None
        return group.hosts

    # --- the whole --------------------------------------------------------------------------

    def items(self, family: str) -> Iterator[tuple[Any, Any]]:
        if family == "meta":
            yield from self._meta().items()
            return
        read_key, read_value = DECODERS[family]
        everything = ReadOptions()
        everything.set_total_order_seek(True)
        for key, value in self._family[family].items(read_opt=everything):
            yield read_key(key), read_value(value)

    def _meta(self) -> dict[str, Any]:
        data = self._db.get(b"m")
        meta: dict[str, Any] = msgpack.unpackb(data, strict_map_key=False) if data is not None else {}
        return meta

    def free_bytes(self) -> int:
        return shutil.disk_usage(self._path).free

    def close(self) -> None:
        """Gives the lock back; what was not committed is as after a crash."""
        # RocksDB's lock is held until every handle has been collected.
        self._family.clear()
        self._handle.clear()
        del self._seen, self._tables, self._run_handle
        del self._hosts
        self._groups = Groups(0)
        self._db.close()
        del self._db


def open_storage(directory: Path, *, sync: bool = True, patience: float = 0.0) -> EmbeddedStorage:
    """Opens the state; waits up to `patience` seconds for a dying predecessor's lock."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return EmbeddedStorage(directory, sync=sync)
        except StorageError as error:
            if "another process" not in str(error) or time.monotonic() >= deadline:
                raise
        time.sleep(0.05)
