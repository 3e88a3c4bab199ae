"""Content-Length that is not the length: more than comes, less than comes, no number, two of them."""

from crawlerproj.demoweb.answers import Answer, Wire
from crawlerproj.demoweb.own_pages import OwnPages

_BODY = b"<!DOCTYPE html><title>Length</title><p>" + b"These words have a length. " * 40
_LENGTHS = ("Content-Length: {more}", "Content-Length: {less}", "Content-Length: -1", "Content-Length: many")


class WrongLength(OwnPages):
    """Meets a share of the pages."""

    name = "wrong_length"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        choice = self.code(host, page) % (len(_LENGTHS) + 1)
        if choice == len(_LENGTHS):
            lines = f"Content-Length: {len(_BODY)}\r\nContent-Length: {len(_BODY) + 7}"
        else:
            lines = _LENGTHS[choice].format(more=len(_BODY) + 500, less=len(_BODY) // 2)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{lines}\r\nConnection: close\r\n\r\n"
        return Answer(200, wire=Wire(head.encode() + _BODY))
