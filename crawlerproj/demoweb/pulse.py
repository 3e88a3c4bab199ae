"""How late may an event be noticed? The beats of the event loop bound it from the past.

What the loop notices now has happened since it came round before, however long the process had to wait for
a processor in between: a wait that the process itself cannot see. A close takes some rounds from the packet
to `connection_lost` (TLS the most), and a round has at most one beat: the oldest of `_BEATS` came before it.
"""

import asyncio
import time
from collections import deque

_BEATS = 5
_SECONDS = 0.01
_LATE = 1.5


class Pulse:
    """Beats a hundred times a second from `start` on."""

    def __init__(self) -> None:
        self._beats = deque([time.time()], maxlen=_BEATS)

    def start(self) -> None:
        self._beats.append(time.time())
        asyncio.get_running_loop().call_later(_SECONDS, self.start)

    @property
    def was_late(self) -> bool:
        """Has the loop not come round for a while?"""
        return time.time() - self._beats[0] > _LATE * _BEATS * _SECONDS

    @property
    def since(self) -> float:
        """What is noticed now has not happened before."""
        return self._beats[0]
