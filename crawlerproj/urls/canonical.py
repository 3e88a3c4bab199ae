"""How is a URL spelled? Two links to one page must give one string, or the page is fetched twice.

The spelling is that of the WHATWG URL standard, less what the server does not see or does not
need: the fragment, credentials, tracking and session parameters. The rest of the query keeps its
exact text. Spelling is idempotent: `spell(spell(x)) == spell(x)`.

The seen-set holds spelled URLs, so a change of rules makes a stored crawl blind to its own past:
`Speller.fingerprint` is kept beside the crawl, and `RULES_VERSION` grows with this module's rules.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from fnmatch import translate

from ada_url import join_url, normalize_url

RULES_VERSION = 1

# A name alone is a glob over parameter names; with "=" it is a glob over the whole parameter, for
# names such as `sid` that are a session on one site and a section on the next.
_HEX_32 = "[0-9a-f]" * 32
DEFAULT_STRIP_PARAMS: tuple[str, ...] = (
    "utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "yclid", "twclid",
    "igshid", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "mkt_tok", "_openstat", "vero_id", "_ga", "_gl",
    "phpsessid", "jsessionid", "aspsessionid*", "cfid", "cftoken",
    f"sid={_HEX_32}", f"s={_HEX_32}", f"session_id={_HEX_32}",
)

# Already canonical, as most links on the web are: lower-case host with a letters-only last label (no
# IPv4 in disguise), no punycode to validate, no segment that begins with a dot, nothing to encode.
_PLAIN = re.compile(
    r"https?://(?:(?!xn--)[a-z0-9-]++\.)++(?!xn--)[a-z]{2,}+(?::(?:[1-5]\d{4}|[1-9]\d{3}))?+"
    r"(?:/|(?:/[\w~+,:=@!$&()*-][\w.~+,:=@!$&()*-]*+)++/?+)",
    re.ASCII,
).fullmatch
# The same for a link from the root of its host; "//" would name another host.
_PLAIN_PATH = re.compile(r"/|(?:/[\w~+,:=@!$&()*-][\w.~+,:=@!$&()*-]*+)++/?+", re.ASCII).fullmatch
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.ASCII | re.IGNORECASE).match
_PATH_PARAMETER = re.compile(r";([^;/=]+)=[^;/]*")
_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_IGNORED_BY_PARSER = str.maketrans("", "", "\t\r\n")
_NAMED_SCHEMES = frozenset({"javascript", "mailto", "data"})

_KEEP, _STRIP, _LOOK_AT_VALUE = range(3)
_VERDICTS_LIMIT = 4096
_PLAIN_LIMIT = 20_000  # some 3 MB


class Speller:
    """Gives each URL its one spelling under the rules of a crawl."""

    __slots__ = (
        "_base", "_names", "_origin", "_parameters", "_plain", "_rules", "_sort_query", "_value_names",
        "_verdicts",
    )

    def __init__(self, strip_params: Sequence[str] = DEFAULT_STRIP_PARAMS, sort_query: bool = False) -> None:
        patterns = sorted({pattern.strip().lower() for pattern in strip_params} - {""})
        with_value = [pattern for pattern in patterns if "=" in pattern]
        self._rules = patterns
        self._names = _any_of([pattern for pattern in patterns if "=" not in pattern])
        self._value_names = _any_of([pattern.partition("=")[0] for pattern in with_value])
        self._parameters = _any_of(with_value)
        self._sort_query = sort_query
        self._base = self._origin = ""  # the page whose links are being spelled, and its host if it is plain
        self._verdicts: dict[str, int] = {}
        self._plain: set[str] = set()  # links found to be plain: the pages of a site repeat each other's

    def spell(self, url: str, base: str = "") -> str | None:
        """The canonical spelling of a link found on page `base`; None if it is no web address."""
        is_plain = url in self._plain
        if url[:4] == "http" and (is_plain or (_PLAIN(url) and self._remember(url))):
            return url
        if base is not self._base:
            self._base = base
            self._origin = base[: base.index("/", 8)] if base and _PLAIN(base) else ""
        if self._origin and url[:1] == "/" and (is_plain or (_PLAIN_PATH(url) and self._remember(url))):
            return self._origin + url
        try:
            href: str = join_url(base, url) if base else normalize_url(url)
        except ValueError:
            return None
        if not href.startswith(("https://", "http://")):
            return None
        if "#" in href:
            href = href[: href.index("#")]
        if "@" in href:
            href = _without_credentials(href)
        if "?" in href or ";" in href:
            return self._without_tracking(href)
        return href

    def _remember(self, plain: str) -> bool:
        if len(self._plain) >= _PLAIN_LIMIT:
            self._plain.clear()
        self._plain.add(plain)
        return True

    def fingerprint(self) -> str:
        """Names these rules: two spellers with one fingerprint spell alike."""
        rules = json.dumps([RULES_VERSION, self._rules, self._sort_query])
        return hashlib.sha256(rules.encode()).hexdigest()[:16]

    def _without_tracking(self, href: str) -> str | None:
        path, mark, query = href.partition("?")
        if ";" in path:
            shorter = _PATH_PARAMETER.sub(self._path_parameter, path)
            if shorter != path:
                # "/..;jsessionid=1/" has become a dot segment: the rest is spelled anew.
                return self.spell(shorter + mark + query)
        if not query:
            return href
        parameters = query.split("&")
        kept = [parameter for parameter in parameters if not self._is_stripped(parameter)]
        if self._sort_query:
            kept.sort()
        if kept == parameters:
            return href
        query = "&".join(kept)
        return f"{path}?{query}" if query else path

    def _path_parameter(self, match: re.Match[str]) -> str:
        return "" if self._is_stripped(match[0][1:]) else match[0]

    def _is_stripped(self, parameter: str) -> bool:
        name = parameter.partition("=")[0]
        verdict = self._verdicts.get(name)
        if verdict is None:
            verdict = self._judge(name)
        if verdict == _LOOK_AT_VALUE:
            return bool(self._parameters and self._parameters.match(parameter.lower()))
        return verdict == _STRIP

    def _judge(self, name: str) -> int:
        if len(self._verdicts) >= _VERDICTS_LIMIT:
            self._verdicts.clear()
        lowered = name.lower()
        if self._names and self._names.match(lowered):
            verdict = _STRIP
        elif self._value_names and self._value_names.match(lowered):
            verdict = _LOOK_AT_VALUE
        else:
            verdict = _KEEP
        self._verdicts[name] = verdict
        return verdict


def reject_reason(raw: str) -> str:
    """Why `spell` gave None for this link: `javascript`, `mailto`, `data`, `scheme` or `invalid`."""
    scheme = _SCHEME(raw.translate(_IGNORED_BY_PARSER).lstrip(_C0_AND_SPACE))
    if scheme is None:
        return "invalid"
    name = scheme[1].lower()
    if name in _NAMED_SCHEMES:
        return name
    return "invalid" if name in ("http", "https") else "scheme"


def _without_credentials(href: str) -> str:
    start = href.index("//") + 2
    end = href.index("/", start)
    at = href.rfind("@", start, end)
    return href if at < 0 else href[:start] + href[at + 1 :]


def _any_of(globs: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(translate, globs))) if globs else None
