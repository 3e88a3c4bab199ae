"""An errand: one fetch to make, and all that came of it. Which fetch is next, and how it ends.

    next     the due host's URL, if the filters and its robots.txt allow it; or its robots.txt first
    release  the transfer has ended: how long does the host rest?
    finish   what came of it goes into one commit group: documents, links, settlement

Plain logic: rules, delays and places come in as callables, so that no room is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from crawlerproj.frontier.back_queues import Ticket
from crawlerproj.frontier.budgets import Budgets
from crawlerproj.frontier.excuses import Excuses
from crawlerproj.frontier.frontier import Frontier
from crawlerproj.frontier.runaways import Runaways
from crawlerproj.items import Candidate, Page
from crawlerproj.storage.interface import NEVER, Pause
from crawlerproj.urls.hosts import authority

STORAGE_AWAY = "storage"  # the error of a page that could not be judged because storage was away
ELSEWHERE = "robots_elsewhere"  # why a host is parked whose robots.txt is another host's to give
# Refused draws in one call: a banned host with a million URLs must not hold up the event loop.
_REFUSALS = 64


class Rules(Protocol):
    """What a host's robots.txt says."""

    unreachable: bool
    expires_at: float
    failures: int

    def allowed(self, url: str) -> bool: ...

    @property
    def crawl_delay(self) -> float: ...


@dataclass(slots=True, eq=False)
class Errand:
    """A fetch for a ticket: its page, or first (`robots` names the authority) the rules of its host."""

    ticket: Ticket
    url: str
    robots: str = ""
    hops: int = 0
    # What the transfer brought: set before `release`.
    status: int = 0
    error: str = ""  # a word for what went wrong; empty if a response came
    cut: bool = False  # the connection ended before the body did
    host_failed: bool = False  # the host, not the page, is to blame
    stood_still: bool = False  # this process did, during the transfer
    fetch_seconds: float = 0.0
    retry_after: float = 0.0
    # What the processing brought: set before `finish`.
    outcome: str = ""
    pages: list[Page] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    demoted: bool = False  # a duplicate's: what its links lead to is told to `led_to`
    follow: str = "all"  # what becomes of Requests made of its page: "all", "demote" (lowest queue) or "none"
    released: bool = False
    excused: bool = False  # what went wrong is not held against the page
    park: tuple[float, str] | None = None


@dataclass(slots=True, frozen=True)
class Manners:
    """The limits of an errand; units in settings.py."""

    max_attempts: int = 3
    crawl_delay_maximum: float = 300.0
    host_failures_maximum: int = 720
    retry_statuses: Container[int] = frozenset((500, 502, 503, 504, 522, 524, 408, 429))
    throttled_statuses: Container[int] = frozenset((429, 503))


