"""What can be asked of a crawl, and ordered: each action takes the crawl and gives a JSON-able answer."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from crawlerproj.assembly import Crawl
from crawlerproj.frontier.check import check
from crawlerproj.items import Candidate
from crawlerproj.opening import VISITOR
from crawlerproj.storage.interface import NEVER
from crawlerproj.urls.canonical import reject_reason
from crawlerproj.urls.hosts import authority
from crawlerproj.urls.seeds_file import Seed, read_seeds

Answer = dict[str, Any]
_PIECE = 500


class Refused(Exception):
    """The question cannot be answered; the message says why and what to do."""


def stats(crawl: Crawl) -> Answer:
    """The crawl in numbers, over all its runs."""
    counts = crawl.storage.counts
    offered, done, parked = (counts.get(name, 0) for name in ("offered", "done", "parked"))
    frontier = crawl.frontier
    now = time.monotonic()
    due = frontier.next_due()
    return {
        "directory": str(crawl.directory.absolute()),
        "offered": offered,
        "queued": offered - done - parked,
        "done": done,
        "parked": parked,
        "outcomes": _outcomes(counts, "done/"),
        "retries": _outcomes(counts, "retry/"),
        "responses": counts.get("responses", 0),
        "back_queues": len(frontier.back),
        "in_hand": frontier.in_hand,
        "next_due_in": None if due is None else round(max(0.0, due - now), 3),
        "parked_hosts": sum(1 for _ in crawl.storage.parked()),
        "warc_bytes": sum(n for name, n in crawl.storage.file_lengths.items() if name.startswith("warc/")),
    }


def _outcomes(counts: dict[str, int], prefix: str) -> dict[str, int]:
    found = {name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix)}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def hosts(crawl: Crawl, limit: int = 20, parked: bool = False) -> Answer:
    """The hosts with the most queued URLs, or the parked ones."""
    def rows() -> Any:
        for host, record in crawl.storage.items("host"):
            if not parked or record.wake:
                yield record.queued, record.name, host, record
    best = heapq.nlargest(limit, rows(), key=lambda row: (row[0], row[1]))
    wall, now = time.time(), time.monotonic()
    answer = []
    for queued, name, host, record in best:
        queue = crawl.frontier.back.get(host)
        row: Answer = {"host": name, "queued": queued}
        if record.wake:
            row["parked"] = record.reason
            row["wakes_in"] = None if record.wake == NEVER else round(max(0.0, record.wake - wall), 1)
        elif queue is not None:
            row["back_queue"] = True
            row["due_in"] = round(max(0.0, queue.ready_at - now), 3)
        elif record.front is not None:
            row["front_queue"] = crawl.limits.queues - record.front[0]
        contact = crawl.storage.contact(host)
        if contact is not None:
            row["last_delay"] = round(contact.delay, 3)
            row["failures"] = contact.failures
        answer.append(row)
    return {"hosts": answer}


def why(crawl: Crawl, url: str) -> Answer:
    """Why a URL is, is not, or is not yet fetched."""
    spelled = crawl.speller.spell(url)
    if spelled is None:
        return {"url": url, "state": "rejected", "because": f"it is no web address: {reject_reason(url)}"}
    answer = crawl.frontier.why(spelled, time.monotonic())
    reason = crawl.refusal(Candidate(spelled))
    if reason is not None and answer["state"] in ("unknown", "queued"):
        answer["because"] = f"the crawl's filters refuse it: {reason}"
        answer["filter"] = reason
    moved = crawl.moved_to(spelled)
    if moved:
        answer["moved_to"] = moved
    rules = crawl.robots.get(authority(spelled))
    if rules is None:
        answer["robots"] = "not known"
    elif rules.unreachable:
        answer["robots"] = "unreachable"
    else:
        answer["robots"] = "allowed" if rules.allowed(spelled) else "forbidden"
        if rules.crawl_delay:
            answer["crawl_delay"] = rules.crawl_delay
    return answer


async def add(crawl: Crawl, source: str) -> Answer:
    """Offers the URLs of a seed file (or a URL, a comma list) a piece at a time; the crawl goes on."""
    read = new = 0
    rejected: dict[str, int] = {}
    seeds = read_seeds(source)
    try:
        while piece := list(islice(seeds, _PIECE)):
            read += len(piece)
            new += crawl.offer(_wanted(crawl, piece, rejected))
            await crawl.commits.room()
            await asyncio.sleep(0)
            if not crawl.is_open or crawl.failure:
                raise Refused(crawl.failure or f"the crawl ended when {read} URLs were read: add them again")
    except (OSError, ValueError) as error:
        raise Refused(f"{error} ({new} URLs before it were added)" if new else str(error)) from error
    return {"read": read, "new": new, "known": read - new - sum(rejected.values()), "rejected": rejected}


def _wanted(crawl: Crawl, seeds: Iterable[Seed], rejected: dict[str, int]) -> Iterator[Candidate]:
    for seed in seeds:
        url = crawl.speller.spell(seed.url)
        candidate = Candidate(url, 0, min(seed.priority, crawl.limits.queues), seed.label) if url else None
        reason = crawl.refusal(candidate) if candidate is not None else reject_reason(seed.url)
        if candidate is None or reason is not None:
            rejected[str(reason)] = rejected.get(str(reason), 0) + 1
        else:
            yield candidate


def ban(crawl: Crawl, host: str) -> Answer:
    """Parks a host without end: nothing more is fetched from it, its URLs stay queued."""
    key, name = _group(crawl, host)
    _must_be_ours(crawl, key, name)
    record = crawl.storage.host(key)
    crawl.frontier.park(key, name, NEVER, "banned")
    crawl.commits.touched()
    return {"host": name, "banned": True, "queued": record.queued if record is not None else 0}


def unban(crawl: Crawl, host: str) -> Answer:
    """Lets a banned or parked host go on at once."""
    key, name = _group(crawl, host)
    _must_be_ours(crawl, key, name)
    record = crawl.storage.host(key)
    if record is None or not record.wake:
        raise Refused(f"{name} is not parked: `scrapy frontier hosts --parked` lists those that are")
    crawl.storage.wake(key)
    crawl.commits.touched()
    return {"host": name, "banned": False, "queued": record.queued}


def _must_be_ours(crawl: Crawl, host: bytes, name: str) -> None:
    """Of several workers only the owner of a host can park or wake it; of a stopped crawl, anybody."""
    shared = crawl.state.shared
    if shared is None or shared.may_fetch(host, name):
        return
    if shared.worker != VISITOR or shared.claim(shared.partition_of(host, name)) is None:
        raise Refused(f"{name} belongs to a worker on another machine: ask there, or stop the fleet first "
                      "(scrapy fleet stop)")


def _group(crawl: Crawl, host: str) -> tuple[bytes, str]:
    url = crawl.speller.spell(host if "://" in host else f"http://{host}/")
    if url is None:
        raise Refused(f"{host!r} is no host name: give one as it stands in URLs, with its port if it has one")
    return crawl.group_of(url)


def check_state(crawl: Crawl) -> Answer:
    """Proves that what is committed agrees with itself; nothing may be in hand."""
    findings = check(crawl.storage, crawl.limits.queues, crawl.key_of)
    return {"sound": not findings.faults, "faults": findings.faults, "counts": findings.counts}


_ACTIONS: dict[str, Callable[..., Answer | Awaitable[Answer]]] = {
    "stats": stats, "hosts": hosts, "why": why, "add": add, "ban": ban, "unban": unban, "check": check_state,
}


async def act(crawl: Crawl, action: str, arguments: dict[str, Any]) -> Answer:
    """The answer to one question or order."""
    answer = _ACTIONS[action](crawl, **arguments)
    return await answer if isinstance(answer, Awaitable) else answer
