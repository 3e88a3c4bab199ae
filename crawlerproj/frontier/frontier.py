"""The frontier: offer, take, begin, release, settle.

    offer    new URLs join their host's run (storage does the newness test)
    take     the due host's next URL; only reading, nothing is removed
    begin    the contact is written ahead: after a crash the host still waits its turn
    release  the transfer has ended; the host may be contacted again at ready_at
    settle   everything that came of the URL is in the group: done, retry or parked

Invariants: a host holds at most one back queue; at most one of its URLs is in transfer; a URL
stays in its run until its settlement has landed. Times are the monotonic clock's; what is
persisted is wall clock.

Source: Heydon and Najork, "Mercator: a scalable, extensible web crawler" (1999).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from crawlerproj.frontier.back_queues import BackQueue, Ticket
from crawlerproj.frontier.contacts import Contacts
from crawlerproj.frontier.front_queues import FrontQueues, Standing
from crawlerproj.frontier.heap import DueHeap
from crawlerproj.frontier.limits import Limits
from crawlerproj.frontier.suspects import Suspects
from crawlerproj.frontier.why import why
from crawlerproj.items import Candidate
from crawlerproj.storage.interface import NEVER, Offer, Pause, Settlement, Storage

if TYPE_CHECKING:
    from crawlerproj.frontier.partitions import PartitionedFronts

_HEAD = 16
_PAUSE_SECONDS = 0.5  # between two tries while storage cannot be reached


class Frontier:
    """`fronts` and `may_contact` are for storage that is shared with other workers: see `partitions`."""

    def __init__(self, storage: Storage, limits: Limits, *, key_of: Callable[[Candidate], bytes],
                 group_of: Callable[[str], tuple[bytes, str]], priority_of: Callable[[Candidate, str], int],
                 now: float, wall: float, rng: random.Random, fronts: PartitionedFronts | None = None,
                 may_contact: Callable[[bytes], bool] | None = None,
                 standing: Standing | None = None) -> None:
        self.storage = storage
        self.limits = limits
        self.key_of, self._group_of, self._priority_of = key_of, group_of, priority_of
        self._offset = wall - now
        self._fronts = fronts or FrontQueues(storage, limits.queues, limits.bias, rng, standing)
        self._shared = fronts is not None
        self._may_contact = may_contact
        self._contacts = Contacts(storage, limits, wall, self._offset, may_contact)
        self._paused_until = 0.0
        self._undrawn: bytes | None = None
        self.orphans: dict[bytes, set[tuple[int, int]]] = {}  # in hand when their partition was lost
        self.back: dict[bytes, BackQueue] = {}
        self._heap = DueHeap(self.back)
        self.in_hand = 0
        self.holding = 0
        self.suspects = Suspects(now)
        storage.held = self.back
        self._next_wake = next((wake for wake, _ in storage.parked()), NEVER)

    # --- in ---------------------------------------------------------------------------------

    def offer(self, candidates: Iterable[Candidate]) -> int:
        """Offers candidates (spelled and filtered); says how many were new."""
        queues, key_of = self.limits.queues, self.key_of
        keyed = [(key_of(candidate), candidate) for candidate in candidates]
        unseen = self.storage.unseen([key for key, _ in keyed])
        offers = []
        for key, candidate in keyed:
            if key in unseen:
                unseen.discard(key)
                host, name = self._group_of(candidate.url)
                rank = queues - self._priority_of(candidate, name)
                offers.append(Offer(key, host, name, rank, candidate.encode()))
        return self.storage.offer(offers) if offers else 0

    # --- out --------------------------------------------------------------------------------

    def take(self, now: float) -> Ticket | None:
        """The next URL of a host that is due, or None: see `next_due`."""
        if now < self._paused_until:
            return None
        self._paused_until = 0.0  # else it would stay due for ever, and the crawl would neither rest nor end
        try:
            return self._take(now)
        except Pause:
            self._paused_until = now + _PAUSE_SECONDS
            return None

    def _take(self, now: float) -> Ticket | None:
        if now + self._offset >= self._next_wake:
            self._wake_parked(now)
        if self.suspects.waiting:
            self._look_at(self.suspects.patience_is_over(now))
        while len(self.back) < self.limits.back_queues_min and self._promote(now):
            pass
        while True:
            while (queue := self._heap.pop(now)) is not None:
                if self._may_contact is not None and not self._may_contact(queue.host):
                    self._heap.schedule(queue, now + _PAUSE_SECONDS)  # the lease has run out, or soon will
                    continue
                ticket = self._draw(queue, now)
                if ticket is not None:
                    return ticket
            # Nobody is due: politeness alone must not starve the downloader, so one more host gets a queue.
            if len(self.back) < self.limits.back_queues_max and self._promote(now):
                continue
            if not self.suspects.waiting or not self._has_nothing_else(now):
                return None
            self._look_at(self.suspects.nothing_else(now))

    def _has_nothing_else(self, now: float) -> bool:
        due = self.next_due()
        storage = self.storage
        return not (self.in_hand or storage.dirty or storage.landing) and (due is None or due > now + 1.0)

    def next_due(self) -> float | None:
        """When the next host is due, None if none is scheduled."""
        due = self._heap.next_due()
        if self._next_wake != NEVER:
            wake = self._next_wake - self._offset
            due = wake if due is None else min(due, wake)
        if self._paused_until and (due is None or due < self._paused_until):
            # Within the pause there is nothing to be had; after it, `take` must be asked once.
            due = self._paused_until
        return due

    def _promote(self, now: float) -> bool:
        """Gives a back queue to the next waiting host."""
        host, self._undrawn = self._undrawn or self._fronts.take(), None
        if host is None:
            return False
        try:
            record = self.storage.host(host)
            if record is None or host in self.back:
                return True
            contact = self._contacts.load(host)
        except Pause:
            self._undrawn = host  # its turn comes again
            raise
        queue = BackQueue(host, record.name, contact, self._contacts.ready_at(contact, now))
        queue.suspects = dict(contact.unsettled)
        self.back[host] = queue
        self._heap.schedule(queue)
        return True

    def _remaining(self, queue: BackQueue) -> int:
        record = self.storage.host(queue.host)
        return record.queued - len(queue.unsettled) if record is not None else 0

    def _more_urgent(self, queue: BackQueue, rank: int) -> bool:
        """Is something queued for the host, and not in hand, that comes before `rank`?"""
        record = self.storage.host(queue.host)
        return record is not None and any(
            level < rank and count > sum(held == level for held, _ in queue.unsettled)
            for level, (count, _) in record.levels.items()
        )

    def _draw(self, queue: BackQueue, now: float) -> Ticket | None:
        head = queue.head
        while True:
            if head and queue.stale and self._more_urgent(queue, head[0].rank):
                head.clear()
            if not head:
                queue.stale = False
                try:
                    # No more than its quantum lets it draw: most hosts have little, at several levels.
                    wanted = max(1, min(_HEAD, self.limits.quantum - queue.taken))
                    found = self.storage.read_run(queue.host, wanted + len(queue.drawn))
                except Pause:
                    self._heap.schedule(queue)
                    raise
                head.extend(entry for entry in found if (entry.rank, entry.seq) not in queue.drawn)
                if not head:
                    # What is left is in a group that has not landed; scheduling now would spin until it has.
                    self._leave_or_sleep(queue, readable=False)
                    return None
            entry = head.popleft()
            candidate = Candidate.decode(entry.candidate)
            key = self.key_of(candidate)
            deaths = queue.suspects.get(key, 0)
            trial = 0 < deaths < self.limits.max_attempts
            if trial and not self.suspects.may_be_drawn(queue.host, deaths, now):
                head.appendleft(entry)
                return None
            ticket = Ticket(queue.host, queue.name, entry, key, candidate,
                            candidate.attempts + 1, deaths)
            position = (entry.rank, entry.seq)
            queue.drawn.add(position)
            queue.returned.discard(position)
            queue.unsettled[position] = (key, deaths + 1)
            queue.suspects.pop(key, None)
            self.in_hand += 1
            if deaths >= self.limits.max_attempts:
                # It was in hand at every one of these deaths: a page that kills the process.
                self.settle(ticket, "parked", "poison")
                if queue.host not in self.back:
                    return None
                continue
            if deaths:
                self.suspects.current = ticket
            queue.hand = ticket
            queue.token = 0  # settling a poisoned URL may have scheduled the queue
            return ticket

    # --- a ticket's life --------------------------------------------------------------------

    def put_back(self, ticket: Ticket) -> None:
        """Undoes a take: the URL is the head of its queue again."""
        if self._is_orphan(ticket):
            return
        queue = self.back[ticket.host]
        position = (ticket.entry.rank, ticket.entry.seq)
        queue.drawn.discard(position)
        queue.returned.add(position)
        del queue.unsettled[position]
        queue.head.appendleft(ticket.entry)
        if ticket.suspect:
            queue.suspects[ticket.key] = ticket.deaths
        if queue.hand is ticket:
            queue.hand = None
        self.in_hand -= 1
        ticket.settled = True
        self._contacts.clear(queue, ticket.key)
        self._forget_suspect(ticket)
        self._leave_or_sleep(queue)

    def hold(self, ticket: Ticket) -> None:
        """Undoes a take; the host is not drawn again until `resume`, and nobody waits for it."""
        if ticket.host in self.back:
            self.back[ticket.host].held = True
            self.holding += 1
        self.put_back(ticket)

    def resume(self, host: bytes) -> None:
        queue = self.back.get(host)
        if queue is not None and queue.held:
            queue.held = False
            self.holding -= 1
            self._leave_or_sleep(queue)

    def begin(self, ticket: Ticket, now: float) -> None:
        """Writes the contact ahead; bytes may leave after this returns, and not if it raises `Pause`."""
        queue = self.back[ticket.host]
        queue.busy, queue.hand = True, None
        queue.taken += 1
        try:
            self._contacts.begun(queue, now)
        except Pause:
            queue.busy, queue.taken = False, queue.taken - 1
            self._paused_until = now + _PAUSE_SECONDS
            self.put_back(ticket)
            raise

    def release(self, host: bytes, now: float, delay: float, failures: int = 0,
                crawl_delay: float = 0.0) -> None:
        """The transfer has ended: the host may be contacted again after `delay` seconds."""
        if host in self.orphans:
            return
        queue = self.back[host]
        queue.busy, queue.hand = False, None
        queue.ready_at = now + delay
        self._contacts.ended(queue, now, delay, failures, crawl_delay)
        if queue.taken >= self.limits.quantum and not self._fronts.exhausted:
            queue.leaving = True
        self._leave_or_sleep(queue)

    def blame(self, host: bytes, failures: int) -> None:
        """Adds to the failures on a host's record, or takes from them."""
        self._contacts.blame(host, self.back.get(host), failures)

    def failures(self, host: bytes) -> int:
        queue = self.back.get(host)
        return queue.contact.failures if queue else 0

    def crawl_delay(self, host: bytes) -> float:
        """What the host's robots.txt asked for when it was last read."""
        queue = self.back.get(host)
        return queue.contact.crawl_delay if queue else 0.0

    def settle(self, ticket: Ticket, kind: str, outcome: str) -> None:
        """Ends a ticket: `done`, `parked`, or `retry` at the tail of its host."""
        if ticket.settled:
            raise RuntimeError(f"settled twice: {ticket.candidate.url}")
        if self._is_orphan(ticket):
            return
        ticket.settled = True
        self.in_hand -= 1
        queue = self.back[ticket.host]
        rank, seq = ticket.entry.rank, ticket.entry.seq
        del queue.unsettled[rank, seq]
        if queue.hand is ticket:
            queue.hand = None
        candidate = b""
        if kind == "retry":
            ticket.candidate.attempts = ticket.attempts
            candidate = ticket.candidate.encode()
        self.storage.settle(Settlement(ticket.key, ticket.host, rank, seq, kind, outcome,
                                       queue.low_mark(rank, seq), candidate, ticket.entry.candidate))
        if ticket.suspect or kind == "retry":
            # The others do not come back, unless their group is lost: then one death counts too many.
            # A third write for every page would be dear.
            self._contacts.clear(queue, ticket.key)
        self._leave_or_sleep(queue)

    def _leave_or_sleep(self, queue: BackQueue, readable: bool = True) -> None:
        """After every change: the host leaves its back queue, is scheduled, or sleeps until a group lands."""
        if queue.busy or queue.held or queue.hand is not None:
            return
        if not queue.unsettled:
            record = self.storage.host(queue.host)
            if queue.park is not None:
                self._drop(queue)
                self.storage.park(queue.host, *queue.park, queue.name)
                self._next_wake = min(self._next_wake, queue.park[0])
                return
            if record is None or not record.queued:
                self._drop(queue)
                if self._shared:
                    self.storage.requeue(queue.host)  # others may have offered to it meanwhile
                return
            if queue.leaving:
                self._drop(queue)
                self.storage.requeue(queue.host)
                return
        if queue.leaving or queue.park is not None or queue.token:
            return
        if readable and self._remaining(queue) > 0:
            self._heap.schedule(queue)

    def _drop(self, queue: BackQueue) -> None:
        queue.token = 0
        del self.back[queue.host]

    def landed(self, settled: Iterable[tuple[bytes, int, int]], touched: Iterable[bytes]) -> None:
        """A group has landed: its deletes are gone, its additions can be read; wakes the hosts it touched."""
        for host, rank, seq in settled:
            queue = self.back.get(host)
            if queue is not None:
                queue.drawn.discard((rank, seq))
            suspect = self.suspects.current
            if suspect is not None and suspect.host == host and suspect.entry[:2] == (rank, seq):
                self._forget_suspect(suspect)
        self._fronts.arrivals()
        for host in touched:
            queue = self.back.get(host)
            if queue is None:
                continue
            queue.stale = True
            self._leave_or_sleep(queue)

    def _forget_suspect(self, ticket: Ticket) -> None:
        self._look_at(self.suspects.ended(ticket))

    def _look_at(self, hosts: Iterable[bytes]) -> None:
        for host in hosts:
            queue = self.back.get(host)
            if queue is not None:
                self._leave_or_sleep(queue)

    # --- parking ----------------------------------------------------------------------------

    def park(self, host: bytes, name: str, wake_wall: float, reason: str) -> None:
        """Takes a host out until `wake_wall` (NEVER: a ban); its URLs stay queued."""
        queue = self.back.get(host)
        if queue is not None:
            queue.park = (wake_wall, reason)
            queue.token = 0
            self._leave_or_sleep(queue)
        else:
            self.storage.park(host, wake_wall, reason, name)
            self._next_wake = min(self._next_wake, wake_wall)

    def _wake_parked(self, now: float) -> None:
        wall = now + self._offset
        next_wake = NEVER
        for _, host in self.storage.parked():
            record = self.storage.host(host)
            if record is None or not record.wake:
                continue  # woken by a group that has not landed
            if record.wake > wall:
                next_wake = record.wake
                break
            self.storage.wake(host)
        self._next_wake = next_wake  # a Pause leaves it due

    # --- shared storage: see `partitions` ---------------------------------------------------

    def adopted(self, wall: float) -> None:
        """A partition came: contacts of its hosts without an end have ended by now, some may be parked."""
        self._contacts.opened_wall = wall
        self._next_wake = min(self._next_wake, wall)  # `take` looks

    def lost(self, ticket: Ticket) -> bool:
        """Did the ticket's partition go to another worker while it was in hand?"""
        return (ticket.entry.rank, ticket.entry.seq) in self.orphans.get(ticket.host, ())

    def _is_orphan(self, ticket: Ticket) -> bool:
        """Ends a ticket of a lost partition."""
        left = self.orphans.get(ticket.host)
        position = (ticket.entry.rank, ticket.entry.seq)
        if left is None or position not in left:
            return False
        left.discard(position)
        if not left:
            del self.orphans[ticket.host]
        ticket.settled = True
        return True

    # --- state ------------------------------------------------------------------------------

    def mark(self) -> None:
        """Refreshes the marks that keep reads from crossing what has been deleted."""
        held = []
        for host in self.back:
            record = self.storage.host(host)
            if record is not None and record.front is not None:
                held.append(record.front)
        self._fronts.mark(held)

    def idle(self) -> bool:
        """Nothing in hand and no host waiting for a back queue."""
        return not self.in_hand and self._fronts.exhausted and not self.suspects.waiting

    def why(self, url: str, now: float) -> dict[str, Any]:
        """What is known of a URL and of its host, and why it is not fetched now."""
        return why(self, url, *self._group_of(url), now)
