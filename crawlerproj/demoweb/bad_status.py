"""Status lines that are none, and statuses that nobody knows."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_pages import OwnPages

_LINES = (
    b"HTTP/1.1 abc OK", b"200 OK", b"HTTP/9.9 200 OK", b"HTTP/1.1 99999 Much", b"HTTP/1.1", b"ICY 200 OK",
    b"HTTP/1.1 200", b"HTTP/1.1 799 Strange", b"\x00\x01\x02\x03", b"<html>no status at all</html>",
    b"HTTP/1.1 -1 Negative", b"HTTP/1.1 100 Continue",
)  # fmt: skip
_REST = (
    b"\r\nContent-Type: text/html\r\nContent-Length: 27\r\nConnection: close\r\n\r\n"
    b"<p>Which status was it?</p>"
)


class BadStatus(OwnPages):
    """Meets a share of the pages."""

    name = "bad_status"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        return Answer(0, wire=Wire(_LINES[self.code(host, page) % len(_LINES)] + _REST))
