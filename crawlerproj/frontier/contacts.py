"""Contacts, written ahead: when each host was asked, when it may be asked again, what was in hand then.

A contact is on record before its first byte leaves and again when the transfer has ended, outside the commit
groups: the death of the process forgets neither a host's rest nor the URLs that may have caused the death.
Times on record are wall clock; `offset` turns the monotonic clock into it.
"""

from __future__ import annotations

from collections.abc import Callable

from crawlerproj.frontier.back_queues import BackQueue
from crawlerproj.frontier.limits import Limits
from crawlerproj.storage.interface import Contact, Pause, Storage


class Contacts:
    """`may_contact` is for storage that is shared: only the worker that has a host writes of it."""

    def __init__(self, storage: Storage, limits: Limits, opened_wall: float, offset: float,
                 may_contact: Callable[[bytes], bool] | None) -> None:
        self._storage, self._limits = storage, limits
        self.opened_wall, self.offset = opened_wall, offset
        self._may_contact = may_contact

    def load(self, host: bytes) -> Contact:
        return self._storage.contact(host) or Contact()

    def ready_at(self, contact: Contact, now: float) -> float:
        """When a host may be contacted, from its last contact on record."""
        limits = self._limits
        ready = contact.ready_at
        if contact.started and not contact.ended:
            # The process died during this contact. It ended at the latest when it would have timed out.
            ended = min(self.opened_wall, contact.started + limits.fetch_timeout)
            longest = max(0.0, ended - contact.started)
            delay = max(min(limits.delay_factor * longest, limits.delay_maximum), limits.delay_minimum)
            ready = max(ended, contact.started) + max(delay, contact.delay, contact.crawl_delay)
        return min(max(ready - self.offset, now), now + max(limits.ready_maximum, contact.delay))

    def begun(self, queue: BackQueue, now: float) -> None:
        """Bytes may leave after this returns, and not if it raises `Pause`."""
        contact = queue.contact
        before = contact.started, contact.ended
        contact.started, contact.ended = now + self.offset, 0.0
        try:
            self.write(queue)
        except Pause:
            contact.started, contact.ended = before
            raise

    def ended(self, queue: BackQueue, now: float, delay: float, failures: int, crawl_delay: float) -> None:
        contact = queue.contact
        contact.ended = now + self.offset
        contact.ready_at = contact.ended + delay
        contact.delay, contact.failures, contact.crawl_delay = delay, failures, crawl_delay
        self.write(queue)

    def write(self, queue: BackQueue) -> None:
        """Writes the contact with every URL a death of the process would now count against."""
        queue.contact.unsettled = [*queue.unsettled.values(), *queue.suspects.items()]
        self._storage.put_contact(queue.host, queue.contact)

    def clear(self, queue: BackQueue, key: bytes) -> None:
        """The URL is out of hand: a death of the process from now on is not its doing."""
        if any(named == key for named, _ in queue.contact.unsettled):
            self.write(queue)

    def blame(self, host: bytes, queue: BackQueue | None, failures: int) -> None:
        """Adds to the failures on a host's record, or takes from them."""
        if queue is not None:
            queue.contact.failures = max(0, queue.contact.failures + failures)
        elif self._may_contact is not None and not self._may_contact(host):
            return
        elif (found := self._storage.contact(host)) is not None:
            found.failures = max(0, found.failures + failures)
            self._storage.put_contact(host, found)
