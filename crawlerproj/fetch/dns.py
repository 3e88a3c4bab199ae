"""Where is this host?

Answers live as long as their records say, within bounds; "no such host" is remembered too;
simultaneous questions about one host are one query. An answer that has expired not long
ago is still given while it is asked for again behind the scenes, so a host in work never
waits for its name twice (RFC 8767). The cache is bounded, forgets what was asked for
longest ago, and may stand before a slower place that keeps answers across restarts.
IP literals, localhost (RFC 6761, 6.3) and /etc/hosts never reach the network.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgpack

from .addresses import parse_address
from .dns_query import DnsQuery, Found, growing_waits

_HOSTS_FILE = Path("/etc/hosts")
_LOCALHOST = ["127.0.0.1", "::1"]
_FORMAT = 1


class DnsError(Exception):
    """The host has no address; `reason` doubles as a stat name."""

    def __init__(self, reason: str, host: str = "") -> None:
        super().__init__(f"{host}: {reason}" if host else reason)
        self.reason = reason
        self.host = host


class _Answer:
    __slots__ = ("addresses", "expires_at", "reason")

    def __init__(self, addresses: list[str], expires_at: float, reason: str = "") -> None:
        self.addresses = addresses
        self.expires_at = expires_at
        self.reason = reason


class Resolver:
    """A caching stub resolver on the running loop; `servers` are `address[:port]`, none = the system's.

    `now` is the process's own clock; `wall` dates what `save` keeps and `load` finds again.
    All times in seconds.
    """

    def __init__(
        self,
        servers: Sequence[str],
        min_ttl: float = 60,
        max_ttl: float = 86_400,
        negative_ttl: float = 30,
        stale: float = 0,
        size: int = 100_000,
        waits: Sequence[float] = tuple(growing_waits(1, 90, 5)),
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        hosts_file: Path = _HOSTS_FILE,
        load: Callable[[str], bytes | None] = lambda host: None,
        save: Callable[[str, bytes], None] = lambda host, stored: None,
    ) -> None:
        self.min_ttl = min_ttl
        self.max_ttl = max_ttl
        self.negative_ttl = negative_ttl
        self.stale = stale
        self.size = size
        self.load = load
        self.save = save
        # `seconds` is the sum of the time that `misses` and `refreshes` took.
        self.counters: dict[str, float] = dict.fromkeys(
            ("hits", "misses", "joins", "failures", "stale", "refreshes", "seconds"), 0
        )
        self._now = now
        self._wall = wall
        self._query = DnsQuery(servers, waits)
        self._hosts = read_hosts(hosts_file)
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._questions: dict[str, asyncio.Task[_Answer]] = {}

    def cached(self, host: str) -> list[str] | None:
        """The addresses known now: None = not known, [] = known to have none."""
        answer = self._answers.get(host)
        if answer is not None and answer.expires_at > self._now():
            self._answers.move_to_end(host)
            self.counters["hits"] += 1
            return answer.addresses
        host = _key(host)
        local = self.local(host)
        if local is not None:
            return local
        answer = self._known(host)
        return None if answer is None else answer.addresses

    async def lookup(self, host: str) -> list[str]:
        """The addresses of the host, asked for if need be; raises `DnsError` when there is none."""
        host = _key(host)
        local = self.local(host)
        if local is not None:
            return local
        answer = self._known(host) or await self._ask(host)
        if not answer.addresses:
            raise DnsError(answer.reason, host)
        return answer.addresses

    async def lookup_many(self, hosts: Iterable[str]) -> dict[str, list[str] | DnsError]:
        """All the hosts at once, each with its addresses or its error."""
        names = list(dict.fromkeys(hosts))
        found = await asyncio.gather(*map(self.lookup, names), return_exceptions=True)
        results: dict[str, list[str] | DnsError] = {}
        for name, result in zip(names, found, strict=True):
            if isinstance(result, BaseException) and not isinstance(result, DnsError):
                raise result
            results[name] = result
        return results

    async def close(self) -> None:
        """Stop what is being asked; the cache stays, and a later lookup starts afresh."""
        questions = list(self._questions.values())
        for question in questions:
            question.cancel()
        await asyncio.gather(*questions, return_exceptions=True)
        await self._query.close()

    def local(self, host: str) -> list[str] | None:
        """The addresses that need no question: a literal's, localhost's, those of the hosts file."""
        # No literal ends otherwise than in a digit or lacks a colon: spare most names the parse.
        if host[-1:].isdigit() or ":" in host:
            literal = parse_address(host)
            if literal is not None:
                # Dots are spelled in one way only, and writing an address out costs more than all the rest.
                return [host] if literal.version == 4 else [str(literal)]
        if host == "localhost" or host.endswith(".localhost"):
            return self._hosts.get(host, _LOCALHOST)
        return self._hosts.get(host)

    def _known(self, host: str) -> _Answer | None:
        """The answer that is fresh, or stale but good enough while it is asked for again."""
        answer = self._answers.get(host)
        if answer is None:
            answer = self._loaded(host)
            if answer is None:
                return None
        overdue = self._now() - answer.expires_at
        if overdue >= 0 and not (answer.addresses and overdue < self.stale and self._refresh(host)):
            self._answers.pop(host, None)
            return None
        self._answers.move_to_end(host)
        self.counters["hits"] += 1
        return answer

    def _refresh(self, host: str) -> bool:
        """Ask again in the background; False where no loop runs that could."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        self.counters["stale"] += 1
        if host not in self._questions:
            self.counters["refreshes"] += 1
            self._start(host)
        return True

    async def _ask(self, host: str) -> _Answer:
        question = self._questions.get(host)
        if question is None:
            self.counters["misses"] += 1
            question = self._start(host)
        else:
            self.counters["joins"] += 1
        # Shielded: a fetch that is given up must not take the answer from those who joined it.
        try:
            return await asyncio.shield(question)
        except asyncio.CancelledError:
            if question.cancelled():
                raise DnsError("closed", host) from None
            raise

    def _start(self, host: str) -> asyncio.Task[_Answer]:
        question = asyncio.get_running_loop().create_task(self._asked(host))
        self._questions[host] = question
        question.add_done_callback(lambda _: self._questions.pop(host, None))
        return question

    async def _asked(self, host: str) -> _Answer:
        started = self._now()
        found = await self._query.ask(host)
        self.counters["seconds"] += self._now() - started
        earlier = self._answers.get(host)
        if found.addresses:
            answer = self._positive(found, earlier)
            stored = [_FORMAT, answer.addresses, self._wall() + answer.expires_at - self._now()]
            self.save(host, msgpack.packb(stored))
        else:
            self.counters["failures"] += 1
            if found.transient and earlier is not None and earlier.addresses:
                return earlier  # nothing was learnt: the old answer stays as long as it may
            answer = _Answer([], self._now() + self.negative_ttl, found.reason)
        self._keep(host, answer)
        return answer

    def _positive(self, found: Found, earlier: _Answer | None) -> _Answer:
        addresses = list(found.addresses)
        if earlier is not None:
            # Servers turn the order round at every answer. The address in use stays first, or a
            # second connection would be opened to the host while the first is still kept.
            rank = {address: place for place, address in enumerate(earlier.addresses)}
            addresses.sort(key=lambda address: rank.get(address, len(rank)))
        ttl = min(max(found.ttl_seconds, self.min_ttl), self.max_ttl)
        return _Answer(addresses, self._now() + ttl)

    def _loaded(self, host: str) -> _Answer | None:
        stored = self.load(host)
        if stored is None:
            return None
        try:
            version, addresses, expires_wall = msgpack.unpackb(stored)
            left = float(expires_wall) - self._wall()
        except (ValueError, TypeError, msgpack.UnpackException):
            return None
        # The upper bound guards against a clock that was wrong when the answer was stored.
        if version != _FORMAT or not -self.stale < left <= self.max_ttl or not _addresses(addresses):
            return None
        answer = _Answer(addresses, self._now() + left)
        self._keep(host, answer)
        return answer

    def _keep(self, host: str, answer: _Answer) -> None:
        self._answers[host] = answer
        self._answers.move_to_end(host)
        while len(self._answers) > self.size:
            self._answers.popitem(last=False)


def read_hosts(path: Path) -> dict[str, list[str]]:
    """Name to addresses as a hosts file has them, IPv4 first; empty when it cannot be read."""
    found: dict[str, list[str]] = {}
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return found
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if len(words) < 2 or parse_address(words[0]) is None:
            continue
        for name in words[1:]:
            addresses = found.setdefault(name.lower().rstrip("."), [])
            if words[0] not in addresses:
                addresses.append(words[0])
    for addresses in found.values():
        addresses.sort(key=lambda address: ":" in address)
    return found


def _addresses(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _key(host: str) -> str:
    host = host.lower().rstrip(".")
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host
