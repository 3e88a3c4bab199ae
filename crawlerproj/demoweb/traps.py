"""Families of URLs without end below `/trap/`: parent of such nuisances.

They sit on ordinary hosts, which have pages that must be fetched beside them: giving up the whole host is
no way out.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from math import ceil
from typing import ClassVar

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.layout import Layout
from crawlerproj.demoweb.nuisance import Nuisance

# Of each trap of each host: what a crawl needs to notice it (50 useless pages) and had in flight or queued.
CAP = 100
_LINK_SHARE = 0.05
_ORDER = 77  # the salt of an order of the hosts that all traps have in common


class Trap(Nuisance, ABC):
    """Meets a share of the hosts; the root and one page in twenty link into the trap."""

    truth_class = "MAY"
    cap = CAP
    # Where its hosts begin in that order: `traps=0.3` is three hosts in ten, each with one trap.
    start: ClassVar[float] = 0.0

    def __init__(self, layout: Layout, share: float) -> None:
        super().__init__(layout, share)
        order = sorted(range(layout.hosts), key=lambda host: layout.chance(_ORDER, host))
        first, end = (ceil(at * layout.hosts) for at in (self.start, self.start + share))
        met = range(first, max(end, first + 1)) if share else ()
        self._met = {order[place % layout.hosts] for place in met}

    def meets_host(self, host: int) -> bool:
        return host in self._met

    @property
    def folder(self) -> str:
        return f"/trap/{self.name}/"

    @abstractmethod
    def door(self, host: int) -> str:
        """What is linked from outside, below the folder."""

    @abstractmethod
    def inside(self, host: int, rest: str) -> Answer | None:
        """The answer to what is below the folder."""

    def extra_links(self, host: int, page: int) -> Iterable[str]:
        linked = page == 0 or self.layout.chance(self.salt + 1, host, page) < _LINK_SHARE
        if not linked or not self.meets_host(host):
            return ()
        return (self.layout.origins[host] + self.folder + self.door(host),)

    def answer(self, host: int, path: str) -> Answer | None:
        return self.inside(host, path[len(self.folder) :]) if self.is_may(host, path) else None

    def is_may(self, host: int, path: str) -> bool:
        return path.startswith(self.folder) and host < self.layout.hosts and self.meets_host(host)

    def may(self) -> Iterable[Family]:
        for host in filter(self.meets_host, range(self.layout.hosts)):
            prefix = self.layout.origins[host] + self.folder
            yield Family(f"{self.name} {self.layout.names[host]}", self.cap, prefixes=(prefix,))
