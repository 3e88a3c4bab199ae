"""Idle connections by host: a host that goes to another worker must not keep one here.

libcurl keeps connections for the next fetch and has no way to close those of one host. They are shut at
the socket instead: the server sees the end at once, and libcurl finds a dead connection and drops it. A
descriptor may have been closed and given to another connection meanwhile: its local port tells.
"""

from __future__ import annotations

import os
import socket
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakKeyDictionary

_LIMIT = 4096  # more than libcurl keeps

_connections: WeakKeyDictionary[object, OpenConnections] = WeakKeyDictionary()


class OpenConnections:
    def __init__(self) -> None:
        # host and port -> descriptor, local port
        self._open: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def kept(self, place: str, descriptor: int, local_port: int) -> None:
        """A fetch from `place` has ended and left a connection."""
        self._open[place] = (descriptor, local_port)
        self._open.move_to_end(place)
        if len(self._open) > _LIMIT:
            self._open.popitem(last=False)

    def hang_up(self, chosen: Callable[[str], bool]) -> int:
        """Ends the idle connections to chosen places; says how many there were."""
        gone = [place for place in self._open if chosen(place)]
        return sum(_shut(*self._open.pop(place)) for place in gone)


def connections_of(crawler: object) -> OpenConnections:
    """The same for every component of a crawler."""
    found = _connections.get(crawler)
    if found is None:
        found = _connections[crawler] = OpenConnections()
    return found


def _shut(descriptor: int, local_port: int) -> bool:
    with suppress(OSError, IndexError), socket.socket(fileno=os.dup(descriptor)) as connection:
        if connection.getsockname()[1] == local_port:
            connection.shutdown(socket.SHUT_RDWR)
            return True
    return False
