"""Where does a page point? The links of a parsed tree, with a counted reason for each one left out.

Links come from `a`, `area` and frames in the order of the document, then from `link` (next, prev,
alternate, canonical) and meta refresh, then from HTTP Link headers: a URL is kept once, with its first
anchor. The page is hostile: the number of links, of spellings and of anchor characters read are all
bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from selectolax.lexbor import LexborNode

from crawlerproj.items import Link

Spell = Callable[[str, str], str | None]
Attributes = dict[str, str | None]

MAX_LINKS = 5_000
MAX_ANCHOR = 200
# Longer ones are refused unspelled; the filter's own limit lies well below.
MAX_HREF = 8_192
# Whitespace within an anchor is collapsed after this cut, so one huge anchor is not split whole.
_ANCHOR_READ = 10_000
# Anchors may nest (through object), and each is read with all that it contains: 1,000 around a
# megabyte would be a gigabyte. After this many characters the anchors of the page stay empty.
_ANCHOR_BUDGET = 4_000_000

# Makes a Link of its fields: what Link(...) does, without a call in Python for each.
_link_of: Callable[[tuple[str, str, str]], Link] = partial(tuple.__new__, Link)

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")
# What the URL standard strips before it looks for a scheme: tabs, newlines, and C0 or space in front.
_IGNORED = str.maketrans("", "", "\t\n\r")
_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_NAMED_SCHEMES = frozenset({"javascript", "mailto", "data"})
_LINK_RELS = frozenset({"next", "prev", "alternate", "canonical"})
# <url>; name=value; name="value": each alternative begins with another character, so nothing is tried twice.
_HEADER_LINK = re.compile(r"<([^>]*)>((?:[^,\"<]|\"[^\"]*\")*)")
_HEADER_RELS = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.I)
# Such a link is about another document than this one.
_HEADER_ANCHOR = re.compile(r";\s*anchor\s*=", re.I)
_MAX_HEADER = 16_384
_REFRESH_URL = re.compile(r"^[\s\d.]*[;,\s]\s*(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(.*))", re.I | re.S)


class LinkCollector:
    """Gathers the links of one page; `links`, `positions` and `rejected` are its result."""

    __slots__ = (
        "_base", "_has_base", "_kept", "_max_links", "_nofollow", "_spell", "_spelled", "positions",
        "rejected",
    )

    def __init__(self, url: str, spell: Spell, max_links: int = MAX_LINKS, *, nofollow: bool = False) -> None:
        self._base = url
        self._has_base = False
        self._spell = spell
        self._max_links = max_links
        # A page that says nofollow has its links counted, not kept.
        self._nofollow = nofollow
        self._spelled: dict[str, str] = {}
        self._kept: dict[str, tuple[LexborNode | None, str]] = {}  # URL -> whose text is its anchor, and rel
        self.positions: list[int] = []  # of each link: its place among the page's elements that may link
        self.rejected: dict[str, int] = {}

    @property
    def written(self) -> list[str]:
        """The hrefs as the page wrote them, each once: the same on a mirror, whatever they resolve to."""
        return list(self._spelled)

    def links(self) -> list[Link]:
        """All that was kept, with the anchors read from the tree: ask once, at the end."""
        kept = self._kept.values()
        anchors = anchor_texts([node for node, _ in kept])
        return list(map(_link_of, zip(self._kept, anchors, [rel for _, rel in kept], strict=True)))

    def collect(self, elements: Iterable[tuple[str, LexborNode, Attributes]]) -> None:
        """Reads elements that may link, with tag and attributes, in the order of the document."""
        later = []
        position = -1
        for tag, node, attributes in elements:
            position += 1
            if tag == "a" or tag == "area":
                if "href" in attributes:
                    self._add(attributes["href"], attributes.get("rel"), node, position)
            elif tag == "iframe" or tag == "frame":
                if "src" in attributes:
                    self._add(attributes["src"], None, node, position)
            else:
                later.append((tag, attributes, position))
        for tag, attributes, position in later:
            self._add_from_head(tag, attributes, position)

    def collect_headers(self, values: Iterable[str], url: str) -> None:
        """HTTP Link headers, relative to the URL of the page, whatever its base element says."""
        self._base, self._has_base = url, False
        self._spelled.clear()
        for value in values:
            for found in _HEADER_LINK.finditer(value[:_MAX_HEADER]):
                rels = _HEADER_RELS.search(found[2])
                rel = (rels[1] or rels[2] or "") if rels else ""
                if not _LINK_RELS.isdisjoint(rel.lower().split()) and not _HEADER_ANCHOR.search(found[2]):
                    self._add(found[1].strip(), rel, None, -1)

    def honour_base(self, href: str) -> None:
        """The first base element with an href decides, and a bad one counts as none."""
        base = self._spell_new(href)
        if base[0] != "!":
            self._base, self._has_base = base, True
        # What was spelled against the page's own URL must not answer for the new base.
        self._spelled.clear()

    def _add_from_head(self, tag: str, attributes: Attributes, position: int) -> None:
        if tag == "link":
            rels = (attributes.get("rel") or "").lower().split()
            if "stylesheet" not in rels and not _LINK_RELS.isdisjoint(rels):
                self._add(attributes.get("href"), attributes.get("rel"), None, position)
        elif tag == "meta" and (attributes.get("http-equiv") or "").lower() == "refresh":
            self._add(refresh_target(attributes.get("content") or ""), "refresh", None, position)

    def _add(self, raw: str | None, rel: str | None, node: LexborNode | None, position: int) -> None:
        # The one hot function: 60 times a page. Calls are what it saves.
        # "" and "#part" name the page itself, unless it has another base.
        if (not raw or raw[0] == "#") and not self._has_base:
            return
        if self._nofollow or (rel is not None and "nofollow" in rel.lower().split()):
            self._reject("nofollow")
            return
        raw = raw or ""
        url = self._spelled.get(raw)
        if url is None:
            url = self._spell_new(raw)
        kept = self._kept
        if url in kept:
            return
        # A refused spelling is remembered as "!reason": no URL begins so.
        if url[0] == "!":
            self._reject(url[1:])
        elif len(kept) >= self._max_links:
            self._reject("too_many")
        else:
            kept[url] = node, rel or ""
            self.positions.append(position)

    def _spell_new(self, raw: str) -> str:
        if len(self._spelled) >= 4 * self._max_links:
            return "!too_many"
        # Most are absolute or paths: only a scheme of another kind, or an enormous one, is looked into.
        harmless = len(raw) <= MAX_HREF and (":" not in raw or raw.startswith(("https://", "http://")))
        reason = "" if harmless else refusal(raw)
        if reason:
            url = f"!{reason}"
        else:
            try:
                url = self._spell(raw, self._base) or "!invalid"
            except ValueError:  # UnicodeError is one: a spelling may stumble over what nobody foresaw
                url = "!invalid"
        self._spelled[raw] = url
        return url

    def _reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


def refusal(raw: str) -> str:
    """Why this href is not worth spelling: its scheme or its length. Empty if it is."""
    if ":" in raw:
        # A scheme is short; what hides behind more than 64 characters of padding is left to the speller.
        scheme = _SCHEME.match(raw[:64].translate(_IGNORED).lstrip(_C0_AND_SPACE))
        if scheme is not None:
            name = scheme[1].lower()
            if name in _NAMED_SCHEMES:
                return name
            if name not in ("http", "https"):
                return "scheme"
    return "invalid" if len(raw) > MAX_HREF else ""


def refresh_target(content: str) -> str:
    """The URL of a meta refresh such as `5; url='/next'`; empty if it only reloads."""
    found = _REFRESH_URL.match(content[: 2 * MAX_HREF].strip())
    return (found[1] or found[2] or found[3] or "").strip() if found else ""


def anchor_texts(nodes: Iterable[LexborNode | None]) -> list[str]:
    """The text of each node in one line of bounded length; collapsed all at once, which is cheaper."""
    budget, texts = _ANCHOR_BUDGET, []
    for node in nodes:
        text = node.text() if node is not None and budget > 0 else ""
        budget -= len(text)
        texts.append(text if len(text) <= MAX_ANCHOR else collapse(text, MAX_ANCHOR))
    # No parsed text contains NUL.
    whole = " ".join("\0".join(texts).split())
    return whole.replace(" \0", "\0").replace("\0 ", "\0").split("\0") if texts else []


def collapse(text: str, limit: int) -> str:
    """Runs of whitespace become one space; at most `limit` characters."""
    return " ".join(text[:_ANCHOR_READ].split())[:limit].rstrip()
