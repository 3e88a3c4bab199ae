"""Hosts whose robots.txt is answered 5xx: nothing is allowed (RFC 9309, 2.3.1.4)."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.own_hosts import OwnHosts

_STATUSES = (500, 502, 503, 504)


class RobotsUnreachable(OwnHosts):
    """As many hosts as a share of the ordinary ones; no page of them must ever be fetched."""

    name = "robots_unreachable"
    default_share = 0.02
    truth_class = "NEVER"

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        if path == "/robots.txt":
            return Answer(_STATUSES[(host - self.own.start) % len(_STATUSES)], "Out of order")
        return Answer(200, "You should not be here", forbidden=True)

    def never(self) -> Iterable[str]:
        return [self.layout.origins[host] + "/" for host in self.own]

    def may(self) -> Iterable[Family]:
        return ()
