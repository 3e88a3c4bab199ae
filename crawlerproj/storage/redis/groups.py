"""The open group of the Redis engine, and the calls it becomes when it is sealed.

A group spans partitions, so its order matters: all offers, then one fenced commit for each partition
it touches, then rows of tables. A crash in between leaves URLs offered twice, never a page that is
done before its links are known.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from crawlerproj.storage.interface import HostRecord
from crawlerproj.storage.redis.hosts import Known
from crawlerproj.storage.redis.line import Call
from crawlerproj.storage.redis.wire import fingerprint, packed, score_of

LINKS_A_CALL = 300


@dataclass(slots=True)
class Change:
    """What a group does to one host."""

    partition: int
    record: HostRecord
    gone: list[Any] = field(default_factory=list)  # rank, entry, rank, entry, …
    again: list[Any] = field(default_factory=list)  # the same, of retries
    park: float | None = None
    wake: bool = False
    requeue: bool = False
    reason: str = ""

    def settled(self) -> Iterator[tuple[int, bytes]]:
        return zip(self.gone[::2], self.gone[1::2], strict=True)

    @property
    def moves(self) -> bool:
        """Does it change the host's front entry?"""
        return self.park is not None or self.wake or self.requeue


@dataclass(slots=True)
class Batch:
    """The URLs offered for one host at one rank."""

    name: str
    held: int = 0
    keys: list[bytes] = field(default_factory=list)
    entries: list[bytes] = field(default_factory=list)


class Group:
    """What one commit will write."""

    def __init__(self) -> None:
        self.offers: dict[int, dict[tuple[bytes, int], Batch]] = {}
        self.keys: dict[bytes, bytes] = {}  # url key -> its state, as this group leaves it
        self.hosts: dict[bytes, Change] = {}
        self.rows: dict[tuple[str, bytes], bytes | None] = {}
        self.counts: dict[str, int] = {}
        self.parked: dict[int, list[str]] = {}  # partition -> fingerprint, reason, …
        self.settled: list[tuple[bytes, int, int]] = []
        self.lengths: dict[str, int] | None = None
        self.pages = 0
        self.bytes = 0
        self.number = 0
        self.offer_calls: list[Call] = []
        self.offered: list[list[tuple[bytes, int, bytes]]] = []  # of each call: host, rank, url key
        self.commits: dict[int, tuple[bytes, bytes]] = {}  # partition -> fence, packed operations
        self.row_calls: list[Call] = []
        self.known: list[tuple[bytes, int, bytes]] = []  # offers that were not new after all

    def __bool__(self) -> bool:
        return bool(self.keys or self.hosts or self.rows)

    def touch(self, host: bytes, known: Known) -> Change:
        change = self.hosts.get(host)
        if change is None:
            change = self.hosts[host] = Change(known.partition, known.record)
        return change

    def offer(self, partition: int, host: bytes, name: str, rank: int, key: bytes, entry: bytes) -> None:
        batches = self.offers.setdefault(partition, {})
        batch = batches.get((host, rank))
        if batch is None:
            batch = batches[host, rank] = Batch(name)
        batch.keys.append(key)
        batch.entries.append(entry)

    def forget_partition(self, partition: int) -> None:
        """What was done under a lease that has been lost is not to be done under the next one."""
        for host in [host for host, change in self.hosts.items() if change.partition == partition]:
            del self.hosts[host]
        self.parked.pop(partition, None)

    def seal(self, number: int, fences: Mapping[int, bytes], held: Container[bytes],
             prefix: Callable[[int], bytes], row_place: Callable[[bytes], bytes]) -> None:
        """Spells the group as calls; `fences` are those of the owned partitions."""
        self.number = number
        for name in ("done", "parked"):  # counted by the server
            self.counts.pop(name, None)
        for partition, batches in self.offers.items():
            self._seal_offers(prefix(partition) + b"m", batches, held)
        changes: dict[int, tuple[list[Any], list[Any]]] = {}
        for host, change in self.hosts.items():
            if change.partition in fences and (change.gone or change.moves):
                settled, fronts = changes.setdefault(change.partition, ([], []))
                name = change.record.name
                if change.gone:
                    settled.append((host, name, int(host in held), change.gone, change.again))
                if change.moves:
                    park = b"" if change.park is None else score_of(change.park)
                    fronts.append((host, name, park, int(change.wake), int(change.requeue), change.reason))
        if not changes and fences:
            changes[next(iter(fences))] = ([], [])  # for counts and lengths
        for partition, (settled, fronts) in changes.items():
            counts, self.counts = self.counts, {}  # counted once, in the first of them
            operations = packed((settled, fronts, counts, self.parked.get(partition, [])))
            self.commits[partition] = fences[partition], operations
        places: dict[bytes, list[Any]] = {}
        for (table, key), value in self.rows.items():
            places.setdefault(row_place(key), []).extend((table, key, False if value is None else value))
        self.row_calls = [("rows_put", place, (packed(part),))
                          for place, rows in places.items() for part in _parts(rows, 3 * LINKS_A_CALL)]

    def _seal_offers(self, place: bytes, batches: dict[tuple[bytes, int], Batch],
                     held: Container[bytes]) -> None:
        call: list[Any] = []
        named: list[tuple[bytes, int, bytes]] = []
        for (host, rank), batch in batches.items():
            for start in range(0, len(batch.keys), LINKS_A_CALL):
                part = slice(start, start + LINKS_A_CALL)
                keys, entries = batch.keys[part], batch.entries[part]
                if named and len(named) + len(keys) > LINKS_A_CALL:
                    self._add_offers(place, call, named)
                    call, named = [], []
                links: list[Any] = [None] * (2 * len(keys))
                links[::2], links[1::2] = map(fingerprint, keys), entries
                call += (host, batch.name, rank, int(host in held), len(keys), *links)
                named.extend((host, rank, key) for key in keys)
        self._add_offers(place, call, named)

    def _add_offers(self, place: bytes, call: list[Any], named: list[tuple[bytes, int, bytes]]) -> None:
        self.offer_calls.append(("offer", place, (packed(call),)))
        self.offered.append(named)

    def answered(self, answers: list[bytes]) -> None:
        """Which offers were new: the server has decided."""
        self.known = [offer for named, answer in zip(self.offered, answers, strict=True)
                      for offer, new in zip(named, answer, strict=True) if new == 0x30]


def _parts(rows: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(rows), size):
        yield rows[start:start + size]
