"""How the embedded engine spells what it keeps: keys and values as bytes.

Big-endian keys, so that their order is the order of reading; g = 8-byte host key,
rank = F - priority:

    seen     url key (16)          q | d:outcome | p:reason
    run      g, rank (1), seq (8)  candidate
    front    rank (1), seq (8)     g
    host     g                     HostRecord
    contact  g                     Contact
    parked   wake in ms (8), g     reason
    table    name, 0, key          robots rules and whatever else the rooms keep
    default  m                     next seq, front marks, file lengths, counts
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import msgpack

from crawlerproj.storage.interface import NEVER, Contact, HostRecord

FAMILIES = ("seen", "run", "front", "host", "contact", "parked", "table")
RUN = struct.Struct(">8sBQ")
FRONT = struct.Struct(">BQ")
PARKED = struct.Struct(">Q8s")

_BANNED = 1 << 62  # a wake time beyond all others
_pack = msgpack.Packer().pack  # made once: half of a small packb is the making


def whole_milliseconds(wake: float) -> float:
    """A wake time as its key can tell it: never earlier than asked, and never 0, which means "not parked"."""
    return wake if wake == NEVER else max(1, math.ceil(wake * 1000)) / 1000


def parked_key(wake: float, host: bytes) -> bytes:
    return PARKED.pack(_BANNED if wake == NEVER else round(wake * 1000), host)


def parked_pair(key: bytes) -> tuple[float, bytes]:
    wake, host = PARKED.unpack(key)
    return (NEVER if wake == _BANNED else wake / 1000), host


def encode_host(record: HostRecord) -> bytes:
    packed: bytes = _pack((record.name, record.front, record.wake, record.reason, record.levels))
    return packed


def decode_host(data: bytes) -> HostRecord:
    name, front, wake, reason, levels = msgpack.unpackb(data, strict_map_key=False)
    return HostRecord(name, tuple(front) if front else None, wake, reason, levels)


def encode_contact(contact: Contact) -> bytes:
    packed: bytes = _pack((
        contact.started, contact.ended, contact.ready_at, contact.delay, contact.failures,
        contact.crawl_delay, contact.unsettled,
    ))
    return packed


def decode_contact(data: bytes) -> Contact:
    started, ended, ready_at, delay, failures, crawl_delay, unsettled = msgpack.unpackb(data, use_list=False)
    return Contact(started, ended, ready_at, delay, failures, crawl_delay, list(unsettled))


def table_key(table: str, key: bytes) -> bytes:
    return table.encode() + b"\0" + key


def _table_pair(key: bytes) -> tuple[str, bytes]:
    table, _, rest = key.partition(b"\0")
    return table.decode(), rest


def _same(data: bytes) -> bytes:
    return data


DECODERS: dict[str, tuple[Callable[[bytes], Any], Callable[[bytes], Any]]] = {
    "seen": (_same, _same),
    "run": (RUN.unpack, _same),
    "front": (FRONT.unpack, _same),
    "host": (_same, decode_host),
    "contact": (_same, decode_contact),
    "parked": (parked_pair, bytes.decode),
    "table": (_table_pair, _same),
}
"""For each family, what makes its keys and its values readable."""
