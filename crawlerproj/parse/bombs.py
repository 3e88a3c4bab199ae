"""How much of a body may be parsed before it becomes a bomb? By counting markup, before there is a tree.

The parser is linear in what people write. Its time grows with the square of the nesting depth, of the
attributes of one tag, and with the product of unclosed formatting elements and paragraphs. Tags within
scripts and comments are counted too, and a quoted ">" can hide a long tag: this stops plain bombs.
"""

from __future__ import annotations

import re

# An element takes some 350 bytes with its text: 10 MB of "<p>a" were a gigabyte and 3 seconds. The largest
# pages that people read have a third of this.
MAX_TAGS = 300_000
# 0.1 s at 10,000 nested divs, 12 s at 100,000.
MAX_DEPTH = 10_000
# Unclosed formatting elements are opened again in every following paragraph: 2,000 of them, no two
# alike, make two million nodes out of 27 kB.
MAX_OPEN_FORMATS = 500
# 0.05 s at 5,000 attributes of one tag, 18 s at 100,000.
MAX_ATTRIBUTES = 5_000

# A tag with too many attributes is longer than this: each has a name and a blank in front.
_BLOCK = 8_192

_FORMATS = frozenset(b"b big code em font i s small strike strong tt u".split())
# The letters in front rule most tags out at once: a third less time.
_FORMAT = re.compile(
    rb"<(?=[bcefistuBCEFISTU])(?:b|big|code|em|font|i|s|small|strike|strong|tt|u)(?=[\s/>])", re.I
)
# Elements that cannot contain another of themselves, or nothing at all: they add no depth.
_FLAT = frozenset(
    b"a area base br col dd dt embed hr img input li link meta nobr option p param source td th tr track "
    b"wbr".split()
)
_QUOTED = re.compile(rb"\"[^\"]*\"?|'[^']*'?")
_TAG = re.compile(rb"<!--.*?-->|<(/?)([a-zA-Z][a-zA-Z0-9]*)", re.S)


def before_many_tags(body: bytes) -> int:
    """Where the beginning ends that has no more than `MAX_TAGS`."""
    low, high, known = 0, len(body), 0
    if body.count(b"<") <= MAX_TAGS:
        return high
    while low < high:  # the first `low` bytes hold `known` of them, no more than are allowed
        middle = (low + high + 1) // 2
        more = body.count(b"<", low, middle)
        if known + more <= MAX_TAGS:
            low, known = middle, known + more
        else:
            high = middle - 1
    return low


def harmless_length(body: bytes) -> int:
    """The length of the body's harmless beginning, mostly all of it."""
    end = _before_attributes(body) if len(body) > _BLOCK else len(body)
    # Fewer tags than this cannot nest deep enough; counting them is cheaper than looking at each.
    tags = body.count(b"<", 0, end)
    if tags > MAX_DEPTH or (tags > 2 * MAX_OPEN_FORMATS and _formats(body, end) > MAX_OPEN_FORMATS):
        end = _before_nesting(body, end)
    return end


def _formats(body: bytes, end: int) -> int:
    return len(_FORMAT.findall(body, 0, end))


def _before_nesting(body: bytes, end: int) -> int:
    depth = formats = 0
    for tag in _TAG.finditer(body, 0, end):
        name = tag[2]
        if name is None:
            continue
        name = name.lower()
        step = -1 if tag[1] else 1
        if name in _FORMATS:
            formats = max(0, formats + step)
        elif name not in _FLAT:
            depth = max(0, depth + step)
        if formats > MAX_OPEN_FORMATS or depth > MAX_DEPTH:
            return tag.start()
    return end


def _before_attributes(body: bytes) -> int:
    """Where a tag with too many attributes begins: it shows as a block without any ">"."""
    for start in range(0, len(body), _BLOCK):
        if body.find(b">", start, start + _BLOCK) >= 0:
            continue
        tag = body.rfind(b"<", 0, start + _BLOCK)
        if tag < 0 or tag < body.rfind(b">", 0, start) or not body[tag + 1 : tag + 2].isalpha():
            continue
        close = body.find(b">", start)
        inside = body[tag : close if close >= 0 else len(body)]
        # A page's data may lie in one long attribute: words in quotes are no attributes.
        if len(_QUOTED.sub(b"", inside).split()) > MAX_ATTRIBUTES:
            return tag
    return len(body)
