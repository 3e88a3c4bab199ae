"""Hosts with pages that never end, and come fast."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_hosts import OwnHosts

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!DOCTYPE html><p>"
_MORE = b"and on and on and on and on and " * 2048
_INTERVAL_SECONDS = 0.01


class EndlessBody(OwnHosts):
    """As many hosts as a share of the ordinary ones: a root page with a link to one endless page."""

    name = "endless_body"
    default_share = 0.01

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        if path == "/":
            return Answer(200, "Long stories", links=("/story.html",))
        if path != "/story.html":
            return Answer(404, "Not found")
        return Answer(200, wire=Wire(_HEAD, "drip", _MORE, _INTERVAL_SECONDS))
