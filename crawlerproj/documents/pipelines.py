"""The item pipelines: they note on the page's errand what is to be written when it is settled.

Nothing is awaited and nothing is written here: document, links and settlement of a page go into one
commit group together, so that a crash leaves all of them or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name

from crawlerproj.assembly import Crawl
from crawlerproj.documents.soft_404 import probe_url
from crawlerproj.items import Candidate, Link, Page
from crawlerproj.parse.page import parse_html
from crawlerproj.parse.responses import obey_headers, page_of
from crawlerproj.urls.hosts import authority, host_of


class PagePipelines(ItemPipelineManager):
    """For ITEM_PROCESSOR: as Scrapy's, but a pipeline that returns a Page is not awaited.

    Scrapy asks of what each pipeline returns whether it is to be awaited, and makes a coroutine of it.
    """

    async def process_item_async(self, item: Any) -> Any:
        if not isinstance(item, Page) or self._mw_methods_requiring_spider:
            return await super().process_item_async(item)
        for process_item in self.methods["process_item"]:
            assert process_item is not None
            item = process_item(item)
            if not isinstance(item, Page):
                item = await ensure_awaitable(item, _warn=global_object_name(process_item))
        return item


class ConvertPipeline:
    """Reads what is not HTML (plain text, XML, PDF...) in a process of its own."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ConvertPipeline:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        # A coroutine only for the few pages that need one: awaiting costs every page.
        if isinstance(item, Page) and item.status == 200 and not item.encoding and item.body:
            follow = obey_headers(item, self._crawl.robots_agent)
            kind = item.content_type.partition(";")[0].strip().lower()
            if self._crawl.converter.supports(kind):
                return self._converted(item, follow)
        return item

    async def _converted(self, page: Page, follow: bool) -> Page:
        made = await self._crawl.converter.convert(page.content_type, page.body)
        page.text, page.title, page.malformed = made.text, made.title, made.malformed
        self._stats.inc_value(f"convert/{made.malformed or 'ok'}")
        if not follow and made.links:
            page.rejected["nofollow"] = len(made.links)
            return page
        spell = self._crawl.speller.spell
        for written in made.links:
            url = spell(written, page.url)
            if url is None:
                page.rejected["invalid"] = page.rejected.get("invalid", 0) + 1
            else:
                page.links.append(Link(url))
        return page


class ContentSeenPipeline:
    """Have we this content already? Decides what becomes of the page's links (DESIGN: duplicates)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ContentSeenPipeline:
        if crawler.settings.get("CONTENT_SEEN") == "off":
            raise NotConfigured("CONTENT_SEEN is off")
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and item.extracted.get("soft_404") == "probe":
            self._learn(item)
        elif isinstance(item, Page) and item.status == 200 and item.text and item.errand is not None:
            judge = self._crawl.content_seen.judge
            verdict = judge(item.url, host_of(item.url), item.text, item.written_links)
            if verdict.is_duplicate:
                item.duplicate_of, item.duplicate_kind = verdict.duplicate_of, verdict.kind
                item.follow = verdict.follow
                self._stats.inc_value(f"content/{verdict.kind}")
                if verdict.family:
                    self._stats.inc_value("content/stopped_families")
            if verdict.soft_404:
                item.extracted["soft_404"] = "like"
                self._stats.inc_value("documents/soft_404")
            if verdict.wants_probe:
                self._probe(authority(item.url))
        return item

    def _probe(self, place: str) -> None:
        """Asks a host, in its turn, for a page that cannot exist."""
        crawl = self._crawl
        crawl.content_seen.soft_404.asked(host_of(place))  # in one group with the offer
        url = probe_url(place, f"{crawl.rng.getrandbits(64):016x}")
        request: dict[str, object] = {"_class": f"{__name__}.{ProbeRequest.__name__}", "url": url}
        candidate = Candidate(url, priority=crawl.limits.queues - 1, request={"request": request})
        self._stats.inc_value("frontier/offered", crawl.offer([candidate]))
        self._stats.inc_value("documents/soft_404_probes")

    def _learn(self, page: Page) -> None:
        """Takes the answer to a probe: it is archived, and goes no further."""
        if not page.errand.cut:
            self._crawl.content_seen.soft_404.learn(host_of(page.url), page.status, page.url, page.text)
        page.errand.pages.append(page)
        raise DropItem("a soft-404 probe is no page of the crawl", log_level="DEBUG")


class ProbeRequest(Request):
    """Asks for a page that cannot exist. It brings its own callback: no spider sees the answer."""

    def __init__(self, url: str, **more: Any) -> None:
        meta = {"dont_redirect": True, "dont_retry": True, "handle_httpstatus_all": True}
        meta |= more.pop("meta", None) or {}
        super().__init__(url, **{**more, "callback": _probe_answer, "meta": meta})


def _probe_answer(response: Response) -> Iterator[Page]:
    request = response.request
    assert request is not None
    page = page_of(response, request, errand=request.meta.get("frontier_ticket"))
    page.extracted["soft_404"] = "probe"
    if page.status == 200:
        said = parse_html(page.url, page.body, page.content_type, _no_links)
        page.text, page.title, page.encoding = said.text, said.title, said.encoding
    yield page


def _no_links(written: str, base: str | None = None) -> str | None:
    """The links of a probe's answer are not wanted."""
    return None


class DocumentStorePipeline:
    """Keeps the response in the WARC archive; of a page that says noarchive, only that it was there."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, Page) and item.errand is not None:
            if item.noarchive and item.body:
                item.body, item.truncated = b"", item.truncated or "unspecified"
            # It stands for whatever was made of the same response before.
            item.errand.pages[:] = [*(page for page in item.errand.pages if page.url != item.url), item]
        return item


class FollowLinksPipeline:
    """Offers the page's links to the frontier, as the spider's `wanted` and `score` will have them."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawl = Crawl.of(crawler)
        self._stats = crawler.stats
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FollowLinksPipeline:
        return cls(crawler)

    def process_item(self, item: Any) -> Any:
        # Also where every link was rejected: each has its counted reason.
        if isinstance(item, Page) and item.errand is not None and (item.links or item.rejected):
            self._follow(item)
        return item

    def _follow(self, page: Page) -> None:
        refusal, candidates = self._crawl.refusal, page.errand.candidates
        spider: Any = self._crawler.spider
        wanted, score = getattr(spider, "wanted", None), getattr(spider, "score", None)
        redirected = 300 <= page.status < 400
        depth, redirects = (page.depth, page.redirects + 1) if redirected else (page.depth + 1, 0)
        rejected: dict[str, int] = dict(page.rejected)
        if page.follow == "none":
            self._stats.inc_value("filter/duplicate", len(page.links))
            return
        lowest = 1 if page.follow == "demote" else 0
        page.errand.demoted = bool(lowest)
        # Most links of most pages are known: what was offered once has passed the filters.
        new = self._crawl.unknown(page.links) if len(page.links) > 1 else None
        for link in page.links:
            if new is not None and link.url not in new:
                continue
            candidate = Candidate(link.url, depth, lowest, page.label, redirects)
            reason = refusal(candidate)
            if reason is None and wanted is not None and not wanted(link):
                reason = "not_wanted"
            if reason is not None:
                rejected[reason] = rejected.get(reason, 0) + 1
                continue
            if score is not None and not lowest:
                candidate.priority = score(page, link)
            candidates.append(candidate)
        if page.status in (301, 308) and page.links and candidates:
            self._crawl.moved(page.url, candidates[-1].url)
        for reason, number in rejected.items():
            self._stats.inc_value(f"filter/{reason}", number)
