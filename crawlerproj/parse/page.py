"""What does a page say? Its title, its encoding, its wishes to robots, its links: one parse for all.

`parse_html` never raises, whatever the bytes: what could not be read is named in `malformed`, and
what was read up to there is kept. It reads what every crawl needs; text, headings and emphasised terms
are read from the same tree when they are first asked for, and cost nothing if they are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawlerproj.items import Link
from crawlerproj.parse.bombs import before_many_tags, harmless_length
from crawlerproj.parse.directives import Directives
from crawlerproj.parse.encoding import detected_encoding, find_encoding, to_utf8
from crawlerproj.parse.links import MAX_LINKS, Attributes, LinkCollector, Spell, collapse
from crawlerproj.parse.outline import LINKING, Outline
from crawlerproj.parse.selector import find
from crawlerproj.parse.text import Text, read_text, read_visible

MAX_BYTES = 10 << 20
MAX_TITLE = 500
MAX_DESCRIPTION = 1_000
MAX_TERMS = 200
MAX_TERM = 200

_LINKING = LINKING.replace(" ", ",")
_HEADINGS = "h1,h2,h3,h4,h5,h6"
_EMPHASISED = "b,strong,em,i,mark"
_MIN_SAMPLE, _SAMPLE = 256, 2_048
# Files that are served as HTML and are not: PDF, ZIP, GIF, PNG, JPEG, gzip, RIFF, ELF.
_SIGNATURES = (
    b"%PDF-", b"PK\x03\x04", b"GIF8", b"\x89PNG", b"\xff\xd8\xff", b"\x1f\x8b", b"RIFF", b"\x7fELF",
)  # fmt: skip
_TEXT_BYTES = bytes(set(range(256)) - set(range(32)) | set(b"\t\n\f\r\x1b"))


@dataclass(slots=True)
class Parsed:
    """What one document says. `rejected` counts the links left out, by reason.

    `positions` says for each link where in the page it stands: its number among the elements that may
    link, -1 for a link of an HTTP header. Directives are those of the page and its headers together.
    """

    title: str = ""
    links: list[Link] = field(default_factory=list)
    encoding: str = ""
    noindex: bool = False
    nofollow: bool = False
    rejected: dict[str, int] = field(default_factory=dict)
    malformed: str = ""  # "", "truncated", "nesting", "encoding", "binary" or "parser"
    positions: list[int] = field(default_factory=list)
    written: list[str] = field(default_factory=list)  # hrefs as the page wrote them
    noarchive: bool = False
    unavailable_after: float = 0.0  # seconds since the epoch; 0 = always available
    robots: str = ""  # the directives in one line
    description: str = ""
    language: str = ""
    _body: bytes = field(default=b"", repr=False, compare=False)
    _tree: LexborHTMLParser | None = field(default=None, repr=False, compare=False)
    _outline: Outline | None = field(default=None, repr=False, compare=False)
    _text: Text | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str:
        """The main content without its surroundings, a line a block; all visible text if there is none."""
        return self._read_text().main

    @property
    def visible_text(self) -> str:
        """All that a reader sees; cheap as long as nobody has asked for `text`."""
        if self._text is not None:
            return self._text.visible
        try:
            tree, outline = self._whole_tree()
            return read_visible(tree, outline)
        except Exception:
            self.malformed = "parser"
            return ""

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Level and text of each heading, in order."""
        return [(int(node.tag[1]), term) for node, term in self._terms(_HEADINGS) if node.tag]

    @property
    def emphasised(self) -> list[str]:
        """The terms in bold or italics, each once."""
        return list(dict.fromkeys(term for _, term in self._terms(_EMPHASISED)))

    def _read_text(self) -> Text:
        if self._text is None:
            try:
                tree, outline = self._whole_tree()
                self._tree = self._outline = None
                self._text = read_text(tree, outline)
            except Exception:
                self._text, self.malformed = Text("", ""), "parser"
        return self._text

    def _whole_tree(self) -> tuple[LexborHTMLParser, Outline]:
        # Reading the text uses the tree up: whoever asks for more after that has it parsed again.
        if self._tree is None or self._outline is None:
            self._tree = LexborHTMLParser(self._body)
            self._outline = Outline(_root(self._tree))
        return self._tree, self._outline

    def _terms(self, selector: str) -> list[tuple[LexborNode, str]]:
        terms, budget = [], 100 * MAX_TERMS * MAX_TERM
        for node in find(selector, _root(self._whole_tree()[0])):
            text = node.text()
            # Elements may nest, each with the text of all within it.
            budget -= len(text)
            term = collapse(text, MAX_TERM)
            if term:
                terms.append((node, term))
            if len(terms) >= MAX_TERMS or budget < 0:
                break
        return terms


