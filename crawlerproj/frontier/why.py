"""Why is a URL not fetched now? What storage and back queues know of it, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlerproj.items import Candidate
from crawlerproj.storage.interface import NEVER

if TYPE_CHECKING:
    from crawlerproj.frontier.frontier import Frontier

_LOOKED_AT = 5_000


def why(frontier: Frontier, url: str, host: bytes, name: str, now: float) -> dict[str, Any]:
    """What is known of a URL and of its host, and why it is not fetched now."""
    key = frontier.key_of(Candidate(url))
    state = frontier.storage.known(key)
    answer: dict[str, Any] = {"url": url, "host": name}
    if state is None:
        answer["state"] = "unknown"
        answer["because"] = "it has never been offered: not linked from a fetched page, or filtered"
        return answer
    kind, _, outcome = state.decode().partition(":")
    if kind == "s":  # shared storage keeps a fingerprint, not what became of the URL
        kind = "q" if _is_queued(frontier, host, key) else "d"
    answer["state"] = {"q": "queued", "d": "done", "p": "parked"}[kind]
    if outcome:
        answer["outcome"] = outcome
    if kind != "q":
        return answer
    record = frontier.storage.host(host)
    queue = frontier.back.get(host)
    answer["host_queued"] = record.queued if record else 0
    if record is not None and record.wake:
        answer["because"] = f"its host is parked: {record.reason}"
        answer["wake"] = None if record.wake == NEVER else record.wake
    elif queue is not None and any(k == key for k, _ in queue.unsettled.values()):
        answer["because"] = "it is being fetched or processed now"
    elif queue is not None:
        answer["because"] = "its host has a back queue; earlier URLs of the host come first"
        answer["host_due_in"] = round(max(0.0, queue.ready_at - now), 3)
    else:
        answer["because"] = "its host waits in a front queue"
        answer["front_queue"] = frontier.limits.queues - record.front[0] if record and record.front else None
    return answer


def _is_queued(frontier: Frontier, host: bytes, key: bytes) -> bool:
    """Is the URL in its host's run? Looks at the first thousands of it."""
    entries = frontier.storage.read_run(host, _LOOKED_AT)
    return any(frontier.key_of(Candidate.decode(entry.candidate)) == key for entry in entries)
