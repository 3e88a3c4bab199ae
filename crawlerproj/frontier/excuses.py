"""Ends of fetches that are not held against the page: how often was each URL excused?"""

from __future__ import annotations

KEPT = 10_000


class Excuses:
    """Bounded in number for each URL, so that nothing is tried for ever, and in URLs.

    When too many are known all are forgotten: a page is then tried once more than it should be, none is lost.
    """

    def __init__(self) -> None:
        self._times: dict[bytes, int] = {}

    def grant(self, key: bytes, most: int) -> bool:
        """Once more for this URL? Not if it was excused `most` times."""
        times = self._times.get(key, 0)
        if times >= most:
            return False
        if len(self._times) >= KEPT:
            self._times.clear()
        self._times[key] = times + 1
        return True
