"""Hosts whose robots.txt says something else each time it is read."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.nuisance import Nuisance

_PATHS = ("/changing/odd/1.html", "/changing/odd/2.html", "/changing/even/1.html", "/changing/even/2.html")


class RobotsChanging(Nuisance):
    """Meets a share of the hosts: the odd readings forbid /changing/odd/, the even ones /changing/even/.

    So these pages are MAY by their address; what was forbidden when it was fetched stands in the log.
    """

    name = "robots_changing"
    default_share = 0.03
    truth_class = "MAY"

    def robots_lines_of(self, host: int, reads: int) -> Iterable[str]:
        return (f"Disallow: {_forbidden(reads)}",) if self.meets_host(host) else ()

    def extra_links(self, host: int, page: int) -> Iterable[str]:
        if page or not self.meets_host(host):
            return ()
        return [self.layout.origins[host] + path for path in _PATHS]

    def answer(self, host: int, path: str) -> Answer | None:
        return Answer(200, f"Now and then {path}") if self.is_may(host, path) else None

    def is_forbidden(self, host: int, path: str, reads: int) -> bool:
        return path.startswith(_forbidden(reads)) and self.meets_host(host)

    def is_may(self, host: int, path: str) -> bool:
        return path in _PATHS and self.meets_host(host)

    def may(self) -> Iterable[Family]:
        urls = tuple(url for host in range(self.layout.hosts) for url in self.extra_links(host, 0))
        return (Family(self.name, len(urls), urls),) if urls else ()


def _forbidden(reads: int) -> str:
    return "/changing/odd/" if reads % 2 else "/changing/even/"
