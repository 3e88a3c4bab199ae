"""Documents other than HTML as text: one function for each format, registered for its content types.

These functions run in the converter's worker process (`convert.py`): they may take their time, fail,
or be killed. A new format is one function:

    @converts("application/rtf")
    def rtf(body: bytes, content_type: str, limit: int) -> Converted:
        return Converted(text=...)

in a module whose name is given to the `Converter`. `limit` is the number of characters worth making.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from crawlerproj.parse.encoding import find_encoding

MAX_LINKS = 5_000


class Converted(NamedTuple):
    """A document as text. `links` are as written; `malformed` is the reason why something is missing."""

    text: str = ""
    title: str = ""
    links: Sequence[str] = ()
    malformed: str = ""


Convert = Callable[[bytes, str, int], Converted]
CONVERTERS: dict[str, Convert] = {}

_URL = re.compile(r"\bhttps?://[^\s<>\"'{}|\\^`]{1,2000}")
_TRAILING = ".,;:!?)]}'\""


def converts(*content_types: str) -> Callable[[Convert], Convert]:
    """Registers a function for content types; `text/*` and `*+xml` stand for all such types."""

    def register(convert: Convert) -> Convert:
        CONVERTERS.update(dict.fromkeys(content_types, convert))
        return convert

    return register


def converter_of(content_type: str) -> Convert | None:
    """The function for a Content-Type header."""
    kind = content_type.partition(";")[0].strip().lower()
    main, _, suffix = kind.partition("/")[0], *kind.rpartition("+")[1:]
    return CONVERTERS.get(kind) or CONVERTERS.get(f"*+{suffix}") or CONVERTERS.get(f"{main}/*")


@converts("text/*", "application/json", "application/javascript")
def plain_text(body: bytes, content_type: str, limit: int) -> Converted:
    codec, mark = find_encoding(body, content_type)
    text = body[mark : mark + 4 * limit].decode(codec, "replace").replace("\r\n", "\n").replace("\0", "")
    return Converted(text[:limit], "", urls_in(text[:limit]), "truncated" if len(text) > limit else "")


@converts("application/xml", "text/xml", "*+xml")
def xml(body: bytes, content_type: str, limit: int) -> Converted:
    from lxml import etree

    # Entities stay unresolved: they may be a bomb, or name files.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, recover=True)
    root = etree.fromstring(body, parser)
    if root is None:
        return Converted(malformed="unreadable")
    parts: list[str] = []
    links: dict[str, None] = {}
    title, length = "", 0
    for text in root.itertext(etree.Element):
        text = " ".join(text.split())
        if text:
            parts.append(text)
            length += len(text) + 1
            if length > limit:
                break
    for element in root.iter(etree.Element):
        name = element.tag.rpartition("}")[2].lower()
        text = (element.text or "").strip()
        if name == "title" and not title:
            title = " ".join(text.split())[:500]
        if name in ("link", "loc", "url") and text.startswith("http"):
            links[text] = None
        for key, value in element.attrib.items():
            if key.rpartition("}")[2] in ("href", "src", "url"):
                links[value] = None
        if len(links) >= MAX_LINKS:
            break
    return Converted("\n".join(parts)[:limit], title, list(links), "truncated" if length > limit else "")


@converts("application/pdf", "application/x-pdf")
def pdf(body: bytes, content_type: str, limit: int) -> Converted:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return Converted(malformed="encrypted" if "password" in str(error).lower() else "unreadable")
    parts: list[str] = []
    links: dict[str, None] = {}
    length, malformed = 0, ""
    for number in range(len(document)):
        try:
            page = document[number]
            text = page.get_textpage().get_text_bounded()
            _add_pdf_links(document, page, links)
            page.close()
        except pypdfium2.PdfiumError:
            malformed = "unreadable_page"
            continue
        parts.append(text)
        length += len(text)
        if length > limit:
            malformed = "truncated"
            break
    whole = "\n".join(parts).replace("\r\n", "\n").replace("\0", "")
    # U+FFFE stands for a hyphen at a line's end.
    whole = whole.replace("\ufffe\n", "").replace("\ufffe", "")
    for url in urls_in(whole):
        links.setdefault(url)
    title = str(document.get_metadata_dict().get("Title", ""))[:500]
    return Converted(whole[:limit], title.replace("\0", "").strip(), list(links)[:MAX_LINKS], malformed)


def _add_pdf_links(document: Any, page: Any, links: dict[str, None]) -> None:
    """The URIs of a page's link annotations."""
    from pypdfium2 import raw

    at, link = ctypes.c_int(0), raw.FPDF_LINK()
    while len(links) < MAX_LINKS and raw.FPDFLink_Enumerate(page.raw, at, link):
        action = raw.FPDFLink_GetAction(link)
        size = raw.FPDFAction_GetURIPath(document.raw, action, None, 0) if action else 0
        if 1 < size <= 8_192:
            buffer = ctypes.create_string_buffer(size)
            raw.FPDFAction_GetURIPath(document.raw, action, buffer, size)
            links[buffer.value.decode("utf-8", "replace")] = None


def urls_in(text: str) -> list[str]:
    """The web addresses written out in a text, each once."""
    found: dict[str, None] = {}
    for match in _URL.finditer(text):
        found[match[0].rstrip(_TRAILING)] = None
        if len(found) >= MAX_LINKS:
            break
    return list(found)
