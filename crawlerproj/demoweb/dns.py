"""Where is each host of the demo web? DNS over UDP (RFC 1035): A for its hosts, no data for other types
of them, NXDOMAIN for other names; answers may be late, lost, failing or different each time."""

import asyncio
import ipaddress
import struct
from collections import Counter
from collections.abc import Callable
from typing import cast

from crawlerproj.demoweb.answers import Lookup

TYPE_A = 1
CLASS_IN = 1
NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NAME_ERROR = 0, 1, 2, 3
_HEADER = struct.Struct("!6H")
_AUTHORITATIVE_RESPONSE = 0x8400
_RECURSION_DESIRED = 0x0100
_RECURSION_AVAILABLE = 0x0080
_UNKNOWN = Lookup((), code=NAME_ERROR)


def read_question(query: bytes) -> tuple[str, int, int] | None:
    """Name in lower case, type, and where the question ends."""
    labels = []
    at = _HEADER.size
    while at < len(query) and 0 < query[at] < 64:
        labels.append(query[at + 1 : at + 1 + query[at]])
        at += 1 + query[at]
    if at + 5 > len(query) or query[at] != 0:
        return None
    kind = int.from_bytes(query[at + 1 : at + 3], "big")
    return b".".join(labels).decode("latin-1").lower(), kind, at + 5


def is_query(packet: bytes) -> bool:
    return len(packet) >= _HEADER.size and not packet[2] & 0x80


def response(query: bytes, lookup: Lookup) -> bytes:
    """The packet that answers a query with this."""
    identifier, flags, questions, *_ = _HEADER.unpack_from(query)
    flags = _AUTHORITATIVE_RESPONSE | _RECURSION_AVAILABLE | (flags & (0x7800 | _RECURSION_DESIRED))
    question = read_question(query) if questions == 1 else None
    if question is None:
        return _HEADER.pack(identifier, flags | FORMAT_ERROR, 0, 0, 0, 0)
    _, kind, end = question
    # 0xC00C points at the name in the question.
    records = [
        struct.pack("!HHHIH", 0xC00C, TYPE_A, CLASS_IN, lookup.ttl_seconds, 4)
        + ipaddress.IPv4Address(address).packed
        for address in (lookup.addresses if kind == TYPE_A and lookup.code == NO_ERROR else ())
    ]
    header = _HEADER.pack(identifier, flags | lookup.code, 1, len(records), 0, 0)
    return header + query[_HEADER.size : end] + b"".join(records)


class NameServer(asyncio.DatagramProtocol):
    """Asks `lookup` with the name and the number of the question for it (the first is 1)."""

    def __init__(self, lookup: Callable[[str, int], Lookup | None]) -> None:
        self._lookup = lookup
        self._asked: Counter[tuple[str, int]] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's datagram transport is no asyncio.DatagramTransport by inheritance.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, sender: tuple[str | int, int]) -> None:
        if not is_query(data):
            return
        lookup = _UNKNOWN
        if question := read_question(data):
            name, kind, _ = question
            self._asked[name, kind] += 1
            lookup = self._lookup(name, self._asked[name, kind]) or _UNKNOWN
        if lookup.is_lost:
            return
        answer = response(data, lookup)
        if lookup.delay_seconds:
            loop = asyncio.get_running_loop()
            loop.call_later(lookup.delay_seconds, self._send, answer, sender)
        else:
            self._send(answer, sender)

    def _send(self, answer: bytes, sender: tuple[str | int, int]) -> None:
        if not self._transport.is_closing():
            self._transport.sendto(answer, sender)
