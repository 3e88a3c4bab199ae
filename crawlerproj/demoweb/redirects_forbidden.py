"""Redirects to what robots.txt forbids."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

_FOLDER = "/hidden/"
_LINK_SHARE = 0.1


class RedirectsForbidden(OwnPages):
    """Meets a share of the hosts, on them one page in ten; the targets must never be fetched."""

    name = "redirects_forbidden"
    default_share = 0.05

    def meets_page(self, host: int, page: int) -> bool:
        chosen = page == 1 or self.layout.chance(self.salt + 2, host, page) < _LINK_SHARE
        return 0 < page < self.layout.sizes[host] and chosen and self.meets_host(host)

    def own_page(self, host: int, page: int, query: str) -> Answer:
        return Answer(301, "Moved", location=f"{_FOLDER}{page}.html")

    def answer(self, host: int, path: str) -> Answer | None:
        return Answer(200, "Hidden") if self.is_never(host, path) else super().answer(host, path)

    def robots_lines(self, host: int) -> Iterable[str]:
        return (f"Disallow: {_FOLDER}",) if self.meets_host(host) else ()

    def is_never(self, host: int, path: str) -> bool:
        return path.startswith(_FOLDER) and self.meets_host(host)

    def never(self) -> Iterable[str]:
        return [f"{self.layout.origins[host]}{_FOLDER}{page}.html" for host, page in self.met()]
