"""POLITENESS_GROUP = ip: hosts at one address share one connection and one clock, beside each host's own.

A host's address is known only when the host is prepared, so its URLs wait in its own run, and the address
is asked for when the host is due: `may_contact`. Where another host has it, or it still rests, the host is
held; those held for an address take turns. The contact with an address is on record like that with a host,
so the clock outlives the process.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any, Final

import xxhash

from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.storage.interface import Contact

# A host whose turn has come may have nothing left to ask for: so long after it, the next one's has come.
_TURN_SECONDS: Final = 0.05
_CLOCKS_KEPT: Final = 65_536


@dataclass(slots=True)
class _Clock:
    contact: Contact
    ready_at: float
    holder: bytes | None = None  # the host that is being fetched from there
    waiting: dict[bytes, None] = field(default_factory=dict)  # hosts held, in order
    has_turn: bool = False  # a turn is in the heap


class AddressFrontier(Frontier):
    """For one worker: others would have to agree on addresses, which each looks up for itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._clocks: dict[str, _Clock] = {}
        self._granted: dict[bytes, str] = {}  # host -> the address it was given, until its release
        self._turns: list[tuple[float, str]] = []

    def may_contact(self, host: bytes, address: str, now: float) -> bool:
        """Is nobody at the address, and its rest over? If not, hold the host: it is resumed in its turn."""
        clock = self._clock(address, now)
        if clock.holder is None and clock.ready_at <= now:
            self._granted[host] = address
            return True
        clock.waiting[host] = None
        self._next_turn(clock, address)
        return False

    def take(self, now: float) -> Ticket | None:
        while self._turns and self._turns[0][0] <= now:
            _, address = heapq.heappop(self._turns)
            clock = self._clocks[address]
            clock.has_turn = False
            if clock.holder is None and clock.ready_at <= now:
                host = next(iter(clock.waiting))
                del clock.waiting[host]
                self.resume(host)
            self._next_turn(clock, address, now + _TURN_SECONDS)
        return super().take(now)

    def next_due(self) -> float | None:
        due = super().next_due()
        if not self._turns:
            return due
        return self._turns[0][0] if due is None else min(due, self._turns[0][0])

    def begin(self, ticket: Ticket, now: float) -> None:
        super().begin(ticket, now)
        address = self._granted.get(ticket.host)
        if address is not None:
            clock = self._clock(address, now)
            clock.holder = ticket.host
            clock.contact.started, clock.contact.ended = now + self._offset, 0.0
            self.storage.put_contact(_key(address), clock.contact)

    def release(self, host: bytes, now: float, delay: float, failures: int = 0,
                crawl_delay: float = 0.0) -> None:
        super().release(host, now, delay, failures, crawl_delay)
        address = self._granted.pop(host, None)
        if address is None:
            return
        clock, ended = self._clocks[address], now + self._offset
        clock.holder, clock.ready_at = None, now + delay
        clock.contact = Contact(clock.contact.started, ended, ended + delay, delay)
        self.storage.put_contact(_key(address), clock.contact)
        self._next_turn(clock, address)

    def _next_turn(self, clock: _Clock, address: str, not_before: float = 0.0) -> None:
        """One turn is enough: it, or the release of whoever holds the address, makes the next."""
        if clock.holder is None and clock.waiting and not clock.has_turn:
            clock.has_turn = True
            heapq.heappush(self._turns, (max(clock.ready_at, not_before), address))

    def _clock(self, address: str, now: float) -> _Clock:
        clock = self._clocks.get(address)
        if clock is None:
            if len(self._clocks) >= _CLOCKS_KEPT:
                # What is on record need not be kept here as well.
                self._clocks = {each: known for each, known in self._clocks.items()
                                if known.holder or known.has_turn}
            contact = self.storage.contact(_key(address)) or Contact()
            clock = self._clocks[address] = _Clock(contact, self._contacts.ready_at(contact, now))
        return clock


def _key(address: str) -> bytes:
    """Where the contact with an address is kept, among those with hosts."""
    key: bytes = xxhash.xxh3_64_digest(f"ip {address}".encode())
    return key
