"""Responses with ten thousand header lines, or with one that is very long."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

HEADERS = 10_000
_LONG_BYTES = 200_000


class ManyHeaders(OwnPages):
    """Meets a share of the pages."""

    name = "many_headers"
    default_share = 0.002

    def own_page(self, host: int, page: int, query: str) -> Answer:
        if self.code(host, page) & 1:
            headers = tuple((f"X-Number-{n}", "one of many") for n in range(HEADERS))
        else:
            headers = (("Set-Cookie", "crumbs=" + "c" * _LONG_BYTES),)
        return Answer(200, "Headers", headers=headers)
