"""One robots.txt on its way, as plain state: whoever fetches asks it what to do next.

    fetch = RobotsFetch("http://a.example:80", agent, earlier=cache.last("http://a.example:80"))
    while rules is None:
        rules = fetch.answered(*answer to fetch.url)        or fetch.failed(now)
    cache.put("http://a.example:80", rules)

At most five redirects are followed, to other hosts too; what they lead to holds for the
authority that was asked first (RFC 9309, 2.3.1.2). Each hop is a contact of its own host.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin, urlsplit

from .robots import MAX_AGE_SECONDS, RobotsRules

MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_PORTS: Final = {"http": 80, "https": 443}


class RobotsFetch:
    """`url` is what to fetch next; the rules come with the last answer."""

    __slots__ = ("_agent", "_earlier", "_max_age", "redirects", "url")

    def __init__(
        self,
        authority: str,
        agent: str,
        earlier: RobotsRules | None = None,
        max_age: float = MAX_AGE_SECONDS,
    ) -> None:
        self.url = f"{authority}/robots.txt"
        self.redirects = 0
        self._agent = agent
        self._earlier = earlier
        self._max_age = max_age

    def answered(
        self,
        status: int,
        body: bytes,
        now: float,
        content_type: str | None = None,
        cache_control: str | None = None,
        location: str | None = None,
    ) -> RobotsRules | None:
        """The rules, or None when `url` is now the redirect's target and to be fetched."""
        if status in _REDIRECTS and location and self.redirects < MAX_REDIRECTS:
            target = _target(self.url, location)
            if target is not None:
                self.url = target
                self.redirects += 1
                return None
        return RobotsRules.from_response(
            status,
            content_type,
            body,
            self._agent,
            cache_control=cache_control,
            now=now,
            max_age=self._max_age,
            earlier=self._earlier,
        )

    def failed(self, now: float) -> RobotsRules:
        """The rules where no answer came."""
        rules = self.answered(0, b"", now)
        assert rules is not None
        return rules


def authority_of(url: str) -> str:
    """`scheme://host:port` of an http or https URL, the port always written; empty for others."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host:
        return ""
    return f"{parts.scheme}://[{host}]:{port}" if ":" in host else f"{parts.scheme}://{host}:{port}"


def _target(url: str, location: str) -> str | None:
    """Where a Location leads; None where it leads nowhere a crawl goes."""
    try:
        target = urljoin(url, location.strip())
    except ValueError:
        return None
    return target.partition("#")[0] if authority_of(target) else None
