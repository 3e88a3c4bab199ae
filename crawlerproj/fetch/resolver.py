"""One resolver for each crawler, made from its settings; what it did is told in the crawl's stats.

Scrapy makes one download handler for each scheme; they share what is known of a host.
`dns/hits`, `misses`, `joins`, `failures`, `stale` and `refreshes` are counts; `dns/seconds` is what misses
and refreshes took together, `dns/latency` what one took on average, both in seconds.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from scrapy import Spider, signals
from scrapy.crawler import Crawler

from .dns import Resolver
from .dns_query import growing_waits

_resolvers: WeakKeyDictionary[Crawler, Resolver] = WeakKeyDictionary()


def resolver_of(crawler: Crawler) -> Resolver:
    """The crawler's own `resolver` if it has one, else the one made for it here."""
    own = getattr(crawler, "resolver", None)
    if isinstance(own, Resolver):
        return own
    made = _resolvers.get(crawler)
    if made is None:
        made = _resolvers[crawler] = _from_settings(crawler)
        crawler.signals.connect(_tell, signals.spider_closed)
    return made


def _tell(spider: Spider) -> None:
    crawler = spider.crawler
    counters = resolver_of(crawler).counters
    asked = counters["misses"] + counters["refreshes"]
    for name, value in {**counters, "latency": counters["seconds"] / (asked or 1)}.items():
        crawler.stats.set_value(f"dns/{name}", value)


def _from_settings(crawler: Crawler) -> Resolver:
    settings = crawler.settings
    return Resolver(
        servers=settings.getlist("DNS_SERVERS"),
        min_ttl=settings.getfloat("DNS_MIN_TTL", 60),
        max_ttl=settings.getfloat("DNS_MAX_TTL", 86_400),
        negative_ttl=settings.getfloat("DNS_NEGATIVE_TTL", 30),
        stale=settings.getfloat("DNS_STALE_SECONDS", 3600),
        size=settings.getint("DNS_CACHE_SIZE", 100_000),
        waits=growing_waits(
            settings.getfloat("DNS_FIRST_WAIT", 1),
            settings.getfloat("DNS_LAST_WAIT", 90),
            settings.getint("DNS_ATTEMPTS", 5),
        ),
    )
