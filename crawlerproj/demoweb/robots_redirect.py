"""Hosts whose robots.txt is elsewhere: behind one or three redirects, or at another host."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.nuisance import Nuisance

_PLACES = ("/robots.txt", "/moved/robots.txt", "/moved/again/robots.txt", "/moved/again/at-last/robots.txt")


class RobotsRedirect(Nuisance):
    """Meets a share of the hosts; one without rules may use those of the host beside it."""

    name = "robots_redirect"
    default_share = 0.05

    def robots_answer(self, host: int, path: str, lines: list[str]) -> Answer | None:
        if path not in _PLACES or not self.meets_host(host):
            return None
        kind = int(self.layout.chance(self.salt + 1, host) * 3)
        neighbour = host ^ 1
        if kind == 2 and not lines and neighbour < self.layout.hosts and not self.meets_host(neighbour):
            return Answer(301, "Moved", location=self.layout.origins[neighbour] + "/robots.txt")
        last = 3 if kind == 1 else 1
        step = _PLACES.index(path)
        return Answer(302, "Moved", location=_PLACES[step + 1]) if step < last else None
