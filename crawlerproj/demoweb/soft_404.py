"""Dead links that are answered 200 with one and the same text, as many sites do."""

from functools import cached_property

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages


class Soft404(OwnPages):
    """Meets a share of the pages; whatever a host that has one does not know, it shows the same text."""

    name = "soft_404"
    default_share = 0.01

    def own_page(self, host: int, page: int, query: str) -> Answer:
        return self._gone(host)

    def missing(self, host: int) -> Answer | None:
        return self._gone(host) if host in self._hosts else None

    def _gone(self, host: int) -> Answer:
        return Answer(200, "This page could not be found", links=("/",), text_key=f"gone {host}")

    @cached_property
    def _hosts(self) -> frozenset[int]:
        return frozenset(host for host, _ in self.met())
