"""A download slot of Scrapy's that keeps a host's gaps from the end of a fetch, not from its start.

Scrapy's own slot counts its delay from the start of the last request and learns of a
failure only after the next request was let go. This one sets its clock at the moment a
transfer ends, before Scrapy looks for the next; what is learnt later (Retry-After, a
failure, a crawl-delay) can only move the clock on.
"""

from __future__ import annotations

import random
from time import monotonic

from scrapy import Request
from scrapy.core.downloader import Slot

from .politeness import Politeness


class PoliteSlot(Slot):
    """One connection, and the wait after it that `Politeness` asks for."""

    def __init__(self, politeness: Politeness) -> None:
        super().__init__(concurrency=1, delay=0, jitter=0)
        self.transferring = _Transfers(self)
        self.politeness = politeness
        self.failures = 0
        self.ended_at = 0.0
        self.ready_at = 0.0

    def free_transfer_slots(self) -> int:
        # By the clock, not by `transferring`: a request let go enters it only a moment later.
        return 0 if self.lastseen > self.ended_at else 1

    def download_delay(self) -> float:
        return max(self.ready_at - self.lastseen, 0.0)

    def ended(self) -> None:
        """A transfer is over: the host rests at least as long as its fetch time asks for."""
        self.ended_at = monotonic()
        self._rest(self.politeness.delay(self.ended_at - self.lastseen))

    def judge(
        self, failed: bool, fetch_seconds: float, crawl_delay: float, retry_after: float, rng: random.Random
    ) -> None:
        """What came of the last transfer; the rest it asks for is counted from its end."""
        self.failures = self.politeness.failures_after(self.failures, failed)
        self._rest(self.politeness.delay(fetch_seconds, crawl_delay, retry_after, self.failures, rng))

    def _rest(self, seconds: float) -> None:
        self.ready_at = max(self.ready_at, self.ended_at + seconds)
        # Scrapy forgets a slot a minute after this.
        self.delay = self.download_delay()


class _Transfers(set[Request]):
    """The requests under way; their slot is told when one is not any more."""

    def __init__(self, slot: PoliteSlot) -> None:
        super().__init__()
        self._slot = slot

    def remove(self, request: Request) -> None:
        super().remove(request)
        self._slot.ended()
