"""What the owner of a partition keeps in memory of its hosts: records, contacts, heads read ahead.

Others offer to the same hosts at any moment, so a record may tell too little, never too much; the
server decides when a host leaves whether it has to wait again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgpack

from crawlerproj.storage.interface import Contact, Entry, HostRecord
from crawlerproj.storage.redis.wire import candidate_of, decode_contact, number_of, wake_of

RANK = 1 << 45


@dataclass(slots=True)
class Known:
    """One host, as of the last look, with what the groups have done to it since."""

    partition: int
    record: HostRecord
    contact: Contact | None = None
    ahead: list[Entry] | None = None  # the head of its run, good for one reading

    @property
    def empty(self) -> bool:
        return not self.record.levels and not self.record.wake


def read_info(partition: int, info: list[Any]) -> Known:
    """A host as `host_info` of the scripts tells it."""
    name, levels, score, wake, why, contact, _ = info
    record = HostRecord(name.decode() if name else "")
    record.levels = {levels[i]: [levels[i + 1], 0] for i in range(0, len(levels), 2)}
    if score:
        rank, seq = divmod(int(float(score)), RANK)
        record.front = (rank, seq)
    if wake:
        record.wake = wake_of(wake)
        reason, parked_name = msgpack.unpackb(why, raw=True) if why else (b"", b"")
        record.reason, record.name = reason.decode(), record.name or parked_name.decode()
    return Known(partition, record, decode_contact(contact) if contact else None)


def read_entries(info: list[Any]) -> list[Entry]:
    name, found = info[0] or b"", info[6]
    return [Entry(found[i], number_of(found[i + 1]), candidate_of(found[i + 1], name))
            for i in range(0, len(found), 2)]


class Hosts:
    """A bounded cache that never forgets a host in use."""

    def __init__(self, limit: int, in_use: Callable[[bytes], bool]) -> None:
        self._limit, self._in_use = limit, in_use
        self._known: OrderedDict[bytes, Known] = OrderedDict()

    def get(self, host: bytes) -> Known | None:
        known = self._known.get(host)
        if known is not None:
            self._known.move_to_end(host)
        return known

    def put(self, host: bytes, known: Known) -> None:
        self._known[host] = known
        self._known.move_to_end(host)
        excess = len(self._known) - self._limit
        while excess > 0:
            oldest, kept = self._known.popitem(last=False)
            if self._in_use(oldest):
                self._known[oldest] = kept  # to be looked at again when all others have been
            excess -= 1

    def forget(self) -> None:
        """Drops what can be read again, and every head read ahead."""
        for host in list(self._known):
            if self._in_use(host):
                self._known[host].ahead = None
            else:
                del self._known[host]

    def forget_partition(self, partition: int) -> None:
        for host in [host for host, known in self._known.items() if known.partition == partition]:
            del self._known[host]
