"""Pages of ordinary spiders: their responses are archived, compared and put into the graph as any others.

A spider of the fast door makes one Page of each response; one that yields Requests makes items, and
nothing else. So each response to a Request of the Scrapy door is made a Page here: when it comes in, so
that redirects and failed attempts are kept too, and once more when it is decoded and can be read.
Which Requests the spider yields is its own affair; those of a duplicate page wait in the lowest queue.
"""

from __future__ import annotations

from typing import Any, Final, Self

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawlerproj.assembly import Crawl
from crawlerproj.documents.pipelines import ContentSeenPipeline, ConvertPipeline, ProbeRequest
from crawlerproj.frontier.errands import Errand
from crawlerproj.graph.pipeline import LinkGraphPipeline
from crawlerproj.items import Link, Page
from crawlerproj.parse.responses import is_html, page_of, read_html

_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_LAST: Final = -1_000  # a Request's priority that puts it into the lowest queue, however near to the seeds


class DoorPagesMiddleware:
    """A downloader middleware; belongs just behind decompression (590), before whoever sends a page away."""

    def __init__(self, crawler: Crawler, archive: bool, seen: bool, graph: bool) -> None:
        self._crawl = Crawl.of(crawler)
        self._archive, self._reads_text = archive, seen
        self._drops = crawler.settings.get("CONTENT_SEEN_FOLLOW") == "never"
        self._convert = ConvertPipeline.from_crawler(crawler) if seen or graph else None
        self._seen = ContentSeenPipeline.from_crawler(crawler) if seen else None
        self._graph = LinkGraphPipeline.from_crawler(crawler) if graph else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        archive, graph = (settings.getbool(name, True) for name in ("MERCATOR_ARCHIVE", "MERCATOR_GRAPH"))
        seen = settings.get("CONTENT_SEEN", "minhash") != "off"
        if not (archive or graph or seen):
            raise NotConfigured("archive, content-seen and graph are off")
        middleware = cls(crawler, archive, seen, graph)
        crawler.signals.connect(middleware._downloaded, signals.response_downloaded)
        return middleware

    def _downloaded(self, response: Response, request: Request) -> None:
        errand = _errand_of(request)
        if errand is None:
            return
        page = page_of(response, request, errand=errand, depth=errand.ticket.candidate.depth)
        if response.status in _REDIRECTS:
            location = (response.headers.get(b"Location") or b"").decode("utf-8", "replace")
            url = self._crawl.speller.spell(location, page.url) if location else None
            if url is not None:
                page.links = [Link(url, "", "redirect")]
            if self._graph is not None:
                self._graph.process_item(page)
        self._keep(errand, page)

    async def process_response(self, request: Request, response: Response) -> Response:
        errand = _errand_of(request)
        # Without a status nothing was fetched: the response is one of a cache.
        if errand is None or not errand.status or response.status in _REDIRECTS:
            return response
        page = page_of(response, request, errand=errand, depth=errand.ticket.candidate.depth)
        if page.status == 200 and not errand.cut:
            await self._read(page, response)
            if self._seen is not None:
                self._seen.process_item(page)
                errand.follow = page.follow if self._drops or page.follow == "all" else "demote"
        if self._graph is not None:
            self._graph.process_item(page)
        self._keep(errand, page)
        return response

    async def _read(self, page: Page, response: Response) -> None:
        crawl = self._crawl
        if is_html(page):
            read_html(page, response, crawl.speller.spell, crawl.robots_agent, with_text=self._reads_text)
        elif self._convert is not None:
            converted: Any = self._convert.process_item(page)
            if converted is not page:
                await converted

    def _keep(self, errand: Errand, page: Page) -> None:
        if not self._archive:
            return
        if page.noarchive and page.body:
            page.body, page.truncated = b"", page.truncated or "unspecified"
        errand.pages[:] = [page]  # decoded and read, it stands for the one that came in


class DoorRequestsMiddleware(BaseSpiderMiddleware):
    """A spider middleware: Requests of a duplicate page come last, or not at all (CONTENT_SEEN_FOLLOW)."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        made_of = response.request if response is not None else None
        errand = _errand_of(made_of) if made_of is not None else None
        if errand is None or errand.follow == "all":
            return request
        if errand.follow == "none":
            self.crawler.stats.inc_value("filter/duplicate")
            return None
        if not request.priority:  # else the spider knows better
            request.priority = _LAST
        return request


def _errand_of(request: Request) -> Errand | None:
    """The errand of a spider's own Request: other pages come as items, and rules are kept as such."""
    errand: Errand | None = request.meta.get("frontier_ticket")
    if errand is None or errand.robots or errand.ticket.candidate.request is None:
        return None
    if isinstance(request, ProbeRequest):
        return None
    return errand
