"""Hosts whose robots.txt forbids /private/, and whose pages link there all the same."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.nuisance import Nuisance

_FOLDER = "/private/"
_LINK_SHARE = 0.2


class Robots(Nuisance):
    """Meets a share of the hosts; the root and a fifth of the other pages link to a private page each."""

    name = "robots"
    default_share = 0.3
    is_mild = True
    truth_class = "NEVER"

    def extra_links(self, host: int, page: int) -> Iterable[str]:
        linked = page == 0 or self.layout.chance(self.salt, host, page) < _LINK_SHARE
        if not linked or not self.meets_host(host):
            return ()
        return (f"{self.layout.origins[host]}{_FOLDER}{page}.html",)

    def answer(self, host: int, path: str) -> Answer | None:
        return Answer(200, title=f"Private {path}") if self.is_never(host, path) else None

    def robots_lines(self, host: int) -> Iterable[str]:
        return (f"Disallow: {_FOLDER}",) if self.meets_host(host) else ()

    def is_never(self, host: int, path: str) -> bool:
        return path.startswith(_FOLDER) and self.meets_host(host)

    def never(self) -> Iterable[str]:
        for host in filter(self.meets_host, range(self.layout.hosts)):
            for page in range(self.layout.sizes[host]):
                yield from self.extra_links(host, page)
