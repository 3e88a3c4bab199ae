"""What does a page say, and which part of it is the page's own? Visible text and main content.

The tree is asked for whole subtrees at a time (one selector, one text call), never walked node by node.
Three steps: what no reader sees is dropped; then what surrounds the content (navigation, related links,
share buttons, by element or by the words of class and id), unless it holds a large part of the page's
paragraphs; then the smallest element with most of the remaining paragraph text is the main content.
A page with little of that (a listing, a search form) gives all its visible text instead: never nothing
where there was something. The tree is used up by it: read everything else from it first.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawlerproj.parse.outline import PARAGRAPHS, SURROUNDING, Outline, tag_ids
from crawlerproj.parse.selector import find
from crawlerproj.parse.surroundings import Judgements

# Less main text than this, and less than half of the visible text: all visible text is taken.
MIN_MAIN = 250
# Of the paragraphs' text: an element that holds more is never dropped as a surrounding.
_SPARED_SHARE = 0.4
# A child with this share of its parent's paragraph text takes the parent's place as main content.
_DESCENT_SHARE = 0.7
# But never less than this of the whole page's: unclosed elements nest all paragraphs in each other.
_LEAST_SHARE = 0.5
# A parent that itself owns paragraphs is the content, however large its largest child.
_OWN_SHARE = 0.1
# A paragraph, item or heading with at least this share of links points elsewhere and says nothing here.
_LINKED_SHARE = 0.8
# Shorter paragraphs do not show where the content is, nor does one that long need a look at its links.
_MIN_PARAGRAPH, _LONG_PARAGRAPH = 25, 150
# Text directly in a div counts from this length on, if paragraphs have less than this share of the text.
_MIN_LOOSE, _LOOSE_SHARE = 120, 0.3
# The first of several articles (pages that load the next ones below it) has at least this much text.
_MIN_ARTICLE, _ARTICLE_SHARE = 800, 0.2

# Characters read to decide about surroundings, times the page's own.
_READ_BUDGET = 20

_judged = Judgements()

_LOOSE = "div,td,section,article,main,dd,center,blockquote"
_LINKED = "p>a:first-child,li>a:first-child,h2>a,h3>a,h4>a,h5>a"
_INLINE_IDS = tag_ids("a b strong i em span code u sub sup font")
_SURROUNDING_IDS, _PARAGRAPH_IDS = tag_ids(SURROUNDING), tag_ids(PARAGRAPHS)
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none", re.I)


class Text:
    """The text of one page: `main` is its content, a line a block; `visible` is everything to be read."""

    __slots__ = ("_visible", "main")

    def __init__(self, main: str, visible: str) -> None:
        self.main = main
        self._visible = visible

    @property
    def visible(self) -> str:
        return _lines(self._visible)


def read_text(tree: LexborHTMLParser, outline: Outline | None = None) -> Text:
    """The visible text and the main content of a tree, which is pruned on the way."""
    body, root = tree.body, tree.root
    if body is None or root is None:
        return Text("", "")
    if outline is None:
        outline = Outline(root)
    drop_invisible(outline)
    surroundings, paragraphs = _sort(outline.blocks)
    visible = body.text(separator="\0", skip_empty=True)
    lengths = [len(paragraph.text()) for paragraph in paragraphs]
    left = len(visible) - _drop(surroundings, outline.landmarks, len(visible), sum(lengths))
    node = _densest(body, paragraphs, lengths, left)
    main = _lines(_own_text(node))
    if len(main) < MIN_MAIN and 2 * len(main) < len(visible):
        main = _lines(visible)
    return Text(main, visible)


def read_visible(tree: LexborHTMLParser, outline: Outline) -> str:
    """The visible text alone, for a fraction of the time; of the tree only the invisible is gone."""
    drop_invisible(outline)
    body = tree.body
    return _lines(body.text(separator="\0", skip_empty=True)) if body is not None else ""


def drop_invisible(outline: Outline) -> None:
    for node in outline.invisible:
        if node.parent is not None:
            node.decompose()
    outline.invisible.clear()


def _sort(blocks: list[LexborNode]) -> tuple[list[LexborNode], list[LexborNode]]:
    """What may be dropped, outermost first, and the paragraphs."""
    surroundings, paragraphs = [], []
    for node in blocks:
        tag = node.tag_id
        if tag in _SURROUNDING_IDS:
            surroundings.append(node)
            continue
        if tag in _PARAGRAPH_IDS:
            paragraphs.append(node)
        attributes = node.attributes
        if attributes and (
            ("class" in attributes and _judged[attributes["class"] or ""])
            or ("id" in attributes and _judged[attributes["id"] or ""])
            or ("style" in attributes and _NOT_DISPLAYED.search(attributes["style"] or ""))
            or "hidden" in attributes
            or attributes.get("aria-hidden") == "true"
        ):
            surroundings.append(node)
    return surroundings, paragraphs


def _drop(surroundings: list[LexborNode], landmarks: list[LexborNode], visible: int, paragraphs: int) -> int:
    """Drops the surroundings but those around a landmark or with much of the text; how much text went."""
    if not surroundings:
        return 0
    around = _ancestors(landmarks)
    # A page without paragraphs is measured by its text.
    by_text = paragraphs < 2 * MIN_MAIN
    spared = _SPARED_SHARE * (visible if by_text else paragraphs)
    budget = _READ_BUDGET * visible
    dropped = 0
    for node in surroundings:
        # What lay in a dropped subtree has no parent any more.
        if node.parent is None or node.mem_id in around:
            continue
        length = len(node.text(skip_empty=True))
        if not length:
            continue
        if length > spared:
            # Spared elements may lie in each other, a thousand deep, each with all the page's text.
            budget -= 2 * length
            if budget < 0:
                break
            if by_text or sum([len(inner.text()) for inner in find("p", node)]) > spared:
                continue
        node.decompose()
        dropped += length
    return dropped


def _ancestors(nodes: list[LexborNode]) -> set[int]:
    """The identities of the nodes and of all that contains them."""
    seen: set[int] = set()
    for start in nodes:
        node: LexborNode | None = start
        while node is not None and (identity := node.mem_id) not in seen:
            seen.add(identity)
            node = node.parent
    return seen


def _densest(
    body: LexborNode, paragraphs: list[LexborNode], lengths: list[int], text_length: int
) -> LexborNode:
    """The smallest element that holds most of the paragraph text; the body if there is none."""
    own: dict[int, int] = {}  # paragraph text directly in an element
    nodes: dict[int, LexborNode] = {}
    linked = {node.mem_id for node in find("a p,a div", body)}
    links: dict[int, int] = {}  # text of the links directly in a paragraph
    if any(_MIN_PARAGRAPH <= length < _LONG_PARAGRAPH for length in lengths):
        for link in find("p>a", body):
            if (paragraph := link.parent) is not None:
                links[paragraph.mem_id] = links.get(paragraph.mem_id, 0) + len(link.text())
    for paragraph, length in zip(paragraphs, lengths, strict=True):
        if length < _MIN_PARAGRAPH:
            continue
        parent = paragraph.parent
        if parent is None or paragraph.mem_id in linked:
            continue
        if length < _LONG_PARAGRAPH:
            length -= links.get(paragraph.mem_id, 0)
            if length < _MIN_PARAGRAPH:
                continue
        identity = parent.mem_id
        own[identity] = own.get(identity, 0) + length
        nodes[identity] = parent
    if sum(own.values()) < _LOOSE_SHARE * text_length:
        for node in find(_LOOSE, body):
            length = len(node.text(deep=False, skip_empty=True))
            if length >= _MIN_LOOSE and node.mem_id not in linked:
                identity = node.mem_id
                own[identity] = own.get(identity, 0) + length
                nodes[identity] = node
    return _descend(own, nodes, body)


def _descend(own: dict[int, int], nodes: dict[int, LexborNode], body: LexborNode) -> LexborNode:
    """From the body down, as long as one child has most of the text and the parent hardly any itself."""
    whole, children = _totals(own, nodes, body.mem_id)
    at = body.mem_id
    floor = _LEAST_SHARE * whole[at]
    while at in children and own.get(at, 0) <= _OWN_SHARE * whole[at]:
        inside = children[at]
        best = max(inside, key=whole.__getitem__)
        if whole[best] < max(floor, _DESCENT_SHARE * whole[at]):
            articles = [child for child in inside if nodes[child].tag == "article"]
            if len(articles) < 2 or whole[articles[0]] < max(_MIN_ARTICLE, _ARTICLE_SHARE * whole[at]):
                break
            best = articles[0]
            floor = _LEAST_SHARE * whole[best]
        at = best
    return nodes.get(at, body)


def _totals(
    own: dict[int, int], nodes: dict[int, LexborNode], top: int
) -> tuple[dict[int, int], dict[int, list[int]]]:
    """Paragraph text of each element with all it contains, and which of these elements lie in which."""
    above: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for start in list(own):
        at = start
        while at != top and at not in above:
            parent = nodes[at].parent
            if parent is None:
                break
            up = above[at] = parent.mem_id
            nodes.setdefault(up, parent)
            children.setdefault(up, []).append(at)
            at = up
    # From the body outwards, then summed up from the far end: each element once, however deep.
    order = [top]
    for at in order:
        order += children.get(at, ())
    whole = dict.fromkeys(order, 0)
    for at in reversed(order):
        whole[at] += own.get(at, 0)
        if at in above:
            whole[above[at]] += whole[at]
    return whole, children


def _own_text(node: LexborNode) -> str:
    """The node's text without blocks that are mere links; blocks are separated by NUL."""
    identity = node.mem_id
    for link in find(_LINKED, node):
        block = link.parent
        if (
            block is not None
            and block.mem_id != identity
            and len(link.text()) >= _LINKED_SHARE * len(block.text().strip())
        ):
            block.decompose()
    # All elements and a look at their numbers: a third of the price of a selector with eleven names.
    for inline in [each for each in find("*", node) if each.tag_id in _INLINE_IDS]:
        if inline.mem_id != identity:
            inline.unwrap()
    node.merge_text_nodes()
    return node.text(separator="\0", skip_empty=True)


def _lines(text: str) -> str:
    """A line for each block, whitespace within collapsed. NUL separates: no parsed text contains it."""
    lines = []
    if "\xa0" in text:
        text = text.replace("\xa0", " ")
    for block in text.replace("\n", " ").split("\0"):
        block = block.strip()
        # Most blocks have single blanks between their words; splitting all of them costs more.
        if "  " in block or "\t" in block:
            block = " ".join(block.split())
        if block:
            lines.append(block)
    return "\n".join(lines)
