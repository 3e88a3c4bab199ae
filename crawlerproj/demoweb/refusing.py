"""Hosts that refuse connections: they have an address, on which nothing listens."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_hosts import OwnHosts


class Refusing(OwnHosts):
    """As many hosts as a share of the ordinary ones; nothing can be fetched from them."""

    name = "refusing"
    default_share = 0.02
    cap = 0
    listens = False

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        return Answer(404, "Nobody comes here")
