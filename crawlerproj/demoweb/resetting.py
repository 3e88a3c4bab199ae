"""Hosts that reset every connection once they have been asked."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_hosts import OwnHosts


class Resetting(OwnHosts):
    """As many hosts as a share of the ordinary ones; every second has a robots.txt that can be read."""

    name = "resetting"
    default_share = 0.01

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        if path == "/robots.txt" and (host - self.own.start) % 2 == 0:
            return Answer(404, "No rules")
        return Answer(0, wire=Wire(then="reset"))
