"""One host's addresses, asked of the name servers, with patience.

Some names take tens of seconds to resolve, so a question is asked several times, each time
with a longer wait: from one second to about ninety over five attempts (Najork and Heydon,
High-Performance Web Crawling, 2001). An attempt that fails at once, by a server's failure,
takes its whole wait all the same, or the five would be over in a moment.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiodns
import pycares

# c-ares' numbers; what is not named here is a server failure.
_NO_DATA: Final = 1
_REASONS: Final = {
    1: "no_address",
    4: "no_such_host",
    6: "refused",
    8: "bad_name",
    11: "unreachable",
    12: "timeout",
}
# c-ares gives up sooner than told where a server has been quick so far, down to this, and
# does not take the late answer; sending again, each time with twice the patience, fills the wait.
_SHORTEST_WAIT: Final = 0.25
# Another attempt may find what this one did not.
_TRANSIENT: Final = frozenset(("refused", "unreachable", "timeout", "server_failure"))


@dataclass(slots=True, frozen=True)
class Found:
    """What the servers said: addresses with the shortest lifetime on the way, or a reason for none."""

    addresses: tuple[str, ...]
    ttl_seconds: float = 0
    reason: str = ""

    @property
    def transient(self) -> bool:
        return self.reason in _TRANSIENT


def growing_waits(first: float, last: float, attempts: int) -> list[float]:
    """The waits of the attempts, in geometric progression."""
    if attempts < 2:
        return [first]
    ratio = (max(last, first) / first) ** (1 / (attempts - 1))
    return [first * ratio**n for n in range(attempts)]


class DnsQuery:
    """Asks name servers (`address[:port]`; none = the system's) on the running loop."""

    def __init__(self, servers: Sequence[str], waits: Sequence[float]) -> None:
        self.servers = list(servers)
        self.waits = list(waits)
        # A wait is a property of c-ares' channel: one for each attempt, made on first use,
        # since it belongs to the loop that runs then.
        self._channels: dict[int, Any] = {}

    async def ask(self, host: str) -> Found:
        """A, and AAAA only where there is no A: one query for nearly every host."""
        loop = asyncio.get_running_loop()
        found = Found((), reason="no_address")
        last = len(self.waits) - 1
        for attempt, wait in enumerate(self.waits):
            started = loop.time()
            found = await self._attempt(host, attempt)
            if not found.transient or attempt == last:
                break
            await asyncio.sleep(max(started + wait - loop.time(), 0))
        return found

    async def close(self) -> None:
        """Give up what is asked; a later question starts afresh."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    async def _attempt(self, host: str, attempt: int) -> Found:
        reason = "no_address"
        for kind in ("A", "AAAA"):
            try:
                query = self._channel(attempt).query_dns(host, kind)
                result = await asyncio.wait_for(query, self.waits[attempt])
            except TimeoutError:
                reason = "timeout"
                break
            except aiodns.error.DNSError as error:
                code = error.args[0] if error.args else 0
                reason = _REASONS.get(code, "server_failure")
                if code != _NO_DATA:
                    break
                continue
            except (ValueError, UnicodeError):
                reason = "bad_name"
                break
            addresses = tuple(r.data.addr for r in result.answer if hasattr(r.data, "addr"))
            if addresses:
                # A CNAME on the way may live shorter than the address it leads to.
                return Found(addresses, min(record.ttl for record in result.answer))
        return Found((), reason=reason)

    def _channel(self, attempt: int) -> Any:
        channel = self._channels.get(attempt)
        if channel is None:
            channel = self._channels[attempt] = aiodns.DNSResolver(
                nameservers=self.servers or None,
                loop=asyncio.get_running_loop(),
                timeout=self.waits[0],
                tries=math.ceil(math.log2(self.waits[attempt] / _SHORTEST_WAIT + 1)),
                # A server's failure is told, not answered with the same question at once.
                flags=pycares.ARES_FLAG_NOCHECKRESP,
            )
        return channel
