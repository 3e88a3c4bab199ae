"""What may be done with a page? The robots directives of meta elements and X-Robots-Tag headers.

Rules for all robots and rules for ours add up, and the stricter wins, as search engines do it. A page is
unavailable after a moment; whether that has come is the reader's question (`forbids_index`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Directives that take a value after a colon: what stands before any other colon names a robot.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_MAX_LENGTH = 2_000


class Directives:
    """The wishes of one page, gathered from all places where they may stand."""

    __slots__ = ("_agent", "noarchive", "nofollow", "noindex", "unavailable_after")

    def __init__(self, agent: str = "") -> None:
        self._agent = agent.lower()
        self.noindex = self.nofollow = self.noarchive = False
        self.unavailable_after = 0.0  # seconds since the epoch; 0 = always available

    def read_headers(self, values: Iterable[str]) -> None:
        """X-Robots-Tag: each header's rules are for all, or for the robot named in front of them."""
        for value in values:
            ours = True
            for rule in _rules(value):
                name, colon, rest = rule.partition(":")
                name = name.strip().lower()
                if colon and name not in _VALUED:
                    ours = self.is_ours(name)
                    rule = rest
                if ours:
                    self._apply(rule)

    def read_meta(self, name: str, content: str) -> None:
        """A meta element: its name is `robots` or a robot's."""
        if self.is_ours(name):
            for rule in _rules(content):
                self._apply(rule)

    def is_ours(self, name: str) -> bool:
        name = name.strip().lower()
        return name in ("robots", "*") or (name != "" and name == self._agent)

    def told(self) -> str:
        """The wishes in one line, as a meta element would say them; empty if there are none."""
        wishes = [name for name in ("noindex", "nofollow", "noarchive") if getattr(self, name)]
        if self.unavailable_after:
            end = datetime.fromtimestamp(self.unavailable_after, UTC).isoformat(timespec="seconds")
            wishes.append(f"unavailable_after: {end}")
        return ", ".join(wishes)

    def _apply(self, rule: str) -> None:
        name, _, value = rule.partition(":")
        words = name.lower().split()
        if words == ["unavailable_after"]:
            self._end_at(moment(value))
            return
        for word in words:  # some separate their rules by blanks
            self.noindex |= word in ("noindex", "none")
            self.nofollow |= word in ("nofollow", "none")
            self.noarchive |= word in ("noarchive", "nocache")

    def _end_at(self, at: float) -> None:
        if at and (not self.unavailable_after or at < self.unavailable_after):
            self.unavailable_after = at


def forbids_index(noindex: bool, unavailable_after: float, now: float) -> bool:
    """Whether the page must not be shown in a result at this time."""
    return noindex or 0 < unavailable_after <= now


def withholds(told: str, now: float) -> bool:
    """Whether a page whose wishes were recorded so must not be shown in a result now."""
    directives = Directives()
    directives.read_meta("robots", told)
    return forbids_index(directives.noindex, directives.unavailable_after, now)


def moment(text: str) -> float:
    """Seconds since the epoch of an RFC 822, RFC 850 or ISO 8601 date; 0 if it is none of these."""
    text = text.strip()
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return 0.0


def _rules(value: str) -> list[str]:
    """The rules between commas; a date's own comma does not end it."""
    rules: list[str] = []
    for part in value[:_MAX_LENGTH].split(","):
        dated = rules and "unavailable_after" in rules[-1].lower()
        if dated and part.lstrip()[:1].isdigit():
            rules[-1] += f",{part}"
        else:
            rules.append(part)
    return rules
