"""Hosts that come in pairs with the very same pages and relative links.

The second of a pair is known from a page of the first alone. So when a crawl meets it, the first root has
been seen, and a crawl that does not follow the links of mirrors fetches one page of it.
"""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.layout import Layout
from crawlerproj.demoweb.own_hosts import OwnHosts

PAGES = 8


class Mirrors(OwnHosts):
    """As many pairs as a share of the ordinary hosts."""

    name = "mirrors"
    default_share = 0.01

    def __init__(self, layout: Layout, share: float) -> None:
        super().__init__(layout, share)
        more = layout.add_hosts(len(self.own))
        self.own = range(self.own.start, more.stop)

    def linked(self) -> Iterable[int]:
        return self.own[::2]

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        first = host - (host - self.own.start) % 2
        paths = ["/", *(f"/leaf-{number}.html" for number in range(1, PAGES))]
        if path not in paths:
            return Answer(404, "Not found")
        links = paths[1:] if path == "/" else ["/"]
        if path == paths[1]:
            links = [*links, self.layout.origins[first + 1] + "/"]
        return Answer(200, f"Mirrored {path}", links=tuple(links), text_key=f"mirror {first} {path}")

    def may(self) -> Iterable[Family]:
        for host in self.own[::2]:
            prefixes = tuple(self.layout.origins[each] + "/" for each in (host, host + 1))
            yield Family(f"{self.name} {self.layout.names[host]}", PAGES + 1, prefixes=prefixes)
