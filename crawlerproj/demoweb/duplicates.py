"""Pages with the very same bytes on two hosts.

Only leaves of both trees are copied, so whatever a crawl does with the links of a duplicate, it misses
nothing it must fetch. Each copy has one relative link, to an aside in its own folder: a crawl that does
not follow the links of duplicates sees one aside of each pair, whichever copy it meets first. Both asides
of a pair have the same bytes, so such a crawl loses a URL, but no text.
"""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.layout import Layout, page_number
from crawlerproj.demoweb.nuisance import Nuisance


class Duplicates(Nuisance):
    """Meets a share of the pages: page n of odd host h shows page n of host h - 1."""

    name = "duplicates"
    default_share = 0.05
    is_mild = True
    truth_class = "MAY"

    def source(self, host: int, page: int) -> tuple[int, int] | None:
        odd, original = host | 1, host & ~1
        if odd >= self.layout.hosts or page >= min(self.layout.sizes[odd], self.layout.sizes[original]):
            return None
        if not (self.layout.is_leaf(odd, page) and self.layout.is_leaf(original, page)):
            return None
        met = self.layout.chance(self.salt, odd, page) < self.share
        return (original, page) if met else None

    def relative_links(self, host: int, page: int) -> Iterable[str]:
        return (f"aside-{page}.html",) if self.source(host, page) else ()

    def answer(self, host: int, path: str) -> Answer | None:
        if not self.is_may(host, path):
            return None
        page = path.rpartition("-")[2].removesuffix(".html")
        return Answer(200, title=f"Aside {page}", text_key=f"aside {host & ~1} {page}")

    def is_may(self, host: int, path: str) -> bool:
        _, aside, number = path.rpartition("/aside-")
        page = page_number(number) if aside else None
        if page is None or self.source(host, page) is None:
            return False
        return path == _aside(self.layout, host, page)

    def may(self) -> Iterable[Family]:
        copies = [
            (host, page)
            for host in range(self.layout.hosts)
            for page in range(1, self.layout.sizes[host])
            if self.source(host, page)
        ]
        asides = (self.layout.origins[host] + _aside(self.layout, host, page) for host, page in copies)
        return (Family(self.name, len(copies) // 2, tuple(asides)),)


def _aside(layout: Layout, host: int, page: int) -> str:
    return f"{layout.path(host, page).rpartition('/')[0]}/aside-{page}.html"
