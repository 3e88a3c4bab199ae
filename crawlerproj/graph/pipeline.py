"""The link graph's place on the path: a page's links go to the worker's edge log."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.items import Page

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# The page may be as it was: what it said before stands. (404 and 410 say that its links are gone.)
_SAYS_NOTHING = frozenset({304, 408, 425, 429})


class LinkGraphPipeline:
    """Appends only: the log is brought to the disk with the group that the page belongs to."""

    def __init__(self, edge_log: Callable[[], EdgeLog | None]) -> None:
        self._edge_log = edge_log

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        from crawlerproj.assembly import Crawl

        crawl = Crawl.of(crawler)
        return cls(lambda: crawl.edge_log)  # opened after the pipelines are made

    def process_item(self, item: object) -> object:
        if isinstance(item, Page) and _says_something(item):
            edge_log = self._edge_log()
            if edge_log is not None:
                edge_log.append(item.url, item.links, item.fetched_at)
        return item


def _says_something(page: Page) -> bool:
    if page.status >= 500 or page.status in _SAYS_NOTHING:
        return False
    # A body that was cut off is asked for again, and its links are not read until it comes no better.
    return bool(page.links) or page.truncated != "disconnect"
