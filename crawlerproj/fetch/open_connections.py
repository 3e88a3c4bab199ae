"""The idle connection of each politeness group: one that must not be open beside the next is ended here.

A group has one connection. Its hosts, and the two schemes of one host, would each keep an idle one for
their own next fetch; and a group that goes to another worker must keep none. libcurl has no way to close the
connections of one host. They are shut at the socket instead: the server sees the end at once, and libcurl
finds a dead connection and drops it. One that it used within the last second it does not look at: it takes it
again, cannot send, and connects anew. `was_shut` says that this is what happened. A descriptor may have been
closed and given to another connection meanwhile: its local port tells.
"""

from __future__ import annotations

import os
import socket
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from weakref import WeakKeyDictionary

_LIMIT = 4096  # more than libcurl keeps

_connections: WeakKeyDictionary[object, OpenConnections] = WeakKeyDictionary()


class OpenConnections:
    def __init__(self) -> None:
        # group -> origin (scheme, host and port), descriptor, local port
        self._open: OrderedDict[Hashable, tuple[str, int, int]] = OrderedDict()
        self._shut: OrderedDict[str, None] = OrderedDict()  # origins, until they have a new connection

    def kept(self, group: Hashable, origin: str, descriptor: int, local_port: int) -> None:
        """A fetch for the group has ended and left a connection."""
        self._shut.pop(origin, None)
        self._open[group] = (origin, descriptor, local_port)
        self._open.move_to_end(group)
        if len(self._open) > _LIMIT:
            self._open.popitem(last=False)

    def make_way(self, group: Hashable, origin: str) -> None:
        """A fetch for the group begins: ends the idle connection to any other origin."""
        found = self._open.get(group)
        if found is not None and found[0] != origin:
            self._end(group)

    def was_shut(self, origin: str) -> bool:
        """Has the last connection there been ended here? Then nothing that is sent on it arrives."""
        return origin in self._shut

    def hang_up(self, chosen: Callable[[str], bool]) -> int:
        """Ends the idle connections to chosen places (host and port); says how many there were."""
        gone = [group for group, (origin, *_) in self._open.items() if chosen(origin.partition("://")[2])]
        return sum(map(self._end, gone))

    def _end(self, group: Hashable) -> bool:
        origin, *place = self._open.pop(group)
        ended = _shut(*place)
        if ended:
            self._shut[origin] = None
            if len(self._shut) > _LIMIT:
                self._shut.popitem(last=False)
        return ended


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