class Errands:
    """Hands out errands and takes them back."""

    def __init__(self, frontier: Frontier, manners: Manners, *,
                 refusal: Callable[[Candidate], str | None],
                 rules_of: Callable[[str], Rules | None],
                 delay_of: Callable[[float, float, int], float],
                 failures_after: Callable[[int, bool], int],
                 prepared: Callable[[str, bytes], bool],
                 budgets: Budgets,
                 runaways: Runaways | None,
                 stopped: Callable[[str], str],
                 led_to: Callable[[str, list[str]], None],
                 keep: Callable[[Page], object],
                 count: Callable[..., None],
                 unknown: Callable[[list[Candidate]], set[str]],
                 owned: Callable[[bytes], bool] = lambda host: True,
                 reread_rules: Callable[[str], Rules | None] = lambda place: None) -> None:
        self._frontier, self._manners = frontier, manners
        self._refusal, self._rules_of, self._delay_of = refusal, rules_of, delay_of
        self._failures_after, self._prepared = failures_after, prepared
        self._budgets, self._runaways = budgets, runaways
        self._stopped, self._led_to = stopped, led_to
        self._keep, self._count = keep, count
        self._unknown, self._owned, self._reread_rules = unknown, owned, reread_rules
        # host -> authority, and until when its rules were good: another worker may be to fetch new ones
        self._elsewhere: dict[bytes, tuple[str, float]] = {}
        self._robots_hops: dict[str, tuple[str, int]] = {}  # authority -> where its robots.txt has moved
        self._excuses = Excuses()

    # --- out --------------------------------------------------------------------------------

    def next(self, now: float, wall: float) -> Errand | None:
        """The next fetch, or None: `frontier.next_due` says when to ask again."""
        frontier = self._frontier
        for _ in range(_REFUSALS):
            ticket = frontier.take(now)
            if ticket is None:
                return None
            try:
                errand = self._errand(ticket, wall)
                if errand is None:
                    continue
                if not self._prepared(errand.url, ticket.host):
                    frontier.hold(ticket)  # no slot and no other host waits for a slow name server
                    continue
                frontier.begin(ticket, now)
            except Pause:
                if not ticket.settled:
                    frontier.put_back(ticket)
                return None
            self._robots_hops.pop(errand.robots, None)
            return errand
        return None

    def _errand(self, ticket: Ticket, wall: float) -> Errand | None:
        candidate = ticket.candidate
        own = candidate.request or {}
        if "robots" in own:  # the rules of another host, which redirects to this URL
            return Errand(ticket, candidate.url, str(own["robots"]), int(str(own["hops"])))
        reason = self._refusal(candidate) or self._trap(candidate)
        if reason is not None:
            self._refuse(ticket, reason, f"filter/{reason}")
            return None
        spent = self._budgets.over(candidate.url)
        if spent is not None:
            self._frontier.put_back(ticket)
            self._frontier.park(ticket.host, ticket.name, NEVER, spent)
            self._count(f"frontier/parked_hosts/{spent}")
            return None
        if own.get("any_robots"):
            return Errand(ticket, candidate.url)
        place = authority(candidate.url)
        rules = self._rules_of(place)
        dead = self._frontier.failures(ticket.host) > self._manners.host_failures_maximum
        if dead and (rules is None or rules.unreachable):
            # One URL is given up for each further failure; the next one asks the host again.
            self._frontier.blame(ticket.host, -1)
            self._refuse(ticket, "robots_unreachable", "robots/given_up")
            return None
        if rules is None:
            url, hops = self._robots_hops.get(place, (f"{place}/robots.txt", 0))
            return Errand(ticket, url, place, hops)
        if rules.unreachable:
            self._frontier.put_back(ticket)
            self._frontier.park(ticket.host, ticket.name, max(rules.expires_at, wall + 0.001),
                                "robots_unreachable")
            self._count("robots/unreachable")
            return None
        if not rules.allowed(candidate.url):
            self._refuse(ticket, "forbidden", "robots/forbidden")
            return None
        return Errand(ticket, candidate.url)

    def _trap(self, candidate: Candidate) -> str | None:
        """What measuring has shown to be a trap since the candidate was queued."""
        if self._runaways is None or candidate.request is not None:
            return None
        return self._runaways.reason(candidate) or ("trap_family" if self._stopped(candidate.url) else None)

    def _refuse(self, ticket: Ticket, outcome: str, stat: str) -> None:
        self._count(stat)
        self._settle(ticket, "done", outcome)

    def _settle(self, ticket: Ticket, kind: str, outcome: str) -> None:
        self._count(f"frontier/{kind}")
        self._frontier.storage.count(f"{kind}/{outcome}", 1)
        self._frontier.settle(ticket, kind, outcome)

    # --- the transfer has ended -------------------------------------------------------------

    def release(self, errand: Errand, now: float, wall: float) -> None:
        """The host rests: ten times the fetch, what it asks for, or the back-off after failures."""
        if errand.released:
            return
        errand.released = True
        errand.excused = self._is_excused(errand)
        if errand.status and not errand.robots:
            self._budgets.spend(errand.url)
        frontier, host = self._frontier, errand.ticket.host
        failed = errand.host_failed or errand.status in self._manners.throttled_statuses
        failed = failed or bool(errand.robots and (errand.error or errand.status >= 500))
        failures = frontier.failures(host)
        if errand.park is None:  # else its rules are elsewhere: what they are worth is not known yet
            failures = self._failures_after(failures, failed)
        rules = self._rules_of(errand.robots or authority(errand.url))
        # While robots.txt is fetched again, after its expiry or a crash, what it said last still binds.
        if rules is None or rules.unreachable:
            crawl_delay = frontier.crawl_delay(host)
        else:
            crawl_delay = rules.crawl_delay
        asked = max(crawl_delay, errand.retry_after)
        # A host that says when to return is believed; the back-off is for those that do not.
        delay = self._delay_of(errand.fetch_seconds, asked, 0 if errand.retry_after else failures)
        frontier.release(host, now, delay, failures, crawl_delay)
        if delay > self._manners.crawl_delay_maximum:
            errand.park = (wall + delay, "retry_after" if errand.retry_after else
                           "failing" if failed else "crawl_delay")

    def _is_excused(self, errand: Errand) -> bool:
        """Nobody is to blame while this process stands still; a host may never have seen a request whose
        connection ended, once.
        """
        if errand.stood_still and (errand.error or errand.cut):
            return self._excuses.grant(errand.ticket.key, self._manners.max_attempts)
        return errand.error == "connection_ended" and self._excuses.grant(errand.ticket.key, 1)

    # --- everything that came of it is known ------------------------------------------------

    def finish(self, errand: Errand, now: float, wall: float) -> None:
        """Writes documents, links and settlement into one group."""
        frontier, ticket = self._frontier, errand.ticket
        if not errand.released:
            self.release(errand, now, wall)
        if frontier.lost(ticket):
            self._count("frontier/lost")
            frontier.settle(ticket, "done", "lost")  # whoever has the host now fetches it again
            return
        for page in errand.pages:
            self._keep(page)
        # A page knows its errand: a ring with the body in it would lie about until the collector comes.
        errand.pages.clear()
        self._learn(errand)
        if errand.candidates:
            self._count("frontier/offered", frontier.offer(errand.candidates))
        if errand.robots and "robots" not in (ticket.candidate.request or {}):
            frontier.put_back(ticket)
        else:
            self._settle(ticket, *self._verdict(errand))
        if errand.park is not None:
            if errand.park[1] == ELSEWHERE:
                self._wait_for_rules(ticket.host, errand.robots)
            frontier.park(ticket.host, ticket.name, *errand.park)
            self._count(f"frontier/parked_hosts/{errand.park[1]}")

    def _learn(self, errand: Errand) -> None:
        """What the page's links lead to tells duplicates and traps from the rest."""
        new: set[str] | None = None

        def is_new(candidate: Candidate) -> bool:
            nonlocal new
            if new is None:
                new = self._unknown(errand.candidates)
            return candidate.url in new

        with suppress(Pause):  # nothing is lost but a hint
            if errand.demoted:
                self._led_to(errand.url, [c.url for c in errand.candidates if is_new(c)])
            if self._runaways is not None:
                self._runaways.led_to(errand.ticket.candidate, errand.candidates, is_new)

    def will_retry(self, errand: Errand) -> bool:
        """Is this answer one of several attempts, not worth reading? A cut body may come whole next time."""
        return errand.cut and (errand.excused or errand.ticket.attempts < self._manners.max_attempts)

    def _verdict(self, errand: Errand) -> tuple[str, str]:
        ticket, manners = errand.ticket, self._manners
        if errand.outcome:
            return "done", errand.outcome
        outcome = errand.error or str(errand.status)
        if errand.error == STORAGE_AWAY or (errand.error == "cancelled" and not self._owned(ticket.host)):
            ticket.attempts -= 1  # nobody's fault: Redis was away, or the lease had ended
            return "retry", outcome
        own = ticket.candidate.request
        if own is not None and "robots" not in own:
            return "done", outcome  # a Request is tried again as a new one, if Scrapy's middleware says so
        if not (errand.error or errand.cut) and errand.status not in manners.retry_statuses:
            return "done", outcome
        if errand.host_failed and self._frontier.failures(ticket.host) <= manners.host_failures_maximum:
            # Not the page's fault: it keeps its attempts while its host is given time.
            ticket.attempts -= 1
            return "retry", outcome
        if errand.excused:
            ticket.attempts -= 1
            return "retry", outcome
        return ("retry" if ticket.attempts < manners.max_attempts else "done"), outcome

    # --- robots.txt that has moved ----------------------------------------------------------

    def robots_moved(self, errand: Errand, target: str, same_group: bool, wall: float) -> None:
        """The rules are elsewhere: in the host's next turn, or in the turn of the host that has them."""
        hops = errand.hops + 1
        if same_group and "robots" not in (errand.ticket.candidate.request or {}):
            self._robots_hops[errand.robots] = (target, hops)
        else:
            self._count("robots/moved_elsewhere")
            request = {"robots": errand.robots, "hops": hops, "key": f"{errand.robots} {target} {wall}"}
            most_urgent = self._frontier.limits.queues
            errand.candidates.append(Candidate(target, priority=most_urgent, request=request))
            if "robots" not in (errand.ticket.candidate.request or {}):
                errand.park = (wall + 60.0, ELSEWHERE)

    def robots_found(self, host: bytes, reached: bool) -> None:
        """The rules came from elsewhere, or did not: the host that waited for them goes on."""
        if not self._owned(host):
            return  # its worker finds them by `look_elsewhere`
        if not reached:
            self._frontier.blame(host, 1)
        record = self._frontier.storage.host(host)
        if record is not None and record.wake and record.reason == ELSEWHERE:
            self._frontier.storage.wake(host)
            self._elsewhere.pop(host, None)

    def _wait_for_rules(self, host: bytes, place: str) -> None:
        with suppress(Pause):
            rules = self._reread_rules(place)
            self._elsewhere[host] = (place, rules.expires_at if rules is not None else 0.0)

    def look_elsewhere(self) -> None:
        """Have the rules that another worker fetched come? To be asked now and then, with shared storage."""
        for host, (place, before) in list(self._elsewhere.items()):
            if not self._owned(host):
                del self._elsewhere[host]
                continue
            rules = self._reread_rules(place)
            if rules is not None and rules.expires_at != before:
                del self._elsewhere[host]
                self.robots_found(host, not rules.failures)
