"""How much of a host is copied? Its share of duplicates lowers its priority.

What is offered for the host, from wherever it is linked, waits in a lower front queue (`lower` is a rule of
the prioritiser), and where it waits already, the better hosts beside it are drawn first (`steps_down`).
Old pages fade: when a host has `WINDOW` pages on record both counts are halved. The counts are durable;
which hosts sink is known from their next page on, so that offering a link reads nothing.
"""

from __future__ import annotations

from crawlerproj.documents.tables import Tables
from crawlerproj.items import Candidate
from crawlerproj.urls.hosts import host_of

WINDOW = 1000
ENOUGH_PAGES = 20  # below, a share says nothing yet
SINKING_HOSTS = 100_000  # known at a time; of more, those longest known are forgotten till their next page

_TABLE = "fp-shares"


class DuplicateShare:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._sinking: dict[str, int] = {}

    def count(self, host: str, is_duplicate: bool) -> int:
        """Counts a page; gives the pages on record."""
        pages, duplicates = self._counts(host)
        pages, duplicates = pages + 1, duplicates + is_duplicate
        if pages >= WINDOW:
            pages, duplicates = pages // 2, duplicates // 2
        self._tables.put(_TABLE, host.encode(), pages.to_bytes(2, "big") + duplicates.to_bytes(2, "big"))
        self._sinking.pop(host, None)
        if steps := _steps(pages, duplicates):
            self._sinking[host] = steps
            if len(self._sinking) > SINKING_HOSTS:
                del self._sinking[next(iter(self._sinking))]
        return pages

    def of(self, host: str) -> float:
        """Between 0 and 1; 0 while the host has too few pages to tell."""
        pages, duplicates = self._counts(host)
        return _share(pages, duplicates)

    def steps_down(self, host: str) -> int:
        """By how many front queues the host sinks: 1 from a half on, 2 from nine tenths on."""
        return self._sinking.get(host, 0)

    def lower(self, candidate: Candidate, group: str) -> int:
        """A rule of the prioritiser: how many queues to move a candidate up, hence never above 0."""
        return -self.steps_down(host_of(candidate.url)) if self._sinking else 0

    def _counts(self, host: str) -> tuple[int, int]:
        row = self._tables.get(_TABLE, host.encode())
        return (int.from_bytes(row[:2], "big"), int.from_bytes(row[2:], "big")) if row else (0, 0)


def _share(pages: int, duplicates: int) -> float:
    return duplicates / pages if pages >= ENOUGH_PAGES else 0.0


def _steps(pages: int, duplicates: int) -> int:
    share = _share(pages, duplicates)
    return 2 if share >= 0.9 else 1 if share >= 0.5 else 0
