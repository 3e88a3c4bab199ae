"""Bodies that are called gzip and are not: plain text, cut short, damaged, of another kind."""

import gzip
import zlib

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

_TEXT = b"<!DOCTYPE html><title>Packed</title><p>" + b"Words that were packed. " * 200
_PACKED = gzip.compress(_TEXT, mtime=0)
_BODIES = (
    _TEXT,
    _PACKED[: len(_PACKED) // 2],
    _PACKED[:20] + b"\xff\x00\xff\x00" + _PACKED[24:],
    _PACKED[:-8] + b"\x00" * 8,
    zlib.compress(_TEXT),
    b"",
    _PACKED + b"and more",
)


class BadGzip(OwnPages):
    """Meets a share of the pages; the answer says gzip whatever the client accepts."""

    name = "bad_gzip"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        body = _BODIES[self.code(host, page) % len(_BODIES)]
        return Answer(200, body=body, headers=(("Content-Encoding", "gzip"),))
