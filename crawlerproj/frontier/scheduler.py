"""The frontier as Scrapy's scheduler: thin, all decisions are made in errands.py and frontier.py.

One timer wakes the engine exactly when the next host is due; `engine._slot.remove_request`, wrapped
once, is where every handed-out URL is settled: the only hook that fires exactly once for each of the
twelve endings of a request, after all of its items.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http.headers import Headers
from scrapy.utils.defer import deferred_from_coro

from crawlerproj.assembly import CannotOpen, Crawl, CrawlError
from crawlerproj.control.server import ControlServer
from crawlerproj.feed_files import FeedFiles
from crawlerproj.fetch.open_connections import connections_of
from crawlerproj.fetch.resolver import resolver_of
from crawlerproj.fleet import FleetClock
from crawlerproj.frontier.cannot_go_on import cannot_go_on
from crawlerproj.frontier.ending import ending
from crawlerproj.frontier.errands import STORAGE_AWAY, Errand
from crawlerproj.frontier.requests import RequestDoor
from crawlerproj.frontier.short_way import DONE
from crawlerproj.signals import QuickSignals
from crawlerproj.storage.interface import Pause
from crawlerproj.summary import closing_words

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

logger = logging.getLogger(__name__)

TICKET = "frontier_ticket"  # the key of an errand in a request's meta


class FrontierScheduler(BaseScheduler):
    """For SCHEDULER; needs FrontierDownloader as DOWNLOADER."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.crawl = Crawl.of(crawler)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = float("inf")
        self._idle_horizon = crawler.settings.getfloat("IDLE_HORIZON", 300)
        self._ended = ""
        self._opened = False
        self._clock: FleetClock | None = None
        self._headers = Headers({**crawler.settings.getdict("DEFAULT_REQUEST_HEADERS"),
                                 "User-Agent": self.crawl.user_agent})

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> FrontierScheduler:
        return cls(crawler)

    # --- opening and closing ----------------------------------------------------------------

    def open(self, spider: Spider) -> Deferred[None] | None:
        crawl, crawler_settings = self.crawl, self.crawler.settings
        self.crawler.signals.connect(self._spider_opened, signals.spider_opened)
        self.crawler.signals.connect(self._spider_idle, signals.spider_idle)
        self.crawler.signals.connect(self._spider_error, signals.spider_error)
        self.crawler.signals.connect(self._item_error, signals.item_error)
        scope = {name: _listed(spider, name) for name in ("allow", "deny", "domains", "exclude_domains")}
        feeds = FeedFiles(self.crawler)
        crawl.more_files["feeds"] = feeds
        try:
            if wrong := getattr(spider, "wrong_arguments", ""):
                raise CrawlError(wrong)
            crawl.open(scope)
        except CannotOpen as error:
            crawl.fail("cannot_open", str(error))
            return None
        if not any(sign in crawl.user_agent for sign in ("@", "://")):
            logger.warning("The user agent names no contact: whoever finds this crawler in a server's log "
                           "cannot reach you. Give -s CRAWLER_CONTACT=https://... or a mail address")
        self._feeds = feeds
        self._door = RequestDoor(spider, crawl, crawler_settings.getbool("MERCATOR_ROBOTS", True))
        crawl.on_landed, crawl.on_failed = self._wake, self._stop
        crawl.use_resolver(resolver_of(self.crawler))
        QuickSignals.use(self.crawler)
        self._wrap_remove_request()
        if refusal := feeds.refusal(crawl):
            crawl.fail("feed_overwritten", refusal)
        if crawl.fleet is not None:
            self._clock = FleetClock(crawl.fleet, crawl.wall, self._wake, self._overdue_transfers,
                                     self._stop)
            crawl.connections = connections_of(self.crawler)
            self._clock.start()
        self._control = ControlServer(self.crawler)
        return deferred_from_coro(self._control.open())

    def _overdue_transfers(self) -> Iterator[Callable[[], object]]:
        """How to end each transfer to a host that is not this worker's any more."""
        for request in list(self.crawler.engine.downloader.active):
            errand, abort = request.meta.get(TICKET), request.meta.get("abort")
            if errand is not None and abort is not None and not self._may_send(request):
                yield abort

    def _may_send(self, request: Request) -> bool:
        ticket = request.meta[TICKET].ticket
        shared = self.crawl.state.shared
        return shared is None or (not self.crawl.frontier.lost(ticket)
                                  and shared.may_fetch(ticket.host, ticket.name))

    def _spider_opened(self) -> None:
        # Raised here and not in `open`, so that Scrapy closes what it has opened in the right order.
        if self.crawl.failure:
            raise CloseSpider(self.crawl.failure_reason)
        self._feeds.mend()
        self._opened = True

    def close(self, reason: str) -> Deferred[None] | None:
        if self._timer is not None:
            self._timer.cancel()
        return deferred_from_coro(self._close(reason))

    async def _close(self, reason: str) -> None:
        crawl = self.crawl
        if not crawl.is_open:
            return
        await self._control.close()
        try:
            await crawl.close()
        except Exception as error:
            if not crawl.failure:
                raise
            # What was wrong before is told; a disk that is full cannot be left in order either.
            logger.error("%s could not be closed in order: %s", crawl.directory, error)
        finally:
            if self._clock is not None:
                self._clock.close()
        logger.info("%s", closing_words(crawl, reason, crawl.final_counts, self.crawler.stats.get_stats()))

    def _stop(self, reason: str) -> None:
        engine = self.crawler.engine
        if engine.spider is not None:
            asyncio.get_running_loop().create_task(engine.close_spider_async(reason=reason))

    # --- in ---------------------------------------------------------------------------------

    def enqueue_request(self, request: Request) -> bool:
        """The Scrapy door: any Request a spider or a middleware yields."""
        if DONE in request.meta:
            return True  # a page that came the short way: the engine settles it next
        source: Errand | None = request.meta.pop(TICKET, None)
        candidate = self._door.candidate(request)
        if candidate is None:
            return False
        stats = self.crawler.stats
        if source is not None and not source.ticket.settled:
            # In one group with the settlement of what it came of: done never precedes its links offered.
            source.candidates.append(candidate)
            return True
        new = self.crawl.offer([candidate])
        stats.inc_value("frontier/offered", new)
        return bool(new)

    # --- out --------------------------------------------------------------------------------

    def next_request(self) -> Request | None:
        crawl = self.crawl
        if not crawl.is_open or crawl.commits.full:
            return None
        memory = self._door.next_in_memory()
        if memory is not None:
            return memory
        now = time.monotonic()
        try:
            errand = crawl.errands.next(now, crawl.wall())
        except Pause:
            return None
        except Exception as error:
            cannot_go_on(crawl, "the next URL could not be handed out", error)
            return None
        if crawl.storage.dirty:
            crawl.commits.touched()
        if errand is None:
            self._arm(now)
            return None
        return self._request(errand)

    def _request(self, errand: Errand) -> Request:
        candidate = errand.ticket.candidate
        if candidate.request is not None and not errand.robots:
            request = self._door.request(candidate)
            if request is None:  # it lived in the memory of a process that is gone
                errand.outcome = "not_serialisable"
                request = Request(errand.url, callback=_nothing)
            for name, value in self._headers.items():
                request.headers.setdefault(name, value)
        else:
            request = Request(errand.url, meta={
                "depth": candidate.depth, "dont_redirect": True, "dont_retry": True,
                "handle_httpstatus_all": True, "verbatim_url": True,  # it is spelled already
            })
            # As `headers=` would, without spelling the same names again for each page.
            dict.update(request.headers, self._headers)
            if errand.robots:
                request.callback = request.errback = _nothing
        request.meta[TICKET] = errand
        if self._clock is not None:
            request.meta["before_send"] = self._may_send
        return request

    def _arm(self, now: float) -> None:
        due = self.crawl.frontier.next_due()
        if due is None or due >= self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = asyncio.get_running_loop().call_later(max(0.0, due - now), self._fire)

    def _fire(self) -> None:
        self._timer, self._timer_due = None, float("inf")
        self._wake()

    def _wake(self) -> None:
        # Before the spider is open there is no scraper to ask; the engine then begins by itself.
        slot = self.crawler.engine._slot
        if self._opened and slot is not None and slot.closing is None:
            slot.nextcall.schedule()

    # --- settling ---------------------------------------------------------------------------

    def _wrap_remove_request(self) -> None:
        slot: Any = self.crawler.engine._slot
        original = slot.remove_request

        def remove_request(request: Request) -> None:
            try:
                errand = request.meta.get(TICKET)
                if errand is not None and self.crawl.is_open and self.crawl.commits.broken is None:
                    self.crawl.errands.finish(errand, time.monotonic(), self.crawl.wall())
                    self.crawl.commits.touched()
            except Exception as error:
                cannot_go_on(self.crawl, f"{request.url} could not be settled", error)
            finally:
                original(request)

        slot.remove_request = remove_request

    def _spider_error(self, response: Any) -> None:
        _blame(response, "spider_error")

    def _item_error(self, response: Any, failure: Any) -> None:
        if failure.check(Pause) and (request := getattr(response, "request", None)) is not None:
            errand = request.meta.get(TICKET)
            if errand is not None:
                errand.error, errand.pages, errand.candidates = STORAGE_AWAY, [], []
        else:
            _blame(response, "item_error")

    # --- the end ----------------------------------------------------------------------------

    def has_pending_requests(self) -> bool:
        """Is anything in flight, uncommitted, or due within the horizon?"""
        crawl = self.crawl
        if not crawl.is_open:
            return False
        frontier = crawl.frontier
        if frontier.in_hand or frontier.holding or crawl.commits.pending or self._door.in_memory:
            return True
        if crawl.fleet is not None:
            self._ended = crawl.fleet.verdict
            return not self._ended
        answered = bool(crawl.storage.counts.get("responses")) or not crawl.last_errors
        self._ended = ending(frontier, time.monotonic(), self._idle_horizon, answered)
        return not self._ended

    def _spider_idle(self) -> None:
        if self._ended in ("waiting", "drained"):
            raise CloseSpider(self._ended)
        if self._ended == "no_seed_reachable":
            errors = [f"  {url}: {error}" for url, error in self.crawl.last_errors.items()]
            self.crawl.fail("no_seed_reachable", "\n".join(
                ["no seed could be reached; check the network, DNS_SERVERS and the spelling:", *errors]))
            raise CloseSpider("no_seed_reachable")


def _listed(spider: Spider, name: str) -> list[str]:
    """A list of the spider's; what an ordinary spider uses the name for is its own affair."""
    value = getattr(spider, name, None)
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else []


def _nothing(_: Any) -> None:
    """The callback of a robots.txt: all was done when the transfer ended."""


def _blame(response: Any, outcome: str) -> None:
    request = getattr(response, "request", None)
    errand = request.meta.get(TICKET) if request is not None else None
    if errand is not None:
        errand.outcome = outcome
