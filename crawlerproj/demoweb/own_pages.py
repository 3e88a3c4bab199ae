"""Pages beside the ordinary ones, which misbehave in one way each: parent of such nuisances.

A share of the ordinary pages links to one each, `/odd/<name>/<page>.html` of its own host. A crawl may fetch
all of them; none leads to a page that it must fetch.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.layout import mix, page_number
from crawlerproj.demoweb.nuisance import Nuisance


class OwnPages(Nuisance, ABC):
    """Meets a share of the pages, and in every world the second page of one host."""

    truth_class = "MAY"

    @abstractmethod
    def own_page(self, host: int, page: int, query: str) -> Answer:
        """The answer to the page that ordinary page `page` links to."""

    def meets_page(self, host: int, page: int) -> bool:
        return super().meets_page(host, page) or (
            self.share > 0 and page == 1 and self.layout.sizes[host] > 1 and host == self._sure_host
        )

    def path(self, page: int) -> str:
        return f"/odd/{self.name}/{page}.html"

    def paths(self, page: int) -> Iterable[str]:
        """What is linked: the page itself, or the page with different queries."""
        return (self.path(page),)

    def extra_links(self, host: int, page: int) -> Iterable[str]:
        if not self.meets_page(host, page):
            return ()
        return [self.layout.origins[host] + path for path in self.paths(page)]

    def answer(self, host: int, path: str) -> Answer | None:
        page = self._page(host, path)
        return None if page is None else self.own_page(host, page, path.partition("?")[2])

    def is_may(self, host: int, path: str) -> bool:
        return self._page(host, path) is not None

    def may(self) -> Iterable[Family]:
        urls = tuple(url for host, page in self.met() for url in self.extra_links(host, page))
        return (Family(self.name, len(urls), urls),) if urls else ()

    def code(self, host: int, page: int) -> int:
        """A number that belongs to this page, to choose a variant by."""
        return mix(self.layout.seed, self.salt + 1, host, page)

    def met(self) -> Iterator[tuple[int, int]]:
        for host in range(self.layout.hosts):
            for page in range(1, self.layout.sizes[host]):
                if self.meets_page(host, page):
                    yield host, page

    def _page(self, host: int, path: str) -> int | None:
        if not path.startswith(f"/odd/{self.name}/") or host >= self.layout.hosts:
            return None
        path = path.partition("?")[0]
        page = page_number(path.rpartition("/")[2].partition(".")[0] + ".html")
        if page is None or page >= self.layout.sizes[host] or self.path(page) != path:
            return None
        return page if self.meets_page(host, page) else None
