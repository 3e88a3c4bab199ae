"""The spider for whole crawls: `scrapy crawl web -a seeds=seeds/edu.txt -a domains=edu`.

A focused crawl subclasses it and overrides `wanted(link)`, `score(page, link)` or `extract(page)`.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings

from crawlerproj.assembly import Crawl
from crawlerproj.frontier.errands import Errand
from crawlerproj.items import Candidate, Link, Page
from crawlerproj.parse.responses import is_html, page_of, read_html
from crawlerproj.urls.canonical import reject_reason
from crawlerproj.urls.seeds_file import Seed, read_seeds

logger = logging.getLogger(__name__)

_BATCH = 500
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_WRONG_MODE = {
    "continuous": "mode=continuous is not available in this version: a crawl fetches each page once. Leave "
                  "mode out; to see what has changed, crawl again into another CRAWL_DIR",
}

# What the fast door does not need, taken out of every page's way. Requests that a subclass yields still
# have their depth, referer, retries, redirects, compression and proxies.
_NOT_NEEDED = {
    "SPIDER_MIDDLEWARES": (
        "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware",
        "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware",
    ),
    "DOWNLOADER_MIDDLEWARES": (
        "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",
        "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware",
    ),
}


class WebSpider(Spider):
    """Arguments: seeds (file, URL, comma list or -), allow, deny, domains, exclude_domains, mode."""

    name = "web"
    # Set to a method (page, link) -> queue 1..F to rank links, and to (link) -> bool to choose them.
    wanted: Any = None
    score: Any = None

    def __init__(self, seeds: str = "", allow: str = "", deny: str = "", domains: str = "",
                 exclude_domains: str = "", mode: str = "once", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # Told by the scheduler when it opens: raised here, it would reach the user as a traceback.
        self.wrong_arguments = "" if mode == "once" else _WRONG_MODE.get(
            mode, f"mode={mode} is not known: give mode=once, or leave it out")
        self.seeds = seeds
        self.allow = [allow] if allow else []
        self.deny = [deny] if deny else []
        self.domains = _comma_list(domains)
        self.exclude_domains = _comma_list(exclude_domains)
        self._lines: Iterator[Seed] = iter(())

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        for name, components in _NOT_NEEDED.items():
            # Only the entries are added: what the project or the command line chose stays.
            chosen = {**dict.fromkeys(components), **settings.getdict(name)}
            # One above its former priority: a crawler process applies its own settings once more.
            settings.set(name, chosen, priority=(settings.getpriority(name) or 0) + 1)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> WebSpider:
        spider: WebSpider = super().from_crawler(crawler, *args, **kwargs)
        spider.crawl = Crawl.of(crawler)
        spider._reads_text = crawler.settings.get("CONTENT_SEEN", "minhash") != "off"
        spider._max_redirects = crawler.settings.getint("REDIRECT_MAX_TIMES")
        if cls.parse is WebSpider.parse and cls.extract is WebSpider.extract:
            spider.whole_page = spider._page
        if spider.seeds:
            try:
                spider._lines = read_seeds(spider.seeds)
            except OSError as error:
                spider.wrong_arguments = str(error)
        return spider

    crawl: Crawl
    # Makes the Page that is all that comes of a response; None where a subclass makes more of it.
    whole_page: Callable[[Response], Page] | None = None
    _max_redirects: int
    _reads_text: bool

    # --- in ---------------------------------------------------------------------------------

    async def start(self) -> AsyncIterator[Any]:
        """Streams the seeds into the frontier, a piece at a time."""
        crawl = self.crawl
        stats = self.crawler.stats
        _collect_seldom(self.crawler.settings.getint("GC_THRESHOLD"))
        while crawl.is_open and (piece := self._piece()):
            new = crawl.offer(self._candidates(piece))
            stats.inc_value("seeds/read", len(piece))
            stats.inc_value("seeds/new", new)
            await crawl.commits.room()
            await asyncio.sleep(0)
        if crawl.is_open and not crawl.storage.counts.get("offered"):
            rejected = [f"{name.rpartition('/')[2]} {n}" for name, n in stats.get_stats().items()
                        if name.startswith("seeds/rejected/")]
            why = f"no seed is wanted ({', '.join(rejected)})" if rejected else "there is no seed"
            crawl.fail("no_seeds", f"nothing to crawl, {why}: give -a seeds=FILE, a URL, a comma list of "
                       "URLs, or -, and see that -a allow, deny, domains and exclude_domains let them pass")
        return
        yield

    def _piece(self) -> list[Seed]:
        try:
            return list(itertools.islice(self._lines, _BATCH))
        except (OSError, EOFError, ValueError) as error:
            self.crawl.fail("bad_seeds", f"the seeds cannot be read: {error}")
            return []

    def _candidates(self, seeds: Iterable[Seed]) -> Iterator[Candidate]:
        crawl, stats = self.crawl, self.crawler.stats
        for seed in seeds:
            url = crawl.speller.spell(seed.url)
            if url is None:
                reason: str | None = reject_reason(seed.url)
                candidate = None
            else:
                queues = crawl.limits.queues
                candidate = Candidate(url, 0, min(seed.priority, queues), seed.label)
                reason = crawl.refusal(candidate)
            if candidate is None or reason is not None:
                stats.inc_value(f"seeds/rejected/{reason}")
                logger.warning("seed %s (line %d) is not crawled: %s", seed.url, seed.line_number, reason)
                continue
            yield candidate

    # --- out --------------------------------------------------------------------------------

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """One response, one Page, whatever its status."""
        page = self._page(response)
        yield page
        yield from self.extract(page)

    def _page(self, response: Response) -> Page:
        request = response.request
        assert request is not None
        errand: Errand | None = request.meta.get("frontier_ticket")
        candidate = errand.ticket.candidate if errand is not None else Candidate(request.url)
        page = page_of(response, request, errand=errand, depth=candidate.depth, label=candidate.label,
                       redirects=candidate.redirects)
        if page.status in _REDIRECTS:
            self._redirect(page, response)
        elif page.status == 200 and not (errand is not None and self.crawl.errands.will_retry(errand)):
            self._read(page, response)
        return page

    def _redirect(self, page: Page, response: Response) -> None:
        location = response.headers.get(b"Location")
        target = location.decode("utf-8", "replace") if location else ""
        url = self.crawl.speller.spell(target, page.url) if target else None
        if url is None:
            page.rejected["redirect_without_target"] = 1
        elif page.redirects >= self._max_redirects:
            page.rejected["redirect_limit"] = 1
            page.errand.outcome = "redirect_limit"
        elif url != page.url:
            page.links = [Link(url, "", "redirect")]

    def _read(self, page: Page, response: Response) -> None:
        kind = page.content_type.partition(";")[0].strip().lower()
        if self.crawl.filters.content_type_reason(kind):
            page.rejected["content_type"] = 1
            page.body = b""
            page.truncated = page.truncated or "unspecified"
            return
        if is_html(page):
            crawl = self.crawl
            read_html(page, response, crawl.speller.spell, crawl.robots_agent, with_text=self._reads_text)

    def extract(self, page: Page) -> Iterable[Any]:
        """Further items of a page, for subclasses."""
        return ()


def _collect_seldom(threshold: int) -> None:
    """What is loaded by now stays, and a page makes no rings: the collector need not come so often."""
    if threshold:
        gc.collect()
        gc.freeze()
        gc.set_threshold(threshold, 20, 20)


def _comma_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
