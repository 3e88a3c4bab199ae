"""A host with far more pages than a crawl may want of one host: all of them good, no two alike.

It is there for budgets. A crawl whose budget for a host is smaller parks it, counts what is left, and goes on
with it when the budget has grown; a crawl with a larger budget fetches it whole. Its pages hang in a 20-ary
tree, so that a small part of it leads to most of its URLs.
"""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.layout import Layout, page_number
from crawlerproj.demoweb.own_hosts import OwnHosts

FEWEST_PAGES = 40
_CHILDREN = 20
_FOLDER = "/all/"


class Giant(OwnHosts):
    """One host, with as many pages as a share of the ordinary ones: with 1 it is half of the web."""

    name = "giant"
    default_share = 0.03

    def __init__(self, layout: Layout, share: float) -> None:
        # There is one, whatever the share: that says how large it is.
        super().__init__(layout, 1 / layout.hosts if share else 0.0)
        self.share = share
        self.pages = max(FEWEST_PAGES, round(share * layout.pages))

    def own_answer(self, host: int, path: str, attempt: int) -> Answer:
        page = 0 if path == "/" else page_number(path.removeprefix(_FOLDER))
        if page is None or page >= self.pages or path != _path(page):
            return Answer(404, "Not found")
        children = range(page * _CHILDREN + 1, min((page + 1) * _CHILDREN + 1, self.pages))
        return Answer(200, f"Page {page} of many", links=("/", *map(_path, children)))

    def may(self) -> Iterable[Family]:
        for host in self.own:
            prefix = self.layout.origins[host] + "/"
            yield Family(f"{self.name} {self.layout.names[host]}", self.pages, prefixes=(prefix,))


def _path(page: int) -> str:
    return f"{_FOLDER}{page}.html" if page else "/"
