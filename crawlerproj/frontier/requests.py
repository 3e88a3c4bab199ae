"""The Scrapy door: a Request becomes a candidate and, when its turn has come, a Request again.

What a Request needs beyond its URL is kept in msgpack's types: callbacks by name, never pickle. A
request that cannot be kept so lives in memory, as with Scrapy's own queues, and a warning says it.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections import deque
from typing import Any, Protocol

import msgpack
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from crawlerproj.frontier.limits import Limits
from crawlerproj.items import Candidate
from crawlerproj.urls.canonical import Speller

logger = logging.getLogger(__name__)


class Place(Protocol):
    """What the door needs of the crawl."""

    limits: Limits


# A Request is meant as it is: no parameter is taken for unimportant. Two that differ in the order of their
# parameters alone are one, as for Scrapy's own test of duplicates.
_spell = Speller(strip_params=()).spell
_spell_sorted = Speller(strip_params=(), sort_query=True).spell


class RequestDoor:
    def __init__(self, spider: Spider, place: Place, obeys_robots: bool = True) -> None:
        self._spider, self._place, self._obeys_robots = spider, place, obeys_robots
        self._numbers = itertools.count(1)
        self._kept: dict[int, Request] = {}  # not serialisable; their candidates are in the frontier
        self._foreign: deque[Request] = deque()  # not http(s): no host to be polite to
        self._warned = False
        self._session = time.time_ns()  # names this process in what is stored

    @property
    def in_memory(self) -> bool:
        return bool(self._foreign)

    def next_in_memory(self) -> Request | None:
        """A request that no host's clock applies to, such as data: or file:."""
        return self._foreign.popleft() if self._foreign else None

    def candidate(self, request: Request) -> Candidate | None:
        """The candidate for a request; None if it was taken into memory or has no web address."""
        url = _spell(request.url)
        if url is None:
            if request.url.startswith(("http:", "https:")):
                return None
            self._foreign.append(request)
            return None
        meta = request.meta
        depth = int(meta.get("depth", 0))
        priority = 0
        if request.priority:
            queues = self._place.limits.queues
            priority = max(1, min(queues - 1 - depth + request.priority, queues))
        own = self._encoded(request)
        plain = request.method == "GET" and not request.body
        if request.dont_filter:
            own["key"] = f"{url} {next(self._numbers)} {self._session}"
        elif not plain:
            own["key"] = f"{request.method} {url} {request.body!r}"
        elif "&" in url and (ordered := _spell_sorted(url)) != url:
            own["key"] = ordered
        if meta.get("dont_obey_robotstxt") or not self._obeys_robots:
            own["any_robots"] = True
        return Candidate(url, depth, priority, request=own)

    def request(self, candidate: Candidate) -> Request | None:
        """The request again; None if it lived in the memory of another process."""
        own: dict[str, Any] = candidate.request or {}
        if "memory" in own:
            return self._kept.pop(own["memory"], None) if own["session"] == self._session else None
        return request_from_dict(own["request"], spider=self._spider)

    def _encoded(self, request: Request) -> dict[str, Any]:
        try:
            values = request.to_dict(spider=self._spider)
            msgpack.packb(values)
            return {"request": values}
        except (TypeError, ValueError, OverflowError) as error:
            if not self._warned:
                self._warned = True
                logger.warning(
                    "%r cannot be kept on disk (%s): it lives in memory and is lost if the process ends. "
                    "Give it a method of the spider as callback and plain values in meta and cb_kwargs. "
                    "Further ones are counted, not named.", request, error,
                )
            number = next(self._numbers)
            self._kept[number] = request
            return {"memory": number, "session": self._session}
