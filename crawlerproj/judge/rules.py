"""Was every visit allowed, and none too early? For each politeness group of a log:

- never two connections at once;
- every gap, from the end of a request to the next contact (the accept of a new connection, or a request on
  an open one), at least `max(min(factor x duration, maximum), minimum, crawl_delay, retry_after)`, all of
  the request before; a duration counts from the accept if the request was the first on its connection;
- robots.txt before the first page of its origin, and again once it is older than `robots_expiry`;
- nothing that robots.txt forbids.

The server's stamps lie within the client's own: its `end` is stamped before the last byte leaves, its
`opened` and `start` after the client began. So a client that keeps a gap by its own clock has kept it by
these, up to two things. A clock may be stamped late by some milliseconds on a busy machine:
`TOLERANCE_SECONDS` for every stamp. And a close by the client is stamped when the server notices it, which
takes until its event loop comes round: the log says since when it may have been closed (on a machine with
too much to do that is long ago), or else it is `NOTICE_SECONDS`.
A crawl-delay binds from the answer to robots.txt on, since nobody can know it before. A client that asks for
robots.txt again before any page may have died before it had read the answer: it owes the other terms only.
"""

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from crawlerproj.judge.verdict import Verdict, Violation
from crawlerproj.judge.visits import Record, Visit, read_json_lines

TOLERANCE_SECONDS = 0.005
NOTICE_SECONDS = 0.05
# RFC 9309, 2.4: robots.txt should not be used for longer than a day.
ROBOTS_EXPIRY_SECONDS = 86_400.0


def judge(
    record: Record,
    factor: float = 10.0,
    minimum: float = 2.0,
    maximum: float = 300.0,
    *,
    robots_expiry: float = ROBOTS_EXPIRY_SECONDS,
    tolerance: float = TOLERANCE_SECONDS,
    group_of: Callable[[Visit], str] = lambda visit: visit.host,
) -> Verdict:
    groups: dict[str, list[Visit]] = {}
    # The first contact comes first; requests that share a connection are in the order they were read.
    for visit in sorted(record.visits, key=lambda visit: (visit.opened, visit.start)):
        groups.setdefault(group_of(visit), []).append(visit)
    verdict = Verdict(visits=len(record.visits), groups=len(groups))
    for group, visits in groups.items():
        first_on_connection = _first_visits(visits)
        visits.sort(key=lambda visit: _contact(visit, first_on_connection))
        verdict.violations += _connections(group, visits, record, tolerance)
        gaps = _Gaps(factor, minimum, maximum, tolerance, record, first_on_connection)
        verdict.violations += gaps.check(group, visits)
        verdict.ratios += gaps.ratios
        verdict.violations += _robots(group, visits, robots_expiry, tolerance)
    verdict.violations.sort(key=lambda found: found.visit.number)
    return verdict


def judge_lines(
    lines: Iterable[str], factor: float = 10.0, minimum: float = 2.0, maximum: float = 300.0
) -> Verdict:
    """The verdict on the demo web's access log."""
    return judge(read_json_lines(lines), factor, minimum, maximum)


def is_robots(visit: Visit) -> bool:
    """robots.txt, or a place in some folder that one was redirected to."""
    return urlsplit(visit.url).path.endswith("/robots.txt")


def _first_visits(visits: list[Visit]) -> set[int]:
    """The numbers of the visits that are the first on their connection."""
    seen: set[str] = set()
    first = set()
    for visit in visits:
        if visit.connection not in seen:
            seen.add(visit.connection)
            first.add(visit.number)
    return first


def _contact(visit: Visit, first_on_connection: set[int]) -> float:
    return visit.opened if visit.number in first_on_connection else visit.start


