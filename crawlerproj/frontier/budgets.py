"""How many pages of a host, and of a registered domain, may be fetched?

A host over its budget is parked without end: its URLs stay queued, and a crawl opened with a larger
budget goes on with them. Counts are rows of storage, in the group of the page they count.
"""

from __future__ import annotations

from collections import OrderedDict

from crawlerproj.storage.interface import NEVER, Storage
from crawlerproj.urls.hosts import host_of, registered_domain

HOST, DOMAIN = "host_budget", "domain_budget"
_TABLE = "pages"
_CACHED = 100_000


class Budgets:
    """0 means without limit."""

    def __init__(self, storage: Storage, host: int, domain: int) -> None:
        self._storage = storage
        self._host, self._domain = host, domain
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def over(self, url: str) -> str | None:
        """Which budget is spent, None while there is some left."""
        if self._host and self._count(_host_key(url)) >= self._host:
            return HOST
        if self._domain and self._count(_domain_key(url)) >= self._domain:
            return DOMAIN
        return None

    def spend(self, url: str) -> None:
        """A page of this URL has been fetched."""
        if self._host:
            self._add(_host_key(url))
        if self._domain:
            self._add(_domain_key(url))

    def reopen(self) -> int:
        """Wakes hosts that were parked for a budget that has grown since; says how many."""
        woken = 0
        for wake, host in list(self._storage.parked()):
            record = self._storage.host(host) if wake == NEVER else None
            if record is None or record.reason not in (HOST, DOMAIN):
                continue
            if self.over(f"http://{record.name}/") is None:
                self._storage.wake(host)
                woken += 1
        return woken

    def forget(self) -> None:
        """Others may have counted since: the rows are read anew."""
        self._counts.clear()

    def _count(self, key: bytes) -> int:
        count = self._counts.get(key)
        if count is None:
            row = self._storage.get(_TABLE, key)
            count = self._counts[key] = int.from_bytes(row, "big") if row else 0
            if len(self._counts) > _CACHED:
                self._counts.popitem(last=False)
        else:
            self._counts.move_to_end(key)
        return count

    def _add(self, key: bytes) -> None:
        count = self._count(key) + 1
        self._counts[key] = count
        self._storage.put(_TABLE, key, count.to_bytes(8, "big"))


def _host_key(url: str) -> bytes:
    return b"h" + host_of(url).encode()


def _domain_key(url: str) -> bytes:
    return b"d" + registered_domain(host_of(url)).encode()
