"""Has this process stood still? It was stopped, swapped out, suspended, or it waited for shared storage.

What went wrong with a transfer meanwhile is nobody's fault: its time ran out, and the answer lay unread.
A beat that comes late tells, and one that is overdue.
"""

from __future__ import annotations

from math import inf

BEAT_SECONDS = 0.5
STILL_SECONDS = 1.0  # without a turn of the event loop; a busy loop is late too, but not by that much


class Stalls:
    """Call `beat` every BEAT_SECONDS."""

    def __init__(self, now: float) -> None:
        self._last_beat = now
        self._ended = -inf

    def beat(self, now: float) -> None:
        if self._is_late(now):
            self._ended = now
        self._last_beat = now

    def since(self, then: float, now: float) -> bool:
        """Was there one that had not ended then?"""
        return self._ended >= then or self._is_late(now)

    def _is_late(self, now: float) -> bool:
        return now - self._last_beat > BEAT_SECONDS + STILL_SECONDS
