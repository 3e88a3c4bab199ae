"""Hosts beside the ordinary ones, which are bad as a whole: parent of such nuisances.

They are as many as `share` of the ordinary hosts, at least one, and have names and addresses like those.
Each is linked from the root page of one ordinary host and from another page.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.layout import Layout, mix
from crawlerproj.demoweb.nuisance import Nuisance


class OwnHosts(Nuisance, ABC):
    """`own` are the numbers of its hosts; `cap` counts the URLs of each that may be fetched."""

    truth_class = "MAY"
    cap = 2
    listens = True

    def __init__(self, layout: Layout, share: float) -> None:
        super().__init__(layout, share)
        self.own = layout.add_hosts(max(1, round(share * layout.hosts)) if share else 0)

    @abstractmethod
    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        """The answer to a path of one of its hosts."""

    def linked(self) -> Iterable[int]:
        """Those of its hosts that ordinary pages link to."""
        return self.own

    def extra_links(self, host: int, page: int) -> Iterable[str]:
        return [self.layout.origins[own] + "/" for own in self._links.get((host, page), ())]

    def may(self) -> Iterable[Family]:
        for host in self.own:
            prefix = self.layout.origins[host] + "/"
            yield Family(f"{self.name} {self.layout.names[host]}", self.cap, prefixes=(prefix,))

    @cached_property
    def _links(self) -> dict[tuple[int, int], list[int]]:
        links: dict[tuple[int, int], list[int]] = {}
        for own in self.linked():
            first, second = (mix(self.layout.seed, self.salt, own, n) for n in (1, 2))
            host = second % self.layout.hosts
            places = (first % self.layout.hosts, 0), (host, (second >> 32) % self.layout.sizes[host])
            for place in dict.fromkeys(places):
                links.setdefault(place, []).append(own)
        return links
