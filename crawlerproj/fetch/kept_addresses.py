"""Which address each host was last fetched from: while a connection to it may be open, it is the one to use.

A host whose name has changed its address, or that has several, would otherwise see a second connection
beside the idle one. The address was checked when it was first used.
"""

from __future__ import annotations

from collections import OrderedDict

_LIMIT = 4096
_MARGIN = 2.0  # seconds; libcurl looks for connections that are too old once a second


class KeptAddresses:
    def __init__(self, idle_seconds: float) -> None:
        self._seconds = idle_seconds + _MARGIN
        self._last: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def ordered(self, place: str, addresses: list[str], now: float) -> list[str]:
        """The addresses of a place (host and port), the one with a connection first."""
        address, used = self._last.get(place, ("", 0.0))
        if not address or address == addresses[0] or now - used > self._seconds:
            return addresses
        return [address, *(other for other in addresses if other != address)]

    def used(self, place: str, address: str, now: float) -> None:
        self._last[place] = (address, now)
        self._last.move_to_end(place)
        if len(self._last) > _LIMIT:
            self._last.popitem(last=False)

    def failed(self, place: str) -> None:
        """Nobody is there any more."""
        self._last.pop(place, None)
