"""Hosts that accept connections and say nothing, or nothing after the first bytes."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_hosts import OwnHosts

_BEGUN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<!DOCTYPE html>"


class Hanging(OwnHosts):
    """As many hosts as a share of the ordinary ones; every second answers robots.txt, and hangs then."""

    name = "hanging"
    default_share = 0.01

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        if path == "/robots.txt" and (host - self.own.start) % 2:
            return Answer(404, "No rules")
        data = b"" if path == "/robots.txt" or (host - self.own.start) % 4 < 2 else _BEGUN
        return Answer(0, wire=Wire(data, "hang"))
