"""When may a host be contacted again?

The wait after a fetch is a multiple of how long the fetch took, so a slow server is asked
less often (Heydon and Najork, Mercator, 1999). What the host asks for itself, a crawl-delay
or a Retry-After, is never shortened; failures are followed by an exponential back-off,
and confidence in the host returns step by step.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

RETRY_AFTER_MAX_SECONDS = 86_400.0


@dataclass(slots=True, frozen=True)
class Politeness:
    """The rules of waiting, all in seconds except `factor` and `backoff_jitter`.

    `maximum` bounds only the multiple of the fetch time.
    """

    factor: float = 10
    minimum: float = 2
    maximum: float = 300
    backoff_base: float = 30
    backoff_maximum: float = 3600
    backoff_jitter: float = 0.25

    def delay(
        self,
        fetch_seconds: float,
        crawl_delay: float = 0,
        retry_after: float = 0,
        failures: int = 0,
        rng: random.Random | None = None,
    ) -> float:
        """Seconds between the end of this fetch and the next contact with the host."""
        return max(
            min(self.factor * fetch_seconds, self.maximum),
            self.minimum,
            crawl_delay,
            retry_after,
            self.backoff(failures, rng) if failures > 0 else 0.0,
        )

    def backoff(self, failures: int, rng: random.Random | None = None) -> float:
        """The wait after so many failures in a row: doubled each time, spread by the jitter."""
        if failures <= 0:
            return 0.0
        # 2**1024 overflows a float: any exponent this large is the maximum anyway.
        seconds = min(self.backoff_base * 2.0 ** min(failures - 1, 64), self.backoff_maximum)
        # Hosts that failed together (one data centre, our own network) must not return together.
        return seconds * (1 + self.backoff_jitter * rng.random()) if rng else seconds

    def failures_after(self, failures: int, failed: bool) -> int:
        """The failures to reckon with after one more fetch: one more, or half as many if it went well.

        A host that answers again after a bad time is not at once asked at full speed: its
        back-off shrinks from fetch to fetch.
        """
        return failures + 1 if failed else failures // 2


def retry_after_seconds(header: str | None, now_wall: float) -> float:
    """The wait a Retry-After header asks for (RFC 9110, 10.2.3): seconds or a date; 0 if unreadable."""
    text = header.strip() if header else ""
    if not text:
        return 0.0
    if text.isascii() and text.isdigit():
        # Digits beyond a float's range are simply a very long wait.
        seconds = float(text) if len(text) < 16 else RETRY_AFTER_MAX_SECONDS
    else:
        try:
            when = parsedate_to_datetime(text)
            if when.tzinfo is None:
                when = when.replace(tzinfo=UTC)
            seconds = when.timestamp() - now_wall
        except (ValueError, TypeError, IndexError, OverflowError):
            return 0.0
    if not math.isfinite(seconds):
        return 0.0
    return min(max(seconds, 0.0), RETRY_AFTER_MAX_SECONDS)
