"""Chunked bodies that break the rules: sizes that are none, that are wrong, that never come."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_pages import OwnPages

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
_TEXT = b"<!DOCTYPE html><title>Chunks</title><p>A body in pieces."
_BODIES = (
    b"zz\r\n" + _TEXT + b"\r\n0\r\n\r\n",
    b"10\r\n" + _TEXT + b"\r\n0\r\n\r\n",
    b"ffffffffffffffffff\r\n" + _TEXT + b"\r\n",
    b"%x\r\n%b\r\n" % (len(_TEXT), _TEXT),
    b"-5\r\n" + _TEXT,
    b"%x;%b\r\n%b\r\n0\r\n\r\n" % (len(_TEXT), b"x" * 20_000, _TEXT),
)


class BadChunks(OwnPages):
    """Meets a share of the pages."""

    name = "bad_chunks"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        return Answer(200, wire=Wire(_HEAD + _BODIES[self.code(host, page) % len(_BODIES)]))
