"""Connections that are reset in the middle of a body, every time."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_pages import OwnPages

_PART = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n"
    b"<!DOCTYPE html><title>Part</title><p>This is only the"
)


class CutBodies(OwnPages):
    """Meets a share of the pages."""

    name = "cut_bodies"
    default_share = 0.003

    def own_page(self, host: int, page: int, query: str) -> Answer:
        return Answer(200, wire=Wire(_PART, "reset"))
