"""May we ask for this page?

The rules of one authority (scheme, host, port) as RFC 9309 reads them: a missing file
allows everything, an unreachable one forbids everything until it can be read or thirty days
have passed, only the first 500 KiB count, and an answer is good for a day at most. Matching
is Protego's.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgpack
from protego import Protego

TEXT_MAX_BYTES = 500 * 1024
MAX_AGE_SECONDS = 86_400.0
# A max-age of 0 would mean robots.txt before every page: more load on the host, not less.
MIN_AGE_SECONDS = 300.0
# The first wait before an unreachable file is asked for again; doubled each time, a day at most.
UNREACHABLE_RETRY_SECONDS = 600.0
UNREACHABLE_LIMIT_SECONDS = 30 * 86_400.0
# Not a shortening: by then the file has expired and is read again.
CRAWL_DELAY_MAX_SECONDS = MAX_AGE_SECONDS

_TOO_MANY_REQUESTS = 429
_FORMAT = 2
_BOM = b"\xef\xbb\xbf"
_HTML = re.compile(rb"\s*<(?:!doctype|html|head|body|\?xml|!--)", re.IGNORECASE)
_GROUP = re.compile(rb"^[ \t]*(?:user.?agent|sitemap)", re.IGNORECASE | re.MULTILINE)
# "User-agent: foo bar" means foo, a product token having no blanks; Protego would take it whole.
_AGENT_TAIL = re.compile(r"^([ \t]*user[- ]?agent[ \t]*:[ \t]*[^\s#]+)[ \t]+[^\s#].*$", re.I | re.M)
# As Protego reads one: "User-agent: x", "useragent x", "user agent x".
_AGENT_LINE = re.compile(r"(\s*(?:user-agent|useragent|user\s+agent)(?:\s*:|\s)\s*)([^#]*)", re.I)
# Stands for all names that are not ours; no product token has it.
_OTHERS = "|"
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,12})", re.IGNORECASE)


@dataclass(slots=True)
class RobotsRules:
    """What one robots.txt allows one agent; parsed when first asked.

    `unreachable_since` is the first of the `failures` in a row, 0 while the file can be read.
    """

    text: str
    agent: str
    expires_at: float
    unreachable: bool = False
    unreachable_since: float = 0
    failures: int = 0
    _parsed: Protego | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def from_response(
        cls,
        status: int,
        headers_content_type: str | None,
        body: bytes,
        agent: str,
        *,
        cache_control: str | None = None,
        now: float | None = None,
        max_age: float = MAX_AGE_SECONDS,
        earlier: RobotsRules | None = None,
    ) -> RobotsRules:
        """The rules an answer to `GET /robots.txt` amounts to; status 0 is no answer at all.

        `earlier` are the last rules known, expired or not: they tell how long it has failed.
        """
        moment = time.time() if now is None else now
        # 429 is the one 4xx that says "later", not "there is none".
        if status < 200 or status >= 500 or status == _TOO_MANY_REQUESTS:
            return cls._unreached(agent, moment, max_age, earlier)
        expires_at = moment + _lifetime(cache_control, max_age)
        # A redirect left over here was one too many: RFC 9309, 2.3.1.2 reads it as no file.
        if status >= 300:
            return cls("", agent, expires_at)
        return cls(_without_others(_rules_text(headers_content_type, body), agent), agent, expires_at)

    @classmethod
    def _unreached(
        cls, agent: str, moment: float, max_age: float, earlier: RobotsRules | None
    ) -> RobotsRules:
        since = earlier.unreachable_since if earlier is not None and earlier.failures else moment
        failures = earlier.failures + 1 if earlier is not None else 1
        wait = min(UNREACHABLE_RETRY_SECONDS * 2.0 ** min(failures - 1, 16), max_age)
        forbidden = moment - since < UNREACHABLE_LIMIT_SECONDS
        return cls("", agent, moment + wait, forbidden, since, failures)

    def allowed(self, url: str) -> bool:
        """Whether the agent may fetch `url`; robots.txt itself may always be fetched."""
        if "/robots.txt" in url and urlsplit(url).path == "/robots.txt":
            return True
        if self.unreachable:
            return False
        if not self.text:
            return True
        return bool(self._protego().can_fetch(url, self.agent))

    @property
    def crawl_delay(self) -> float:
        """Seconds the host wants between two contacts, 0 when it does not say; bounded."""
        if not self.text:
            return 0.0
        rules = self._protego()
        delay = rules.crawl_delay(self.agent) or 0.0
        rate = rules.request_rate(self.agent)
        if rate is not None and rate.requests > 0:
            delay = max(delay, rate.seconds / rate.requests)
        return float(min(delay, CRAWL_DELAY_MAX_SECONDS))

    @property
    def sitemaps(self) -> list[str]:
        """The sitemaps named, in order, each once."""
        return list(dict.fromkeys(self._protego().sitemaps)) if self.text else []

    def encode(self) -> bytes:
        """The rules as stored: a msgpack list with the text itself."""
        fields = (self.text, self.agent, self.expires_at, self.unreachable, self.unreachable_since)
        packed: bytes = msgpack.packb([_FORMAT, *fields, self.failures])
        return packed

    @classmethod
    def decode(cls, stored: bytes) -> RobotsRules | None:
        """What `encode` wrote; None for bytes of another format."""
        try:
            version, text, agent, expires_at, unreachable, since, failures = msgpack.unpackb(stored)
            if version != _FORMAT or not isinstance(text, str) or not isinstance(agent, str):
                return None
            return cls(text, agent, float(expires_at), bool(unreachable), float(since), int(failures))
        except (ValueError, TypeError, msgpack.UnpackException):
            return None

    def _protego(self) -> Protego:
        if self._parsed is None:
            self._parsed = Protego.parse(self.text)
        return self._parsed


class RobotsCache:
    """The rules of the authorities met lately, before a slower place that keeps them all.

    Bounded by number and by text, since one file may be 500 KiB; parsed, it takes ten to twenty times
    as much. `now` is wall-clock time:
    expiry outlives the process.
    """

    def __init__(
        self,
        size: int = 10_000,
        max_age: float = MAX_AGE_SECONDS,
        load: Callable[[str], bytes | None] = lambda authority: None,
        save: Callable[[str, bytes], None] = lambda authority, stored: None,
        now: Callable[[], float] = time.time,
        max_characters: int = 16 * 1024 * 1024,
    ) -> None:
        self.size = size
        self.max_age = max_age
        self.max_characters = max_characters
        self._load = load
        self._save = save
        self._now = now
        self._rules: OrderedDict[str, RobotsRules] = OrderedDict()
        self._characters = 0

    def __len__(self) -> int:
        return len(self._rules)

    def get(self, authority: str) -> RobotsRules | None:
        """The rules of `scheme://host:port`; None when they must be fetched (again)."""
        rules = self.last(authority)
        return rules if rules is not None and self._good(rules) else None

    def last(self, authority: str) -> RobotsRules | None:
        """The last rules known, expired or not: what `RobotsRules.from_response` calls `earlier`."""
        rules = self._rules.get(authority)
        if rules is not None:
            self._rules.move_to_end(authority)
            return rules
        stored = self._load(authority)
        rules = RobotsRules.decode(stored) if stored is not None else None
        if rules is not None and self._good(rules):
            self._keep(authority, rules)
        return rules

    def reread(self, authority: str) -> RobotsRules | None:
        """The last rules that anybody has put into the slower place."""
        stored = self._load(authority)
        rules = RobotsRules.decode(stored) if stored is not None else None
        if rules is not None:
            self._keep(authority, rules)
        return rules

    def put(self, authority: str, rules: RobotsRules) -> None:
        """Keep the rules here and in the slower place."""
        rules.expires_at = min(rules.expires_at, self._now() + self.max_age)
        self._keep(authority, rules)
        self._save(authority, rules.encode())

    def _good(self, rules: RobotsRules) -> bool:
        # The upper bound guards against a clock that was wrong when the rules were stored.
        return 0 < rules.expires_at - self._now() <= self.max_age

    def _keep(self, authority: str, rules: RobotsRules) -> None:
        old = self._rules.pop(authority, None)
        if old is not None:
            self._characters -= len(old.text)
        self._rules[authority] = rules
        self._characters += len(rules.text)
        while self._rules and (len(self._rules) > self.size or self._characters > self.max_characters):
            _, oldest = self._rules.popitem(last=False)
            self._characters -= len(oldest.text)


def _lifetime(cache_control: str | None, max_age: float) -> float:
    found = _MAX_AGE.search(cache_control) if cache_control else None
    if found is None:
        return max_age
    return min(max(float(found.group(1)), MIN_AGE_SECONDS), max_age)


def _rules_text(content_type: str | None, body: bytes) -> str:
    """The text to be parsed, empty when the body is no robots.txt."""
    if len(body) > TEXT_MAX_BYTES:
        body = body[:TEXT_MAX_BYTES]
        # Half a line is another rule: "Disallow: /pri" forbids more than "/private" does.
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    # A byte order mark that lost its end is still no part of the first line.
    for length in (3, 2, 1):
        if body.startswith(_BOM[:length]):
            body = body[length:]
            break
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _agents_cut(body.decode("utf-16", "replace"))
    is_html = _HTML.match(body) is not None or "html" in (content_type or "").lower()
    # Many servers label a true robots.txt text/html: a group line decides.
    if is_html and _GROUP.search(body) is None:
        return ""
    return _agents_cut(body.decode("utf-8", "replace"))


def _agents_cut(text: str) -> str:
    return _AGENT_TAIL.sub(r"\1", text)


def _without_others(text: str, agent: str) -> str:
    """The same rules for us, with one name in place of all those that do not mean us.

    Protego gives each name its own copy of the group's rules: 10,000 names before 10,000 rules,
    which fit into 500 KiB, would take ten gigabytes.
    """
    ours = agent.strip().lower()
    # A name is looked for at the beginning of each token of our own.
    starts = [n for n in range(len(ours)) if n == 0 or not (ours[n - 1].isalnum() or ours[n - 1] in "-_")]

    def is_ours(name: str) -> bool:
        spellings = filter(None, (name, name.replace("*", "")))
        return name in ("", "*") or any(ours.startswith(each, n) for each in spellings for n in starts)

    lines: list[str] = []
    for line in text.splitlines():
        found = _AGENT_LINE.match(line)
        if found is not None and not is_ours(found.group(2).strip().lower()):
            line = found.group(1).lstrip() + _OTHERS
            if lines and lines[-1] == line:
                continue
        lines.append(line)
    return "\n".join(lines)
