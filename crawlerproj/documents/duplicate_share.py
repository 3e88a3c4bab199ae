"""How much of a host is copied? Its share of duplicates lowers the priority of what is still queued there.

Old pages fade: when a host has `WINDOW` pages on record both counts are halved.
"""

from __future__ import annotations

from crawlerproj.documents.tables import Tables

WINDOW = 1000
ENOUGH_PAGES = 20  # below, a share says nothing yet

_TABLE = "fp-shares"


class DuplicateShare:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def count(self, host: str, is_duplicate: bool) -> int:
        """Counts a page; gives the pages on record."""
        pages, duplicates = self._counts(host)
        pages, duplicates = pages + 1, duplicates + is_duplicate
        if pages >= WINDOW:
            pages, duplicates = pages // 2, duplicates // 2
        self._tables.put(_TABLE, host.encode(), pages.to_bytes(2, "big") + duplicates.to_bytes(2, "big"))
        return pages

    def of(self, host: str) -> float:
        """Between 0 and 1; 0 while the host has too few pages to tell."""
        pages, duplicates = self._counts(host)
        return duplicates / pages if pages >= ENOUGH_PAGES else 0.0

    def steps_down(self, host: str) -> int:
        """By how many front queues the host's links sink: 1 from a half on, 2 from nine tenths on."""
        share = self.of(host)
        return 2 if share >= 0.9 else 1 if share >= 0.5 else 0

    def _counts(self, host: str) -> tuple[int, int]:
        row = self._tables.get(_TABLE, host.encode())
        return (int.from_bytes(row[:2], "big"), int.from_bytes(row[2:], "big")) if row else (0, 0)
