"""Does the host say "not found" with status 200? It is asked once for a page that cannot exist.

If the answer to that probe is a success, its text is kept, and pages that look like it are flagged. Words
of the page's own address do not count: such pages like to repeat what was asked for. Long texts are
compared by their signatures, short ones by their words.
The table holds, for each host: nothing before it is asked; `?` until it has answered (for ever, if it never
does); an empty row if it is honest; else what its missing pages look like.
"""

from __future__ import annotations

import re

import msgpack

from crawlerproj.documents.fingerprint import MIN_WORDS, SCHEME, Fingerprint, Fingerprinter
from crawlerproj.documents.tables import Tables

SIMILAR = 0.8
MAX_WORDS = 200  # kept of a short text; those of a long one are in its signature

_TABLE = "fp-soft404"
_WORDS = re.compile(r"[^\W_]+")
_HONEST = b""
_ASKED = b"?"
_PROBE = re.compile(r"https?://[^/]+/[0-9a-z]{16}-no-such-page\.html")
_NO_ANSWER = frozenset({408, 425, 429})


class SoftNotFound:
    """Knows how each host's missing pages look."""

    def __init__(self, tables: Tables, fingerprinter: Fingerprinter) -> None:
        self._tables, self._fingerprinter = tables, fingerprinter

    def wants_probe(self, host: str) -> bool:
        """Has the host not been asked yet?"""
        return self._tables.get(_TABLE, host.encode()) is None

    def asked(self, host: str) -> None:
        """The probe is on its way: nobody need ask again."""
        self._tables.put(_TABLE, host.encode(), _ASKED)

    def learn(self, host: str, status: int, probe: str, text: str) -> None:
        """What the host answered to the probe. Anything but 200 is honest: nothing will be flagged.

        "Later" is no answer: another attempt may bring one.
        """
        if status >= 500 or status in _NO_ANSWER:
            return
        row = _HONEST
        if status == 200:
            words, signature = self._features(probe, text)
            row = msgpack.packb((SCHEME, sorted(words)[:MAX_WORDS], signature))
        self._tables.put(_TABLE, host.encode(), row)

    def looks_like(self, host: str, url: str, text: str) -> bool:
        """Is this page, fetched with status 200, the host's way to say that there is none?"""
        row = self._tables.get(_TABLE, host.encode())
        if not row or row == _ASKED:
            return False
        scheme, known_words, known_signature = msgpack.unpackb(row)
        if scheme != SCHEME:
            return False
        words, signature = self._features(url, text)
        if len(signature) != len(known_signature):
            return False
        if signature:
            return self._fingerprinter.estimate(signature, known_signature) >= SIMILAR
        known = set(known_words)
        union = words | known
        return not union or len(words & known) / len(union) >= SIMILAR

    def _features(self, url: str, text: str) -> tuple[set[str], bytes]:
        asked = set(_WORDS.findall(url.lower()))
        left = [word for word in _WORDS.findall(text.lower()) if word not in asked]
        if len(left) < MIN_WORDS:
            return set(left), b""
        made: Fingerprint = self._fingerprinter.of(" ".join(left))
        return set(), made.signature


def probe_url(authority: str, token: str) -> str:
    """A URL that cannot exist; `token` is random, of sixteen letters and digits."""
    return f"{authority}/{token}-no-such-page.html"


def is_probe(url: str) -> bool:
    """Was this URL made by `probe_url`? Then it is no page of the crawl, whatever was answered."""
    return url.endswith("-no-such-page.html") and _PROBE.fullmatch(url) is not None
