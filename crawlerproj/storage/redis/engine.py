"""`RedisStorage`: the storage interface over Redis, for one worker of a crawl (keys: the package).

The worker offers to any partition and owns some. Reads go over one line, from the event loop's thread;
groups over another, from the commit thread. Contacts are sent without waiting: their bytes leave this
process before the request they announce does.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

from redis.exceptions import ResponseError

from crawlerproj.faults import fault
from crawlerproj.storage.interface import Contact, Pause
from crawlerproj.storage.redis import listing
from crawlerproj.storage.redis.cluster import line_to
from crawlerproj.storage.redis.groups import Group
from crawlerproj.storage.redis.leases import Leases
from crawlerproj.storage.redis.queues import NOWHERE, Queues
from crawlerproj.storage.redis.roster import Roster
from crawlerproj.storage.redis.start_urls import StartUrls
from crawlerproj.storage.redis.tables import RowCache, Tables
from crawlerproj.storage.redis.wire import encode_contact
from crawlerproj.storage.redis.writer import RESEND_SECONDS, Writer

_STEP_SECONDS = 0.05
_READ_AHEAD = 10_000  # rows
_LONG_DELAY = 30.0  # seconds


class RedisStorage(Queues):
    """One worker's view of a crawl. Belongs to one thread, but for `write`."""

    def __init__(self, client: Any, crawl: str, worker: str, *, partitions: int = 64, ranks: int = 8,
                 table_slices: int = 4, ttl: float = 10.0, margin: float = 1.0, grace: float | None = None,
                 partition_of: Callable[[bytes, str], int] | None = None,
                 hosts_cached: int = 100_000, recent_keys: int = 200_000, timeout: float = 5.0,
                 patience: float | None = None, own_tables: Container[str] = frozenset(),
                 start_urls: str = "") -> None:
        super().__init__(crawl, partitions, ranks, partition_of, hosts_cached, recent_keys)
        self.worker = worker
        self.line = line_to(client, timeout=timeout, restarted=self._on_restart, answered=self._on_contact)
        self.leases = Leases(self.line, worker, self.place, ttl=ttl, margin=margin, grace=grace)
        self._writer = Writer(client, self.leases, worker, ranks, self.place, timeout=max(timeout, 30.0))
        self.tables = Tables(self.line, crawl, table_slices)
        self._rows = RowCache(own_tables)
        self.start_urls = StartUrls(self.line, start_urls or f"{crawl}:start_urls")
        self.roster = Roster(self.line, crawl, ttl)
        self.front_marks: dict[int, int] = {}  # not needed: an emptied queue leaves nothing to cross
        self._contacts: OrderedDict[bytes, tuple[float, bool, int, bytes]] = OrderedDict()
        self._contacts_owed = False
        self._patience = ttl if patience is None else patience
        self._away_since = 0.0  # since when no row could be read
        self._free = 1 << 62
        self._number, self.file_lengths, self.counts = listing.meta(self)

    # --- leases -----------------------------------------------------------------------------

    def claim(self, partition: int) -> bytes | None:
        """The fence; None if another worker holds the partition, or the server has just come up."""
        fence = self.leases.claim(partition)
        if fence is not None:  # others may have changed everything since it was last ours
            self._hosts.forget_partition(partition)
            self._group.forget_partition(partition)
            self._rows.clear()
        return fence

    def unclaimed(self, partitions: Sequence[int]) -> list[int]:
        """Those nobody holds, or only a former self of this worker."""
        found = self.line.commands(*(("GET", self.prefix(p) + b"lease") for p in partitions))
        mine = self.worker.encode()
        return [p for p, lease in zip(partitions, found, strict=True)
                if lease is None or lease.split(b":", 2)[2] == mine]

    def renew(self) -> set[int]:
        """Renews every lease; gives the partitions that are lost and not yet forgotten by `abandoned`."""
        return self.leases.renew()

    def abandoned(self, partition: int) -> None:
        """The frontier has let a lost partition go."""
        self.leases.lost.discard(partition)
        self._hosts.forget_partition(partition)
        self._group.forget_partition(partition)
        self._rows.clear()

    def release(self, partition: int) -> None:
        """Gives a drained partition back, when its last group has landed."""
        self.leases.release(partition)
        self._hosts.forget_partition(partition)

    def may_fetch(self, host: bytes, name: str = "") -> bool:
        """Is the host this worker's to contact, now? To be asked again just before bytes leave."""
        partition = self.partition_of(host, name)
        if partition == NOWHERE:
            try:
                partition = self._known(host).partition
            except Pause:
                return False
        return self.leases.valid(partition)

    def server_time(self) -> float:
        [(seconds, microseconds)] = self.line.commands(("TIME",))
        return int(seconds) + int(microseconds) / 1e6

    @property
    def trouble(self) -> str:
        """Why the crawl waits for Redis; empty while all is well."""
        return self._writer.trouble or self.line.trouble

    # --- contacts and tables ----------------------------------------------------------------

    def contact(self, host: bytes) -> Contact | None:
        return self._known(host).contact

    def put_contact(self, host: bytes, contact: Contact) -> None:
        """A contact that begins and cannot be sent is a `Pause`: no request may leave. What is added to one
        that goes on, or ends it, is written when Redis answers again."""
        data, partition = encode_contact(contact), self.partition_of(host)
        known = self._hosts.get(host)
        if known is not None:
            known.contact = contact
        goes_on = bool(contact.started) and not contact.ended
        begins = goes_on and not self._announced(host, data)
        self._keep_contact(host, goes_on, partition, data)
        fence = self.leases.fence(partition)
        if fence is None:
            if begins:
                raise Pause(f"partition {partition} belongs to another worker")
            return
        try:
            if self._contacts_owed:
                self._contacts_owed = False
                self.line.reload()
                self._rewrite_contacts()
            # An end may wait for the next call: without it, the host would be left alone for longer. A long
            # delay is another matter.
            send = self.line.send if begins or contact.delay > _LONG_DELAY else self.line.send_later
            send((partition, fence), "contact", self.place(partition), fence, host, data)
        except Pause:
            self._contacts_owed = True
            if begins:
                raise

    def _announced(self, host: bytes, data: bytes) -> bool:
        """Was this contact written before? It begins with the time at which it started."""
        _, goes_on, _, before = self._contacts.get(host, (0.0, False, 0, b""))
        return goes_on and before[:8] == data[:8]

    def _keep_contact(self, host: bytes, goes_on: bool, partition: int, data: bytes) -> None:
        """Contacts of the last seconds, and those going on: a restarted server may have lost them."""
        now, kept = time.monotonic(), self._contacts
        kept[host] = (now, goes_on, partition, data)
        kept.move_to_end(host)
        for _ in range(2):
            oldest = next(iter(kept))
            when, going_on, *_ = kept[oldest]
            if when > now - RESEND_SECONDS:
                break
            if going_on:
                kept.move_to_end(oldest)
            else:
                del kept[oldest]

    def _on_contact(self, lease: tuple[int, bytes], answer: Any) -> None:
        if isinstance(answer, ResponseError) and "FENCED" in str(answer):
            self.leases.lose(*lease)
        elif isinstance(answer, Exception):
            self._contacts_owed = True  # the scripts were flushed, say

    def _on_restart(self) -> None:
        """The server may have lost its last seconds: nothing cached can be trusted."""
        self._recent.clear()
        self._hosts.forget()
        self._rows.clear()
        self._writer.resend()
        self.leases.server_restarted()
        self.leases.renew()
        self._rewrite_contacts()

    def _rewrite_contacts(self) -> None:
        for host, (_, _, partition, data) in list(self._contacts.items()):
            fence = self.leases.fence(partition)
            if fence is not None:
                self.line.send((partition, fence), "contact", self.place(partition), fence, host, data)

    def get(self, table: str, key: bytes) -> bytes | None:
        return self.get_many([(table, key)])[0]

    def get_many(self, wanted: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        """Rows of tables, uncommitted groups included, in one round trip."""
        found: dict[tuple[str, bytes], bytes | None] = {}
        for group in (self._landing, self._group):
            if group is not None:
                found.update((row, group.rows[row]) for row in wanted if row in group.rows)
        for row in wanted:
            if row not in found and row in self._rows:
                found[row] = self._rows[row]
        missing = [row for row in wanted if row not in found]
        if missing:
            fresh = self._patiently(missing)
            found.update(zip(missing, fresh, strict=True))
            self._rows.keep(missing, fresh)
        return [found[row] for row in wanted]

    def prefetch(self, wanted: list[tuple[str, bytes]]) -> None:
        """Reads what will be asked for next, in one round trip; good until a group lands."""
        if len(self._rows.ahead) > _READ_AHEAD:
            self._rows.ahead.clear()
        self._rows.ahead.update(zip(wanted, self.get_many(wanted), strict=True))

    def _patiently(self, rows: list[tuple[str, bytes]]) -> list[bytes | None]:
        """A page in hand cannot be judged without its rows: it waits for Redis, and with it the worker."""
        while True:
            try:
                found = self.tables.read(rows)
                self._away_since = 0.0
                return found
            except Pause:
                now = time.monotonic()
                self._away_since = self._away_since or now
                # The pages after the first do not wait all over again. Nobody waits past a deadline: the loop
                # that is held up here has transfers to end and connections to close by then.
                if now >= self._away_since + self._patience or self.leases.ended():
                    raise
            time.sleep(_STEP_SECONDS)

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self._group.rows[table, key] = value
        self._group.bytes += len(value)
        self._rows.written((table, key), value)

    def delete(self, table: str, key: bytes) -> None:
        self._group.rows[table, key] = None
        self._rows.written((table, key), None)

    # --- groups -----------------------------------------------------------------------------

    @property
    def open_pages(self) -> int:
        return self._group.pages

    @property
    def open_bytes(self) -> int:
        return self._group.bytes

    @property
    def dirty(self) -> bool:
        return bool(self._group) or self._writer.owes

    @property
    def landing(self) -> bool:
        return self._landing is not None

    def seal(self, lengths: dict[str, int] | None = None) -> Group | None:
        group, merged = self._group, {**self.file_lengths, **(lengths or {})}
        grown = merged != self.file_lengths
        if self._landing is not None or not (group or grown or self._writer.owes):
            return None
        self._number += 1
        if grown:
            self.file_lengths = merged
        group.lengths = dict(merged) if merged else None
        fences = {partition: lease.fence for partition, lease in self.leases.held.items()}
        group.seal(self._number, fences, self.held, self.prefix, self.tables.place)
        self._landing, self._group = group, Group()
        self._group.counts, group.counts = group.counts, {}  # left over if no partition is owned
        return group

    def write(self, group: Group, sync_files: Callable[[], None]) -> None:
        fault("before_files")
        sync_files()
        fault("before_batch")
        self._writer.write(group)
        fault("after_batch")
        fault("after_sync")

    def landed(self, group: Group) -> Iterable[bytes]:
        for key in group.keys:
            self._remember(key)
        self._landing = None
        self._rows.ahead.clear()  # they may have been written by this group
        touched = set(group.hosts).union(host for batches in group.offers.values() for host, _ in batches)
        for host in touched:
            known = self._hosts.get(host)
            if known is not None:
                known.ahead = None
        self.counts["offered"] = self.counts.get("offered", 0) - len(group.known)
        for host, rank, _ in group.known:
            known = self._hosts.get(host) if host in group.hosts else None
            level = known.record.levels.get(rank) if known is not None else None
            if known is not None and level is not None:
                level[0] -= 1
                if level[0] <= 0:
                    del known.record.levels[rank]
        return touched

    # --- the whole --------------------------------------------------------------------------

    def items(self, family: str) -> Iterator[tuple[Any, Any]]:
        return listing.items(self, family)

    def free_bytes(self) -> int:
        """Room left under `maxmemory`, or in the server's machine; the last answer while it is away."""
        try:
            [answer] = self.line.commands(("INFO", "memory"))
        except Pause:
            return self._free
        values = dict(line.split(":", 1) for line in _text(answer).splitlines() if ":" in line)
        limit = int(values.get("maxmemory", 0)) or int(values.get("total_system_memory", 1 << 62))
        self._free = limit - int(values["used_memory"])
        return self._free

    def close(self) -> None:
        """What was not committed is as after a crash; leases end by themselves, or by `release`."""
        self._writer.close()
        self.line.close()


def _text(answer: Any) -> str:
    return answer.decode() if isinstance(answer, bytes) else str(answer)
