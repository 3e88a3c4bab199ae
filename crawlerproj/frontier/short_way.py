"""The short way of a page: from the end of its transfer straight to the spider and the pipelines.

Scrapy's scraper makes three tasks, a queue and a chain of generators for every response, so that a
callback may yield anything at any time. A response of which the spider makes one Page, and nothing else,
needs none of that, and the scraper would cost it as much as reading the page does. Its way is short:

    transfer over, host released -> spider.whole_page(response) -> the pipelines -> settled

The same signals are sent, the same errors are logged and blamed, and the response counts against
SCRAPER_SLOT_MAX_ACTIVE_SIZE while the pipelines have it. Whatever could see a difference leads to
Scrapy's own way: a callback, a spider that reads responses itself or yields more than the page, spider
middlewares that are not Scrapy's or ours, a listener for scheduled requests.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from pydispatch import dispatcher
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

from crawlerproj.frontier.errands import Errand

logger = logging.getLogger(__name__)

DONE: Final = "frontier_short_way"  # in a request's meta: nothing is left to do but to settle it
_UNDERSTOOD: Final = ("scrapy.spidermiddlewares.", "crawlerproj.")


class ShortWay:
    """For responses of the frontier's own requests."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._page_of: Any = None
        self._decided = False

    def is_open(self, request: Request, errand: Errand) -> bool:
        if not self._decided:
            self._decide()
        return (
            self._page_of is not None and request.callback is None and not errand.robots
            and errand.ticket.candidate.request is None
        )

    def _decide(self) -> None:
        self._decided = True
        crawler = self._crawler
        middlewares = crawler.engine.scraper.spidermw.middlewares
        if all(type(each).__module__.startswith(_UNDERSTOOD) for each in middlewares) and not any(
            signals.request_scheduled in dispatcher.connections.get(sender, ())
            for sender in (id(crawler), id(dispatcher.Any))
        ):
            self._page_of = getattr(crawler.spider, "whole_page", None)

    async def go(self, request: Request, response: Response) -> Request:
        """Does all that is to be done with the response; the scheduler knows the request by its mark."""
        # As Scrapy does before a callback: sockets are looked at between two pages, or fetches would seem
        # to take as long as the reading of a hundred others.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        crawler = self._crawler
        scraper, spider = crawler.engine.scraper, crawler.spider
        slot = scraper.slot
        assert slot is not None and spider is not None
        response.request = request
        logged = crawler.logformatter.crawled(request, response, spider)
        if logged is not None:
            logger.log(*logformatter_adapter(logged), extra={"spider": spider})
        crawler.signals.send_catch_log(
            signal=signals.response_received, response=response, request=request, spider=spider)
        size = max(len(response.body), slot.MIN_RESPONSE_SIZE)
        slot.active.add(request)
        slot.active_size += size
        try:
            page = self._page_of(response)
        except Exception:
            scraper.handle_spider_error(Failure(), request, response)  # type: ignore[no-untyped-call]
        else:
            await scraper.start_itemproc_async(page, response=response)
        finally:
            slot.active.remove(request)
            slot.active_size -= size
        request.meta[DONE] = True
        return request
