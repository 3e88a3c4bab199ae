"""Which elements of a tree does anyone ask for? One walk sorts them for links and text alike."""

from __future__ import annotations

from selectolax.lexbor import LexborNode, create_tag

from crawlerproj.parse.selector import find

INVISIBLE = "script style noscript svg iframe select button textarea video audio dialog"
SURROUNDING = "nav aside footer header form figure menu"
PARAGRAPHS = "p pre"
NAMED = "div section ul ol"
LANDMARKS = "article main h1"
LINKING = "a area base frame iframe link meta title"


def tag_ids(tags: str) -> frozenset[int]:
    """The parser's numbers of the tags: comparing these is cheaper than asking for names."""
    return frozenset(create_tag(tag).tag_id for tag in tags.split())


_LINKING, _INVISIBLE, _LANDMARKS = tag_ids(LINKING), tag_ids(INVISIBLE), tag_ids(LANDMARKS)
_BLOCKS = tag_ids(f"{SURROUNDING} {PARAGRAPHS} {NAMED}")
_FRAMES = tag_ids("iframe")


class Outline:
    """The elements of a tree by what they are good for, each list in the order of the document."""

    __slots__ = ("blocks", "invisible", "landmarks", "linking")

    def __init__(self, root: LexborNode) -> None:
        self.linking: list[LexborNode] = []
        self.invisible: list[LexborNode] = []
        self.blocks: list[LexborNode] = []
        self.landmarks: list[LexborNode] = []
        add = dict.fromkeys(_BLOCKS, self.blocks.append)
        add.update(dict.fromkeys(_INVISIBLE, self.invisible.append))
        add.update(dict.fromkeys(_LANDMARKS, self.landmarks.append))
        add.update(dict.fromkeys(_LINKING, self.linking.append))
        add.update(dict.fromkeys(_FRAMES, self._add_frame))
        adder_of = add.get
        for node in find("*", root):
            adder = adder_of(node.tag_id)
            if adder is not None:
                adder(node)

    def _add_frame(self, node: LexborNode) -> None:
        """A frame is a link, and what is written inside it is for browsers that know none."""
        self.linking.append(node)
        self.invisible.append(node)
