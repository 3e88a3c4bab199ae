"""URLs and hosts: offers, settlements, runs and front queues, as one worker sees them.

Offers cost no round trip: what the cache of recent keys does not know joins the group, and the server
decides when the group is written whether it was new; `offer` says how many seemed so, and `counts` are
put right when the group lands.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import msgpack

from crawlerproj.storage.interface import Entry, HostRecord, Offer, Settlement
from crawlerproj.storage.layout import whole_milliseconds
from crawlerproj.storage.redis.groups import Change, Group
from crawlerproj.storage.redis.hosts import Hosts, Known, read_entries, read_info
from crawlerproj.storage.redis.leases import Leases
from crawlerproj.storage.redis.line import Line
from crawlerproj.storage.redis.wire import entry_of, fingerprint, number_of, pairs, wake_of

_QUEUED = b"q"
_AHEAD = 8  # entries of a run that are read together with its front entry
_PAGE = 500
NOWHERE = -1  # the partition of a host that is placed by its name, while the name is not known


class Queues:
    """What is queued and for whom. The line, the leases and the group in hand belong to the engine."""

    line: Line
    leases: Leases
    counts: dict[str, int]

    def __init__(self, crawl: str, partitions: int, ranks: int,
                 partition_of: Callable[[bytes, str], int] | None, hosts_cached: int,
                 recent_keys: int) -> None:
        self.crawl, self.partitions, self.ranks = crawl, partitions, ranks
        self._chosen = partition_of  # None: by hash
        self.held: Container[bytes] = frozenset()
        self._group = Group()
        self._landing: Group | None = None
        self._hosts = Hosts(hosts_cached, self._in_use)
        self._recent: OrderedDict[bytes, None] = OrderedDict()
        self._recent_keys = recent_keys
        self._sequences: dict[int, bytes] = {}
        self.sees_all = False  # for whoever only looks: parked hosts of all partitions, not the owned ones

    def prefix(self, partition: int) -> bytes:
        return f"{self.crawl}:{{{partition}}}:".encode()

    def place(self, partition: int) -> bytes:
        """The key that stands for a partition in a call."""
        return self.prefix(partition) + b"m"

    def partition_of(self, host: bytes, name: str = "") -> int:
        known = self._hosts.get(host)
        if known is not None and known.partition != NOWHERE:
            return known.partition
        if self._chosen is None:
            return int.from_bytes(host, "big") % self.partitions
        return self._chosen(host, name) if name else NOWHERE

    def _possible(self, host: bytes) -> Sequence[int]:
        """The partitions in which the host may be."""
        partition = self.partition_of(host)
        return range(self.partitions) if partition == NOWHERE else [partition]

    def count(self, name: str, by: int) -> None:
        self.counts[name] = self.counts.get(name, 0) + by
        self._group.counts[name] = self._group.counts.get(name, 0) + by

    # --- offers -----------------------------------------------------------------------------

    def offer(self, offers: Sequence[Offer]) -> int:
        new = 0
        for offer in offers:
            if self._seems_new(offer.key):
                self._enqueue(offer)
                new += 1
        self.counts["offered"] = self.counts.get("offered", 0) + new
        return new

    def unseen(self, keys: Sequence[bytes]) -> set[bytes]:
        return {key for key in keys if self._seems_new(key)}

    def _seems_new(self, key: bytes) -> bool:
        return not (key in self._recent or key in self._group.keys
                    or (self._landing is not None and key in self._landing.keys))

    def _enqueue(self, offer: Offer) -> None:
        partition = self.partition_of(offer.host, offer.name)
        self._group.keys[offer.key] = _QUEUED
        self._group.bytes += len(offer.candidate)
        self._group.offer(partition, offer.host, offer.name, offer.rank, offer.key,
                          entry_of(offer.candidate, offer.name.encode()))
        known = self._hosts.get(offer.host)
        if known is None:
            return  # another's, or one that waits: its record is read when it is needed
        known.partition = partition
        self._group.touch(offer.host, known)
        known.record.levels.setdefault(offer.rank, [0, 0])[0] += 1
        known.record.name = known.record.name or offer.name

    def _remember(self, key: bytes) -> None:
        self._recent[key] = None
        if len(self._recent) > self._recent_keys:
            self._recent.popitem(last=False)

    def known(self, key: bytes, host: bytes = b"") -> bytes | None:
        """`s` for a URL that was offered and is queued or done: a fingerprint does not say which."""
        for group in (self._group, self._landing):
            if group is not None and key in group.keys:
                return group.keys[key]
        asked = self._possible(host) if host else range(self.partitions)
        answers = self.line.calls([("known", self.place(p), (fingerprint(key),)) for p in asked])
        for answer in answers:
            [state] = msgpack.unpackb(answer, raw=True)
            if state:
                self._remember(key)
                return b"s" if state == 1 else b"p:" + state
        return None

    def unknown(self, places: Sequence[tuple[bytes, bytes]]) -> set[bytes]:
        """Of some (URL key, host) the keys that were never offered, in one round trip."""
        asked: dict[int, list[bytes]] = {}
        for key, host in places:
            for partition in self._possible(host) if self._seems_new(key) else ():
                asked.setdefault(partition, []).append(key)
        answers = self.line.calls([("known", self.place(p), tuple(map(fingerprint, keys)))
                                   for p, keys in asked.items()]) if asked else []
        found = {key for keys, answer in zip(asked.values(), answers, strict=True)
                 for key, state in zip(keys, msgpack.unpackb(answer, raw=True), strict=True) if state}
        for key in found:
            self._remember(key)
        return {key for keys in asked.values() for key in keys} - found

    # --- settlements ------------------------------------------------------------------------

    def settle(self, settlement: Settlement) -> None:
        key, host, rank, seq, kind, outcome, _, candidate, taken = settlement
        group, change = self._group, self._change(host)
        record, name = change.record, change.record.name.encode()
        change.gone += (rank, entry_of(taken, name))
        group.settled.append((host, rank, seq))
        group.pages += 1
        if kind == "retry":
            change.again += (rank, entry_of(candidate, name))
            group.bytes += len(candidate)
            return
        group.keys[key] = (b"d:" if kind == "done" else b"p:") + outcome.encode()
        if kind == "parked":
            group.parked.setdefault(change.partition, []).extend((fingerprint(key), outcome))
        self.count(kind, 1)
        level = record.levels.get(rank)
        if level is not None:
            level[0] -= 1
            if level[0] <= 0:
                del record.levels[rank]
        if not record.levels:
            record.front = None

    # --- hosts ------------------------------------------------------------------------------

    def _in_use(self, host: bytes) -> bool:
        return (host in self.held or host in self._group.hosts
                or (self._landing is not None and host in self._landing.hosts))

    def host(self, host: bytes) -> HostRecord | None:
        known = self._known(host)
        return None if known.empty else known.record

    def _known(self, host: bytes) -> Known:
        return self._hosts.get(host) or self._load([host])[0]

    def _load(self, hosts: Sequence[bytes], head: int = 0) -> list[Known]:
        """Reads hosts and the heads of their runs, in one round trip."""
        found: dict[bytes, tuple[int, int, list[Any]]] = {}
        asked: dict[int, list[bytes]] = {}
        for host in hosts:
            for partition in self._possible(host):
                asked.setdefault(partition, []).append(host)
        answers = self.line.calls([("hosts", self.place(p), (self.ranks, head, *names))
                                   for p, names in asked.items()])
        for (partition, names), answer in zip(asked.items(), answers, strict=True):
            for host, info in zip(names, msgpack.unpackb(answer, raw=True), strict=True):
                told = 2 if info[1] or info[3] else 1 if info[5] else 0  # queued or parked; once contacted
                if host not in found or told > found[host][0]:
                    found[host] = told, partition if told or self._chosen is None else NOWHERE, info
        return [self._learn(host, *found[host][1:]) for host in hosts]

    def _learn(self, host: bytes, partition: int, info: list[Any]) -> Known:
        """Takes what the server says, unless a group that has not landed says more."""
        fresh = read_info(partition, info)
        fresh.ahead = read_entries(info)
        known = self._hosts.get(host)
        if known is not None and self._in_use(host):
            known.ahead = fresh.ahead
            pending = any(group is not None and host in group.hosts for group in (self._group, self._landing))
            if not pending:
                known.record.levels, known.record.front = fresh.record.levels, fresh.record.front
            elif known.record.front is None and not self._moves(host):
                known.record.front = fresh.record.front
            return known
        self._add_offered(host, fresh.record)
        self._hosts.put(host, fresh)
        return fresh

    def _add_offered(self, host: bytes, record: HostRecord) -> None:
        """A host that was not known when it was offered to: its uncommitted URLs count too."""
        for group in (self._group, self._landing):
            batches = group.offers.get(self.partition_of(host, record.name), {}) if group else {}
            for rank in range(self.ranks if batches else 0):
                batch = batches.get((host, rank))
                if batch is not None and group is self._group:
                    record.levels.setdefault(rank, [0, 0])[0] += len(batch.keys)
                    record.name = record.name or batch.name

    def _moves(self, host: bytes) -> bool:
        return any(group is not None and (change := group.hosts.get(host)) is not None and change.moves
                   for group in (self._group, self._landing))

    def _change(self, host: bytes, name: str = "") -> Change:
        known = self._known(host)
        known.record.name = known.record.name or name
        known.partition = self.partition_of(host, known.record.name)
        return self._group.touch(host, known)

    def requeue(self, host: bytes) -> None:
        change = self._change(host)
        change.requeue, change.record.front = True, None

    def park(self, host: bytes, wake: float, reason: str, name: str = "") -> None:
        change = self._change(host, name)
        change.park, change.reason, change.requeue = whole_milliseconds(wake), reason, False
        change.record.wake, change.record.reason, change.record.front = change.park, reason, None

    def wake(self, host: bytes) -> None:
        change = self._change(host)
        change.park, change.wake = None, True
        change.record.wake, change.record.reason = 0.0, ""

    def parked(self) -> Iterator[tuple[float, bytes]]:
        dirty = {**(self._landing.hosts if self._landing else {}), **self._group.hosts}
        uncommitted = sorted((c.record.wake, host) for host, c in dirty.items() if c.record.wake)
        rows = heapq.merge(*(self._parked_of(partition) for partition in self._looked_at()))
        yield from heapq.merge(uncommitted, (row for row in rows if row[1] not in dirty))

    def _looked_at(self) -> list[int]:
        return list(range(self.partitions) if self.sees_all else self.leases.held)

    def _parked_of(self, partition: int) -> Iterator[tuple[float, bytes]]:
        start = 0
        while True:
            command = ("ZRANGE", self.prefix(partition) + b"w", start, start + _PAGE - 1, "WITHSCORES")
            rows = pairs(self.line.commands(command)[0])
            self._load([host for host, _ in rows])
            yield from ((wake_of(score), host) for host, score in rows)
            if len(rows) < _PAGE:
                return
            start += _PAGE

    # --- reading ----------------------------------------------------------------------------

    def read_run(self, host: bytes, limit: int) -> list[Entry]:
        gone = {(rank, number_of(entry)) for group in (self._group, self._landing)
                if group is not None and host in group.hosts
                for rank, entry in group.hosts[host].settled()}
        known = self._hosts.get(host)
        if known is None or not known.ahead:
            known = self._load([host], limit + len(gone))[0]
        entries, known.ahead = known.ahead or [], None
        return [entry for entry in entries if entry[:2] not in gone][:limit]

    def read_front(self, rank: int, after: int, limit: int) -> list[tuple[int, bytes]]:
        found = self.read_fronts([(partition, rank, after) for partition in self.leases.held], limit)
        return [entry for entries in found for entry in entries]

    def read_fronts(self, wanted: Sequence[tuple[int, int, int]],
                    limit: int) -> list[list[tuple[int, bytes]]]:
        """Committed entries (seq, host) of several (partition, rank, after), in one round trip."""
        asked: dict[int, list[int]] = {}
        for partition, rank, after in wanted:
            asked.setdefault(partition, []).extend((rank, after))
        answers = self.line.calls([("front", self.place(p), (self.ranks, limit, _AHEAD, *cursors))
                                   for p, cursors in asked.items()]) if asked else []
        found: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        for (partition, cursors), answer in zip(asked.items(), answers, strict=True):
            for rank, entries in zip(cursors[::2], msgpack.unpackb(answer, raw=True), strict=True):
                for _, host, info in entries:
                    self._learn(host, partition, info)
                found[partition, rank] = [(int(seq), host) for seq, host, _ in entries]
        return [found[partition, rank] for partition, rank, _ in wanted]

    def reread(self, hosts: Sequence[bytes]) -> dict[bytes, HostRecord]:
        """Hosts as the server has them, but for those that a group which has not landed changes."""
        groups = [group for group in (self._group, self._landing) if group is not None]
        clear = [host for host in hosts if not any(host in group.hosts for group in groups)]
        return {host: known.record for host, known in zip(clear, self._load(clear), strict=True)}

    def arrivals(self) -> bool:
        """Has an owned partition got a new front entry since the last call? To be asked twice a second."""
        held = list(self.leases.held)
        found = self.line.commands(*(("HGET", self.place(p), "seq") for p in held)) if held else []
        news = dict(zip(held, (seq or b"" for seq in found), strict=True))
        changed = any(self._sequences.get(p, b"") != seq for p, seq in news.items())
        self._sequences = news
        return changed
