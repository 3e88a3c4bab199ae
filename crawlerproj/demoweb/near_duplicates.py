"""Pages that exist twice, differing in a line: as such and for printing."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages


class NearDuplicates(OwnPages):
    """Meets a share of the pages; each links to one page and to its print version."""

    name = "near_duplicates"
    default_share = 0.01

    def paths(self, page: int) -> Iterable[str]:
        return self.path(page), f"{self.path(page)}?print=1"

    def own_page(self, host: int, page: int, query: str) -> Answer:
        title = f"For your printer: article {page}" if query else f"Article {page}"
        return Answer(200, title, text_key=f"article {host} {page}")
