"""The parts of a crawl as its settings describe them: one function a part, no part knows another.

Defaults stand here again only for projects that use the add-on without our settings; reasons are in
settings.py.
"""

from __future__ import annotations

import time
from pathlib import Path

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from crawlerproj import __version__
from crawlerproj.documents.content_seen import ContentSeen
from crawlerproj.fetch.politeness import Politeness
from crawlerproj.frontier.errands import Manners
from crawlerproj.frontier.limits import Limits
from crawlerproj.frontier.prioritiser import Prioritiser, Rule, read_weights
from crawlerproj.graph.rank_table import RankTable
from crawlerproj.parse.convert import Converter
from crawlerproj.storage.interface import Storage
from crawlerproj.urls.blacklist import Blacklist, advertisements, load_blacklist
from crawlerproj.urls.canonical import DEFAULT_STRIP_PARAMS, Speller
from crawlerproj.urls.filters import SKIPPED_EXTENSIONS, Filters

Scope = dict[str, list[str]]
"""What a spider was told: allow, deny, domains and exclude_domains."""


def user_agent(settings: BaseSettings) -> str:
    given = settings.get("USER_AGENT")
    if given:
        return str(given)
    contact = settings.get("CRAWLER_CONTACT")
    return f"crawlerproj/{__version__}" + (f" (+{contact})" if contact else "")


def speller(settings: BaseSettings) -> Speller:
    strip = settings.get("URL_STRIP_PARAMETERS")
    return Speller(
        DEFAULT_STRIP_PARAMS if strip is None else settings.getlist("URL_STRIP_PARAMETERS"),
        settings.getbool("URL_SORT_QUERY"),
    )


def filters(settings: BaseSettings, scope: Scope) -> Filters:
    path = settings.get("BLACKLIST")
    blacklist = load_blacklist(path) if path else Blacklist()
    if settings.getbool("BLACKLIST_ADVERTISEMENTS", True):
        blacklist = advertisements() if not path else blacklist.joined(advertisements())
    extensions = settings.get("SKIPPED_EXTENSIONS")
    return Filters(
        max_length=settings.getint("URL_MAX_LENGTH", 2_000),
        depth_limit=settings.getint("DEPTH_LIMIT"),
        extensions=SKIPPED_EXTENSIONS if extensions is None else settings.getlist("SKIPPED_EXTENSIONS"),
        blacklist=blacklist,
        content_types=settings.getlist("CONTENT_TYPES"),
        **scope,
    )


def limits(settings: BaseSettings) -> Limits:
    concurrency = settings.getint("CONCURRENT_REQUESTS") or 256
    return Limits(
        queues=settings.getint("FRONT_QUEUES", 8),
        bias=settings.getfloat("FRONT_QUEUE_BIAS", 2.0),
        back_queues_min=settings.getint("BACK_QUEUES_MIN") or 3 * concurrency,
        back_queues_max=settings.getint("BACK_QUEUES_MAX", 20_000),
        quantum=settings.getint("BACK_QUEUE_QUANTUM", 50),
        max_attempts=settings.getint("MAX_ATTEMPTS", 3),
        delay_factor=settings.getfloat("DELAY_FACTOR", 10),
        delay_minimum=settings.getfloat("DELAY_MINIMUM", 2),
        delay_maximum=settings.getfloat("DELAY_MAXIMUM", 300),
        fetch_timeout=settings.getfloat("DOWNLOAD_TIMEOUT", 60),
    )


def politeness(settings: BaseSettings, limits: Limits) -> Politeness:
    return Politeness(
        factor=limits.delay_factor, minimum=limits.delay_minimum, maximum=limits.delay_maximum,
        backoff_base=settings.getfloat("BACKOFF_BASE", 30),
        backoff_maximum=settings.getfloat("BACKOFF_MAXIMUM", 3_600),
    )


def ranks(directory: Path) -> RankTable:
    """Written by `scrapy graph rank --feed-frontier`, read again when it changes."""
    return RankTable(directory / "host-ranks.tsv", time.monotonic)


def prioritiser(settings: BaseSettings, queues: int, *own_rules: Rule) -> Prioritiser:
    weights = settings.get("HOST_WEIGHTS")
    rules = [load_object(rule) for rule in settings.getlist("PRIORITY_RULES")]
    return Prioritiser(queues, read_weights(weights) if weights else None, [*rules, *own_rules])


def manners(settings: BaseSettings, limits: Limits) -> Manners:
    return Manners(
        max_attempts=limits.max_attempts,
        crawl_delay_maximum=settings.getfloat("CRAWL_DELAY_MAXIMUM", 300),
        host_failures_maximum=settings.getint("HOST_FAILURES_MAXIMUM", 720),
        retry_statuses=frozenset(map(int, settings.getlist("RETRY_HTTP_CODES"))),
    )


def content_seen(settings: BaseSettings, storage: Storage) -> ContentSeen:
    seen = settings.get("CONTENT_SEEN", "minhash")
    if seen not in ("minhash", "exact", "off"):
        raise ValueError(f"CONTENT_SEEN is {seen!r}: give minhash, exact or off")
    return ContentSeen(
        storage, settings.getfloat("NEAR_DUPLICATE_THRESHOLD", 0.9),
        settings.get("CONTENT_SEEN_FOLLOW", "demote"), near=seen == "minhash",
        probe_after=(settings.getint("SOFT_404_AFTER", 10)
                     if settings.getbool("SOFT_404_PROBE", True) else 0),
    )


def converter(settings: BaseSettings) -> Converter:
    return Converter(
        seconds=settings.getfloat("CONVERT_SECONDS", 20),
        memory_bytes=settings.getint("CONVERT_MEMORY", 512_000_000),
        max_text=settings.getint("CONVERT_MAX_TEXT", 2_000_000),
        workers=settings.getint("CONVERT_WORKERS", 1), modules=settings.getlist("CONVERT_MODULES"),
    )
