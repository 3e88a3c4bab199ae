"""URLs that were in hand when the process died: one of them may have killed it.

They are drawn one at a time, so that innocents are not parked with a culprit. One with two deaths on its
record waits until the process has lived for a while or has nothing else to do: whoever is killed again and
again, for reasons of its own, does not meet the same suspect each time.
"""

from __future__ import annotations

from crawlerproj.frontier.back_queues import Ticket

PATIENCE = 60.0  # seconds


class Suspects:
    def __init__(self, now: float) -> None:
        self.current: Ticket | None = None  # in hand, or its settlement has not landed
        self._behind: list[bytes] = []
        self._patient_until = now + PATIENCE

    @property
    def waiting(self) -> bool:
        return bool(self._behind)

    def may_be_drawn(self, host: bytes, deaths: int, now: float) -> bool:
        """Is it the turn of this host's suspect? If not, the host waits until it is told."""
        if self.current is None and (deaths < 2 or now >= self._patient_until):
            return True
        self._behind.append(host)
        return False

    def ended(self, ticket: Ticket) -> list[bytes]:
        """The hosts to look at again, if this was the suspect in hand."""
        if self.current is not ticket:
            return []
        self.current = None
        return self._told()

    def patience_is_over(self, now: float) -> list[bytes]:
        """The hosts to look at again, once the process has lived long enough."""
        return self._told() if self.current is None and now >= self._patient_until else []

    def nothing_else(self, now: float) -> list[bytes]:
        """There is nothing else to do: the hosts to look at again."""
        if self.current is not None:
            return []
        self._patient_until = min(self._patient_until, now)
        return self._told()

    def _told(self) -> list[bytes]:
        hosts, self._behind = self._behind, []
        return hosts
