"""Redirects without end: every step leads to another one."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.own_pages import OwnPages

# The most that browsers and clients follow is twenty or thirty.
CAP = 32


class RedirectChains(OwnPages):
    """Meets a share of the pages."""

    name = "redirect_chains"
    default_share = 0.001

    def own_page(self, host: int, page: int, query: str) -> Answer:
        hop = query.removeprefix("hop=")
        number = int(hop) + 1 if hop.isascii() and hop.isdigit() and len(hop) < 9 else 1
        return Answer(302, "Further", location=f"{self.path(page)}?hop={number}")

    def may(self) -> Iterable[Family]:
        for host, page in self.met():
            url = self.layout.origins[host] + self.path(page)
            yield Family(f"{self.name} {url}", CAP, (url,), (f"{url}?",))