def parse_html(
    url: str,
    body: bytes,
    content_type: str,
    spell: Spell,
    *,
    max_bytes: int = MAX_BYTES,
    max_links: int = MAX_LINKS,
    link_headers: Sequence[str] = (),
    robots_headers: Sequence[str] = (),
    agent: str = "",
    with_text: bool = True,
) -> Parsed:
    """Parses one HTML document; `spell(raw, base)` makes a canonical URL of a link, or None.

    `link_headers` and `robots_headers` are the values of its Link and X-Robots-Tag headers; directives
    for the robot named `agent` count as well as those for all.
    """
    parsed = Parsed()
    directives = Directives(agent)
    try:
        if robots_headers:
            directives.read_headers(robots_headers)
        if len(body) > max_bytes:
            body, parsed.malformed = body[:max_bytes], "truncated"
        parsed.encoding, skip = find_encoding(body, content_type)
        if skip:
            body = body[skip:]
        reason = unreadable(body, parsed.encoding)
        if reason:
            parsed.malformed = reason
            if reason == "binary":
                body = b""
            elif reason == "encoding":
                # Browsers believe the declaration and show boxes. A crawl had better read the page: what
                # the bytes look like is used where it decodes better, and `malformed` tells.
                guess = detected_encoding(body)
                if not unreadable(body, guess):
                    parsed.encoding = guess
        # The parser reads UTF-8 alone, and replaces what is not.
        body = to_utf8(body, parsed.encoding)
        end = before_many_tags(body)
        if end < len(body):
            body, parsed.malformed = body[:end], "truncated"
        end = harmless_length(body)
        if end < len(body):
            body, parsed.malformed = body[:end], "nesting"
        parsed._body, parsed._tree = body, LexborHTMLParser(body)
        root = _root(parsed._tree)
        parsed.language = (root.attributes.get("lang") or "").strip()[:MAX_TERM]
        # Without the text a narrow search for the linking elements does: half the price of sorting all.
        parsed._outline = Outline(root) if with_text else None
        linking = parsed._outline.linking if parsed._outline is not None else find(_LINKING, root)
        _read(url, linking, spell, max_links, parsed, directives, link_headers)
    except Exception:
        # A library met input it was not made for. The page is kept; it only has nothing more to say.
        parsed.malformed = "parser"
    parsed.noindex, parsed.nofollow = directives.noindex, directives.nofollow
    parsed.noarchive, parsed.unavailable_after = directives.noarchive, directives.unavailable_after
    parsed.robots = directives.told()
    return parsed


def unreadable(body: bytes, encoding: str) -> str:
    """Why the beginning of a body is hardly text: `binary`, `encoding`; mostly empty."""
    if body.startswith(_SIGNATURES):
        return "binary"
    sample = body[:_SAMPLE]
    if encoding.startswith("utf-16") or len(sample) < _MIN_SAMPLE:
        return ""
    # A tenth of control characters: no text.
    if 10 * len(sample.translate(None, _TEXT_BYTES)) > len(sample):
        return "binary"
    if sample.isascii():
        return ""
    text = sample.decode(encoding, "replace")
    # One character in twenty cannot be decoded: it is another encoding than it says.
    return "encoding" if 20 * text.count("\ufffd") > len(text) else ""


def _root(tree: LexborHTMLParser) -> LexborNode:
    if tree.root is None:
        raise ValueError("a document without a root")
    return tree.root


def _read(
    url: str,
    found: Sequence[LexborNode],
    spell: Spell,
    max_links: int,
    parsed: Parsed,
    directives: Directives,
    link_headers: Sequence[str],
) -> None:
    linking: list[tuple[str, LexborNode, Attributes]] = []
    base = title = None
    for node in found:
        tag = node.tag or ""
        attributes = node.attributes
        if tag == "title":
            title = node if title is None else title
        elif tag == "base":
            base = attributes.get("href") if base is None else base
        else:
            linking.append((tag, node, attributes))
            if tag == "meta":
                _read_meta(attributes, parsed, directives)
    if title is not None:
        parsed.title = collapse(title.text(), MAX_TITLE)
    collector = LinkCollector(url, spell, max_links, nofollow=directives.nofollow)
    if base is not None:
        collector.honour_base(base)
    collector.collect(linking)
    if link_headers:
        collector.collect_headers(link_headers, url)
    parsed.links, parsed.written = collector.links(), collector.written
    parsed.rejected, parsed.positions = collector.rejected, collector.positions


def _read_meta(attributes: Attributes, parsed: Parsed, directives: Directives) -> None:
    name = (attributes.get("name") or attributes.get("property") or "").lower()
    if name:
        if directives.is_ours(name):
            directives.read_meta(name, attributes.get("content") or "")
        elif name == "description" or (name == "og:description" and not parsed.description):
            parsed.description = collapse(attributes.get("content") or "", MAX_DESCRIPTION)
    elif not parsed.language and (attributes.get("http-equiv") or "").lower() == "content-language":
        parsed.language = (attributes.get("content") or "").partition(",")[0].strip()[:MAX_TERM]
