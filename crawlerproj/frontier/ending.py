"""When does a crawl end? Asked when nothing is in flight or uncommitted.

`finished`: nothing that is queued is due, ever. `waiting`: the next host is due later than the horizon. A
wait that nobody asked for does not end a crawl: a host whose fetch was cut by the death of the process rests
as after the slowest fetch there could have been, and the crawl that was killed would have gone on.
"""

from __future__ import annotations

from crawlerproj.frontier.frontier import Frontier


def ending(frontier: Frontier, now: float, horizon: float, answered: bool) -> str:
    """The reason to end, or nothing. `answered`: has any host ever answered, or has none been tried?"""
    due = frontier.next_due()
    if due is None:
        return "finished" if frontier.idle() else ""  # else hosts wait for a back queue
    if not answered and _everyone_failed(frontier):
        return "no_seed_reachable"
    return "" if due - now <= horizon or _interrupted(frontier) else "waiting"


def _everyone_failed(frontier: Frontier) -> bool:
    """Waiting longer helps nobody."""
    return frontier.idle() and all(queue.taken and queue.contact.failures for queue in frontier.back.values())


def _interrupted(frontier: Frontier) -> bool:
    # Nothing is in flight: a contact without an end is one of a process that died.
    return any(queue.contact.started and not queue.contact.ended for queue in frontier.back.values())
