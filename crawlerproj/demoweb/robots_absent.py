"""Hosts whose robots.txt is answered 4xx: all is allowed (RFC 9309, 2.3.1.3)."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.nuisance import Nuisance

_STATUSES = (400, 401, 403, 404, 410, 451)


class RobotsAbsent(Nuisance):
    """Meets a share of the hosts, of those that have no rules."""

    name = "robots_absent"
    default_share = 0.1

    def robots_answer(self, host: int, path: str, lines: list[str]) -> Answer | None:
        if lines or not self.meets_host(host):
            return None
        choice = int(self.layout.chance(self.salt + 1, host) * len(_STATUSES))
        return Answer(_STATUSES[choice], "No robots.txt for you")
