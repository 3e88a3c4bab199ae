"""How the Redis engine spells what it keeps: short, and never pickled.

A run belongs to one host, so its entries leave out `scheme://name` where the candidate holds it: the
first byte says which scheme was cut out (1 http, 2 https, 0 nothing) and, in its upper bits, where.
"""

from __future__ import annotations

import struct
from typing import Any

import msgpack
import xxhash

from crawlerproj.storage.interface import NEVER, Contact

_SCHEMES = (b"", b"http://", b"https://")
_TIMES = struct.Struct(">dddd")


def entry_of(candidate: bytes, name: bytes) -> bytes:
    """A candidate as its run keeps it."""
    if name:
        for code in (2, 1):
            place = candidate.find(_SCHEMES[code] + name, 0, 64 + len(name))
            if 0 <= place < 64:
                end = place + len(_SCHEMES[code]) + len(name)
                return bytes((code | place << 2,)) + candidate[:place] + candidate[end:]
    return b"\0" + candidate


def candidate_of(entry: bytes, name: bytes) -> bytes:
    code, place = entry[0] & 3, (entry[0] >> 2) + 1
    if not code:
        return entry[1:]
    return entry[1:place] + _SCHEMES[code] + name + entry[place:]


def number_of(entry: bytes) -> int:
    """Names an entry of a run: the same URL, written the same way, is the same entry."""
    number: int = xxhash.xxh3_64_intdigest(entry) >> 1
    return number


def fingerprint(key: bytes) -> str:
    """The 64 bits of a URL's key that the seen test keeps, as Redis spells an integer."""
    return str(int.from_bytes(key[:8], "big", signed=True))


def encode_contact(contact: Contact) -> bytes:
    more = (contact.failures, contact.crawl_delay, contact.unsettled)
    packed: bytes = msgpack.packb(more) if any(more) else b""
    return _TIMES.pack(contact.started, contact.ended, contact.ready_at, contact.delay) + packed


def decode_contact(data: bytes) -> Contact:
    started, ended, ready_at, delay = _TIMES.unpack_from(data)
    failures, crawl_delay, unsettled = 0, 0.0, ()
    if len(data) > _TIMES.size:
        failures, crawl_delay, unsettled = msgpack.unpackb(data[_TIMES.size:], use_list=False)
    return Contact(started, ended, ready_at, delay, failures, crawl_delay, list(unsettled))


def packed(value: Any) -> bytes:
    """As the scripts can read it: their msgpack knows no bytes, only strings."""
    data: bytes = msgpack.packb(value, use_bin_type=False)
    return data


def score_of(wake: float) -> bytes:
    return b"inf" if wake == NEVER else repr(wake).encode()


def wake_of(score: bytes) -> float:
    return NEVER if score in (b"inf", b"+inf") else float(score)


def pairs(flat: Any) -> list[tuple[bytes, bytes]]:
    """An answer of fields and values in turn, whichever way the client has read it."""
    if isinstance(flat, dict):
        return list(flat.items())
    if flat and isinstance(flat[0], (list, tuple)):
        return [(field, value) for field, value in flat]
    return list(zip(flat[::2], flat[1::2], strict=True))
