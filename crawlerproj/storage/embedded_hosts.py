"""Hosts in the embedded engine: their records, their places in the front queues, and the parked ones.

A record that a group has changed is pinned by that group until it has landed; the others are kept while
they are recent.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from crawlerproj.storage.embedded_groups import Groups
from crawlerproj.storage.interface import HostRecord
from crawlerproj.storage.layout import FRONT, decode_host, parked_key, parked_pair, whole_milliseconds
from crawlerproj.storage.recent import RecentRows

_NOT_RECENT = HostRecord("")


class HostRows:
    def __init__(self, groups: Groups, family: dict[str, Any], handle: dict[str, Any], cached: int) -> None:
        self._groups = groups
        self._rows, self._parked = family["host"], family["parked"]
        self._front_handle, self._parked_handle = handle["front"], handle["parked"]
        self._recent: RecentRows[HostRecord] = RecentRows(cached)

    def record(self, host: bytes) -> HostRecord | None:
        record = self._recent.get(host, _NOT_RECENT)
        if record is not _NOT_RECENT:
            return record
        for group in self._groups.uncommitted():
            if host in group.hosts:
                return group.hosts[host]
        data = self._rows.get(host)
        record = decode_host(data) if data is not None else None
        self._recent.put(host, record)
        return record

    def load(self, hosts: list[bytes]) -> None:
        """Reads the records of hosts that will be asked for soon: together they cost less."""
        pinned = [group.hosts for group in self._groups.uncommitted()]
        missing = [host for host in hosts
                   if host not in self._recent and not any(host in each for each in pinned)]
        if missing:
            for host, data in zip(missing, self._rows[missing], strict=True):
                self._recent.put(host, decode_host(data) if data is not None else None)

    def change(self, host: bytes, name: str = "") -> HostRecord:
        """The record, to be written with the open group."""
        changed = self._groups.open.hosts
        record = changed.get(host)
        if record is None:
            record = self.record(host)
            if record is None:
                record = HostRecord(name)
                self._recent.put(host, record)
            changed[host] = record
        if name and not record.name:
            record.name = name
        return record

    # --- front entries ----------------------------------------------------------------------

    def put_front(self, host: bytes, record: HostRecord, rank: int) -> None:
        self.delete_front(record)
        seq = self._groups.take_seq()
        record.front = (rank, seq)
        self._groups.open.batch.put(FRONT.pack(rank, seq), host, self._front_handle)

    def delete_front(self, record: HostRecord) -> None:
        if record.front is not None:
            self._groups.open.batch.delete(FRONT.pack(*record.front), self._front_handle)
            record.front = None

    def requeue(self, host: bytes) -> None:
        record = self.change(host)
        best = record.best
        if best is None or record.wake:
            self.delete_front(record)
        else:
            self.put_front(host, record, best)

    # --- parking ----------------------------------------------------------------------------

    def park(self, host: bytes, wake: float, reason: str, name: str) -> None:
        record = self.change(host, name)
        self.delete_front(record)
        self._delete_parked(host, record)
        record.wake, record.reason = whole_milliseconds(wake), reason
        self._groups.open.batch.put(parked_key(record.wake, host), reason.encode(), self._parked_handle)

    def wake(self, host: bytes) -> None:
        record = self.change(host)
        self._delete_parked(host, record)
        record.wake, record.reason = 0.0, ""
        best = record.best
        if best is not None and record.front is None:
            self.put_front(host, record, best)

    def _delete_parked(self, host: bytes, record: HostRecord) -> None:
        if record.wake:
            self._groups.open.batch.delete(parked_key(record.wake, host), self._parked_handle)

    def parked(self) -> Iterator[tuple[float, bytes]]:
        changed: dict[bytes, HostRecord] = {}
        for group in self._groups.uncommitted():
            changed = {**group.hosts, **changed}
        uncommitted = sorted((record.wake, host) for host, record in changed.items() if record.wake)
        rows = map(parked_pair, self._parked.keys())
        yield from heapq.merge(uncommitted, (row for row in rows if row[1] not in changed))
