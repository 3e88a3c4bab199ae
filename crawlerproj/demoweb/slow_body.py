"""Hosts with pages that come drop by drop: some end, some never do."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_hosts import OwnHosts

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!DOCTYPE html><p>"
_DROP = b"drop by drop "
_INTERVAL_SECONDS = 0.05
_DROPS = 20


class SlowBody(OwnHosts):
    """As many hosts as a share of the ordinary ones: a page of one second, and one without end."""

    name = "slow_body"
    default_share = 0.01
    cap = 3

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        if path == "/":
            return Answer(200, "Slow stories", links=("/second.html", "/for-ever.html"))
        if path not in ("/second.html", "/for-ever.html"):
            return Answer(404, "Not found")
        drops = _DROPS if path == "/second.html" else 0
        return Answer(200, wire=Wire(_HEAD, "drip", _DROP, _INTERVAL_SECONDS, drops))
