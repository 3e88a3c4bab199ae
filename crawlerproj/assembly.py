"""Puts the rooms together: one `Crawl` for each crawler, the only place that chooses classes.

`Crawl.of(crawler)` is the same object for every component of a crawler. It is built when first asked
for and opened by the scheduler; pipelines and spiders use it after that.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import xxhash
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from crawlerproj import __version__, parts
from crawlerproj.committed_files import is_disk_full
from crawlerproj.documents.page_fields import header_lines, page_metadata
from crawlerproj.fetch.dns import Resolver
from crawlerproj.fetch.open_connections import OpenConnections
from crawlerproj.fetch.preparation import Preparation
from crawlerproj.fetch.robots import RobotsCache, RobotsRules
from crawlerproj.fleet import Fleet
from crawlerproj.frontier.budgets import Budgets
from crawlerproj.frontier.by_address import AddressFrontier
from crawlerproj.frontier.errands import Errand, Errands
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.partitions import PartitionedFronts
from crawlerproj.frontier.runaways import Runaways
from crawlerproj.items import Candidate, Link, Page
from crawlerproj.opening import open_state
from crawlerproj.storage.commits import Commits, Files
from crawlerproj.storage.format_file import FormatError
from crawlerproj.storage.interface import Pause, Storage, StorageError
from crawlerproj.urls.hosts import CACHED_HOSTS, authority, group_by, host_of
from crawlerproj.urls.traps import trap_reason

logger = logging.getLogger(__name__)

_MARK_SECONDS = 5.0
_ERRORS_KEPT = 100
Count = Callable[..., None]
"""Adds to a statistic: count(path) or count(path, by)."""
_crawls: WeakKeyDictionary[Crawler, Crawl] = WeakKeyDictionary()


class CrawlError(Exception):
    """The crawl cannot start or go on; the message says why and what to do."""


CannotOpen = (CrawlError, FormatError, StorageError, OSError, ValueError)
"""What `Crawl.open` may raise; each says what to do."""


class Crawl:
    """Storage and rooms of one crawl."""

    def __init__(self, settings: BaseSettings, name: str, count: Count) -> None:
        self.settings = settings
        self._count = count
        self.directory = Path(settings.get("CRAWL_DIR") or f"crawls/{name}")
        self.name = settings.get("CRAWL_NAME") or name
        self.user_agent = parts.user_agent(settings)
        self.robots_agent: str = settings.get("ROBOTS_USER_AGENT") or "crawlerproj"
        self.speller = parts.speller(settings)
        self._traps = settings.getbool("URL_TRAPS", True)
        self.started = time.monotonic()
        self.failure = ""  # why the crawl had to end; empty while all is well
        self.failure_reason = ""
        self.is_open = False
        self.final_counts: dict[str, int] = {}
        self.connections: OpenConnections | None = None
        self.more_files: dict[str, Files] = {}  # what else is brought to the disk with each commit
        self.last_errors: dict[str, str] = {}  # host -> the last error, for a crawl that reaches nobody

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        crawl = _crawls.get(crawler)
        if crawl is None:
            crawl = _crawls[crawler] = cls(
                crawler.settings, crawler.spidercls.name,
                lambda stat, by=1: crawler.stats.inc_value(stat, by),
            )
        return crawl

    # --- opening and closing ----------------------------------------------------------------

    def open(self, scope: parts.Scope, archive: bool = True) -> None:
        """Opens state and archive.

        Without the archive a stopped crawl can be asked and changed, but not go on.
        """
        settings = self.settings
        self.filters = parts.filters(settings, scope)
        self.state = open_state(settings, self.directory, self.name, self.speller.fingerprint(),
                                f"crawlerproj/{__version__}", works=archive)
        self.storage: Storage = self.state.storage
        self._hash_seed = self.state.hash_seed
        try:
            keeps, links = (archive and settings.getbool(f"MERCATOR_{part}", True)
                            for part in ("ARCHIVE", "GRAPH"))
            self.archive = self.state.open_archive(settings, self.user_agent) if keeps else None
            self.edge_log = self.state.open_edge_log() if links else None
            self._assemble()
        except BaseException:
            self.state.close()
            raise
        self.is_open = True

    def _assemble(self) -> None:
        settings = self.settings
        self.rng = random.Random(settings.getint("FRONTIER_SEED") or None)
        self.limits = parts.limits(settings)
        self.politeness = parts.politeness(settings, self.limits)
        self.robots = RobotsCache(
            size=settings.getint("ROBOTS_CACHE_SIZE", 10_000),
            max_age=settings.getfloat("ROBOTS_MAX_AGE", 86_400),
            load=lambda place: self.storage.get("robots", place.encode()),
            save=self._save_robots,
        )
        group = settings.get("POLITENESS_GROUP") or "host"
        self._group_name = group_by(group if group != "ip" else "host")
        self._groups: dict[str, tuple[bytes, str]] = {}
        self.content_seen = parts.content_seen(settings, self.storage)
        ranks, share = parts.ranks(self.directory), self.content_seen.share

        def standing(host: str) -> int:
            return ranks.standing(host) - share.steps_down(host)

        shared = self.state.shared
        fronts = (PartitionedFronts(shared, self.limits.queues, self.limits.bias, self.rng, standing)
                  if shared is not None else None)
        self.frontier = (AddressFrontier if group == "ip" else Frontier)(
            self.storage, self.limits, key_of=self.key_of, group_of=self.group_of,
            priority_of=parts.prioritiser(settings, self.limits.queues, ranks, share.lower),
            now=time.monotonic(), wall=self.wall(), rng=self.rng,
            fronts=fronts, may_contact=shared.may_fetch if shared is not None else None,
            standing=standing,
        )
        judges = settings.get("CONTENT_SEEN", "minhash") != "off"
        self.budgets = Budgets(self.storage, settings.getint("HOST_PAGE_BUDGET", 100_000),
                               settings.getint("DOMAIN_PAGE_BUDGET"))
        self.budgets.reopen()
        self.errands = Errands(
            self.frontier,
            parts.manners(settings, self.limits),
            refusal=(self.content_seen.families.refusing_idle_parameters(self.refusal, self.never_offered)
                     if self._traps and judges else self.refusal),
            rules_of=self.robots.get,
            delay_of=lambda fetched, asked, failures: self.politeness.delay(
                fetched, asked, failures=failures, rng=self.rng),
            failures_after=self.politeness.failures_after, prepared=self._prepared,
            budgets=self.budgets,
            runaways=Runaways(self.storage) if self._traps else None,
            stopped=self.content_seen.families.stopped if judges else lambda url: "",
            led_to=self.content_seen.led_to,
            keep=self._keep, count=self._count, unknown=self.never_offered,
            owned=shared.may_fetch if shared is not None else lambda host: True,
            reread_rules=self.robots.reread,
        )
        self.commits = Commits(
            self.storage, self._files(),
            interval=settings.getfloat("COMMIT_INTERVAL", 0.1), pages=settings.getint("COMMIT_PAGES", 64),
            sync=settings.getbool("COMMIT_SYNC", True), before=self._before_commit,
            landed=self._landed, failed=self._commit_failed,
        )
        self.fleet: Fleet | None = None
        if shared is not None and fronts is not None:
            self.fleet = Fleet(
                self.state, shared, self.frontier, fronts, self.commits,
                idle_horizon=settings.getfloat("IDLE_HORIZON", 300), offer=self._offer_start_urls,
                adopted=self._partitions_changed, look=self.errands.look_elsewhere,
                hang_up=self._hang_up,
            )
        self._archive_requests = settings.getbool("ARCHIVE_REQUESTS", True)
        self._archive_metadata = settings.getbool("ARCHIVE_METADATA", True)
        self.converter = parts.converter(settings)
        self._preparation: Preparation | None = None
        self._marked = 0.0
        self._disk_minimum = settings.getint("DISK_FREE_MINIMUM", 200_000_000)
        self.on_landed: Any = None
        self.on_failed: Any = None

    def _keep(self, page: Page) -> None:
        if self.archive is None:
            return
        self.archive.write(
            page, header_lines(page.request) if self._archive_requests else None,
            # Decompression takes the header away: where it is left, the body is as it was sent.
            decoded=False, metadata=page_metadata(page) if self._archive_metadata else None,
        )

    def _files(self) -> dict[str, Files]:
        found: dict[str, Files | None] = {"warc": self.archive, "edges": self.edge_log, **self.more_files}
        return {place: files for place, files in found.items() if files is not None}

    def _prepared(self, url: str, host: bytes) -> bool:
        return self._preparation is None or self._preparation.ready(url, host)

    def _resume(self, host: bytes) -> None:
        if self.is_open:
            self.frontier.resume(host)
            self.wake()

    def use_resolver(self, resolver: Resolver) -> None:
        """Hosts are prepared with this resolver before they are due; its answers outlive the process."""
        free = self.frontier.may_contact if isinstance(self.frontier, AddressFrontier) else None
        maximum = self.settings.getint("DNS_CONCURRENCY", 1_000)
        self._preparation = Preparation(resolver, self._resume, maximum, free)
        resolver.load = self._load_address
        resolver.save = self._save_address

    def _load_address(self, name: str) -> bytes | None:
        try:
            return self.storage.get("dns", name.encode()) if self.is_open else None
        except Pause:
            return None  # it is asked for again, which costs a question

    def _save_address(self, name: str, stored: bytes) -> None:
        if self.is_open and self.commits.broken is None:
            self.storage.put("dns", name.encode(), stored)
            self.commits.touched()

    def _save_robots(self, place: str, stored: bytes) -> None:
        self.storage.put("robots", place.encode(), stored)
        self.commits.touched()

    async def close(self) -> None:
        """Makes everything durable and gives the state back."""
        if not self.is_open:
            return
        if self._preparation is not None:
            self._preparation.close()
        if self.fleet is not None:
            self.fleet.close()
        try:
            await self.commits.close()
            self.converter.close()
            for files in (self.archive, self.edge_log):
                if self.commits.broken is None and files is not None:
                    files.close()
            if self.fleet is not None and self.commits.broken is None:
                self.fleet.leave()
        finally:
            self.is_open = False
            self.final_counts = dict(self.fleet.counts() if self.fleet else self.storage.counts)
            self.state.close()

    # --- what crosses rooms -----------------------------------------------------------------

    def key_of(self, candidate: Candidate) -> bytes:
        """The key of the URL-seen test: 128 bits, seeded, so that nobody can make URLs collide."""
        own = candidate.request.get("key") if candidate.request else None
        key: bytes = xxhash.xxh3_128_digest(
            (str(own) if own else candidate.url).encode(), self._hash_seed)
        return key

    def unknown(self, links: Sequence[Link]) -> set[str]:
        """The URLs of those links that were never offered."""
        seed = self._hash_seed
        keys = {xxhash.xxh3_128_digest(link.url.encode(), seed): link.url for link in links}
        return {keys[key] for key in self.storage.unseen(list(keys))}

    def never_offered(self, candidates: Sequence[Candidate]) -> set[str]:
        """The URLs of those candidates that were never offered: as `unknown`, but for sure."""
        places = {self.key_of(each): each.url for each in candidates}
        hosts = [(key, self.group_of(url)[0]) for key, url in places.items()]
        return {places[key] for key in self.storage.unknown(hosts)}

    def wall(self) -> float:
        """The time that all workers of the crawl agree on."""
        return time.time() + self.state.skew

    def group_of(self, url: str) -> tuple[bytes, str]:
        """The politeness group of a URL: its key and its name."""
        host = host_of(url)
        found = self._groups.get(host)
        if found is None:
            if len(self._groups) >= CACHED_HOSTS:
                self._groups.clear()
            name = self._group_name(url)
            found = self._groups[host] = (xxhash.xxh3_64_digest(name.encode()), name)
        return found

    def refusal(self, candidate: Candidate) -> str | None:
        """Why a candidate is not wanted; requests of the Scrapy door pass by the link filters."""
        if candidate.request is not None:
            return self.filters.banned(candidate.url)
        reason = self.filters.reason(candidate.url, candidate.depth)
        if reason is None and self._traps:
            reason = trap_reason(candidate.url)
        return reason

    def offer(self, candidates: Iterable[Candidate]) -> int:
        """Offers candidates from outside an errand, such as seeds; says how many were new."""
        new = self.frontier.offer(candidates)
        self.commits.touched()
        return new

    def _offer_start_urls(self, urls: list[str]) -> int:
        """Offers what people push into a running crawl."""
        spelled = [Candidate(url) for url in map(self.speller.spell, urls) if url is not None]
        wanted = [candidate for candidate in spelled if self.refusal(candidate) is None]
        self._count("seeds/pushed", len(urls))
        if len(wanted) < len(urls):
            logger.warning("%d of %d start URLs are not wanted", len(urls) - len(wanted), len(urls))
        return self.offer(wanted)

    def _hang_up(self, partitions: set[int]) -> None:
        """Ends idle connections to hosts that other workers will contact."""
        shared = self.state.shared
        if shared is not None and self.connections is not None:
            self.connections.hang_up(
                lambda place: shared.partition_of(*self.group_of(f"http://{place}/")) in partitions)

    def _partitions_changed(self) -> None:
        """Others have counted for hosts that have come, and will for those that have gone."""
        self.budgets.forget()
        self.budgets.reopen()

    def robots_answer(self, errand: Errand, content_type: str, body: bytes, cache_control: str) -> None:
        """Keeps the rules that an errand for robots.txt brought (status 0: no answer)."""
        wall = self.wall()
        rules = RobotsRules.from_response(
            errand.status, content_type, body, self.robots_agent,
            cache_control=cache_control or None, now=wall, max_age=self.robots.max_age,
            earlier=self.robots.last(errand.robots),
        )
        if rules.failures:
            wait = self.politeness.backoff(rules.failures, self.rng)
            rules.expires_at = wall + max(wait, errand.retry_after)
        self.robots.put(errand.robots, rules)
        place = authority(errand.url)
        if place != errand.robots and errand.url == f"{place}/robots.txt" and not rules.failures:
            # Another host's file, read on behalf of one that redirects there: news of that host too.
            self.robots.put(place, rules)
        if errand.ticket.candidate.request:
            self.errands.robots_found(self.group_of(errand.robots + "/")[0], not rules.failures)

    def moved(self, url: str, target: str) -> None:
        """A permanent redirect: the canonical URL is another one."""
        self.storage.put("moved", self.key_of(Candidate(url)), target.encode())

    def moved_to(self, url: str) -> str:
        """Where a URL has moved for good; empty if it has not."""
        row = self.storage.get("moved", self.key_of(Candidate(url)))
        return row.decode() if row else ""

    def fetch_failed(self, errand: Errand, error: Exception) -> None:
        """Remembers why a host could not be reached, for a bounded number of hosts."""
        if len(self.last_errors) < _ERRORS_KEPT:
            self.last_errors[errand.ticket.candidate.url] = f"{errand.error} ({error})"

    def same_group(self, one: str, other: str) -> bool:
        return self.group_of(authority(one) + "/")[0] == self.group_of(authority(other) + "/")[0]

    # --- commits ----------------------------------------------------------------------------

    def _before_commit(self) -> None:
        now = time.monotonic()
        if now - self._marked < _MARK_SECONDS:
            return
        self._marked = now
        self.frontier.mark()
        free = self.state.free_bytes()
        if free < self._disk_minimum:
            self.fail("disk_full", f"only {free / 1e6:.0f} MB are free on the disk of {self.directory}: make "
                      "room (DISK_FREE_MINIMUM) and start the same command again; nothing is lost")

    def _landed(self, settled: Iterable[tuple[bytes, int, int]], touched: Iterable[bytes]) -> None:
        self.frontier.landed(settled, touched)
        self.wake()

    def wake(self) -> None:
        """There may be something to hand out now."""
        if self.on_landed is not None:
            self.on_landed()

    def _commit_failed(self, error: Exception) -> None:
        if is_disk_full(error):
            self.fail("disk_full", f"the disk of {self.directory} is full ({error}): make room and start the "
                      "same command again; it goes on from the last commit, nothing is lost")
        else:
            self.fail("commit_failed", f"{self.directory} could not be written ({error!r}): mend the cause "
                      "and start the same command again; it goes on from the last commit")

    def fail(self, reason: str, message: str) -> None:
        """Ends the crawl cleanly, with a message; `scrapy crawl` then exits with 1."""
        if not self.failure:
            self.failure, self.failure_reason = message, reason
            logger.error(message)
            if self.is_open and self.on_failed is not None:
                self.on_failed(reason)