def _connections(group: str, visits: list[Visit], record: Record, tolerance: float) -> list[Violation]:
    """Connections of a group whose lives overlap; of each the visit is shown that was first on it."""
    first: dict[str, Visit] = {}
    last_end: dict[str, float] = {}
    for visit in visits:
        first.setdefault(visit.connection, visit)
        last_end[visit.connection] = max(visit.end, last_end.get(visit.connection, visit.end))
    found = []
    open_until, holder = float("-inf"), None
    for visit in first.values():
        end = _life_end(record, visit.connection, last_end[visit.connection])
        if holder is not None and visit.opened < open_until - tolerance:
            reason = f"opened {open_until - visit.opened:.3f} s before another connection was closed"
            found.append(Violation("two_connections", group, reason, visit, holder))
        if end > open_until:
            open_until, holder = end, visit
    return found


def _life_end(record: Record, connection: str, last_answer: float) -> float:
    """When a connection was closed at the earliest; without a closed line, until its last answer."""
    closed = record.closed.get(connection)
    if closed is None:
        return last_answer
    earliest = record.closed_since.get(connection, closed - NOTICE_SECONDS)
    # Equal: the client closed it during a request.
    return earliest if closed == last_answer else max(last_answer, earliest)


class _Gaps:
    """Goes through the visits of one group and keeps the earliest moment of the next contact."""

    def __init__(
        self,
        factor: float,
        minimum: float,
        maximum: float,
        tolerance: float,
        record: Record,
        first_on_connection: set[int],
    ) -> None:
        self.factor, self.minimum, self.maximum, self.tolerance = factor, minimum, maximum, tolerance
        self.record = record
        self.first_on_connection = first_on_connection
        self.ratios: list[float] = []

    def check(self, group: str, visits: list[Visit]) -> list[Violation]:
        found = []
        crawl_delays: dict[str, float] = {}
        shown: set[str] = set()  # hosts whose robots.txt the client has read: it went on to a page
        before: tuple[Visit, float, float] | None = None  # what binds: with the crawl-delay, and without
        for visit in visits:
            contact = _contact(visit, self.first_on_connection)
            if not is_robots(visit):
                shown.add(visit.host)
            if before is not None:
                previous, told, untold = before
                required = told if visit.host in shown else untold
                gap = contact - previous.end + self._lateness(previous)
                if required > 0:
                    self.ratios.append(gap / required)
                if gap < required - self.tolerance:
                    reason = f"{gap:.3f} s after the request before, {required:.3f} s required"
                    found.append(Violation("gap", group, reason, visit, previous))
            if is_robots(visit) and 200 <= visit.status < 300:
                crawl_delays[visit.host] = visit.crawl_delay or 0.0
            untold = self._required(visit, contact)
            told = max(untold, crawl_delays.get(visit.host, 0.0))
            # Of requests that ran at once the one that binds longest stays.
            if before is None or visit.end + told >= before[0].end + before[1]:
                before = visit, told, untold
        return found

    def _required(self, visit: Visit, contact: float) -> float:
        duration = max(0.0, visit.end - contact - self._lateness(visit))
        return max(min(self.factor * duration, self.maximum), self.minimum, visit.retry_after)

    def _lateness(self, visit: Visit) -> float:
        """By how much the end of a visit may be stamped late: only where the client closed during it."""
        if self.record.closed.get(visit.connection) != visit.end:
            return 0.0
        return visit.end - _life_end(self.record, visit.connection, visit.end)


def _robots(group: str, visits: list[Visit], expiry: float, tolerance: float) -> list[Violation]:
    read: dict[str, Visit] = {}
    told: set[str] = set()
    found = []
    for visit in visits:
        parts = urlsplit(visit.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if is_robots(visit):
            read[origin] = visit
            continue
        robots = read.get(origin)
        if visit.forbidden:
            found.append(Violation("forbidden", group, "robots.txt forbids it", visit, robots))
        if robots is None or robots.end > visit.start + tolerance:
            if visit.url and origin not in told:
                told.add(origin)
                reason = f"no robots.txt of {origin} was answered before its first page"
                found.append(Violation("robots_missing", group, reason, visit, robots))
        elif (age := visit.start - robots.end) > expiry + tolerance:
            reason = f"robots.txt was {age:.0f} s old, to be asked for again after {expiry:.0f} s"
            found.append(Violation("robots_expired", group, reason, visit, robots))
    return found
