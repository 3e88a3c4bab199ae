"""Hosts whose certificate is expired, signed by nobody, or made out to another name."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_hosts import OwnHosts
from crawlerproj.demoweb.tls import EXPIRED, SELF_SIGNED, WRONG_NAME

_KINDS = (EXPIRED, SELF_SIGNED, WRONG_NAME)


class TlsBad(OwnHosts):
    """As many hosts as a share of the ordinary ones: a crawl may look at them or turn away."""

    name = "tls_bad"
    default_share = 0.02

    def certificate(self, host: int) -> str | None:
        return _KINDS[(host - self.own.start) % len(_KINDS)] if host in self.own else None

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        if path == "/":
            return Answer(200, "Trust me", links=("/more.html",))
        return Answer(200, "More") if path == "/more.html" else Answer(404, "Not found")
