"""In which encoding is a document? As browsers find it: HTML Standard, section 13.2.3.

Byte order mark, then the HTTP charset, then a declaration among the first bytes (meta, or XML), then
detection: UTF-8 if the bytes are valid UTF-8, else what their statistics say, else Windows-1252.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

import cchardet

from crawlerproj.parse.labels import codec_of

# The standard looks at the first bytes, and parses anew if a declaration comes later. Here a second
# look at more bytes stands for that: pages that declare nothing at all pay for it, others hardly ever.
PRESCAN_BYTES = (1_024, 16_384)
# Enough for statistics; more would only cost time.
DETECTION_BYTES = 16_384

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_MARK_STARTS = frozenset(b"\xef\xff\xfe")
_HTTP_CHARSET = re.compile(r";\s*charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;]+))", re.I)
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.S)
# Comment, meta, any other tag, then what is skipped up to the next ">".
_TOKEN = re.compile(rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|(/?[a-z][^\t\n\f\r >]*)|([!/?]))")
# The second look is at comments and metas alone: scripts lie between them, and they need not be tags.
_LATE_TOKEN = re.compile(rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|((?!))|((?!)))")
_LATE_META = re.compile(rb"<meta[^>]{0,200}charset", re.I)
# Name; value in quotes of either kind, or bare; or a quote that never closes.
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)"
    rb"(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([\"'])|([^\t\n\f\r >]*)))?"
)
# The rest of a tag whose attributes do not matter: a quote counts only as the beginning of a value.
_REST = re.compile(rb"(?:[^>=]|=[\t\n\f\r ]*(?:\"[^\"]*\"|'[^']*'|(?=[^\"'\t\n\f\r ])))*+>")
_TAG_END = re.compile(rb"[\t\n\f\r /]*>")
_CONTENT_CHARSET = re.compile(
    rb"charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:\"([^\"]*)\"|'([^']*)'|([\"'])|([^\t\n\f\r ;]*))"
)


def find_encoding(body: bytes, content_type: str) -> tuple[str, int]:
    """Python's codec for the document and the length of its byte order mark."""
    if body and body[0] in _MARK_STARTS:
        for mark, codec in _MARKS:
            if body.startswith(mark):
                return codec, len(mark)
    declared = http_encoding(content_type) if content_type else None
    return declared or declared_encoding(body) or detected_encoding(body), 0


@lru_cache(1_024)
def http_encoding(content_type: str) -> str | None:
    """The codec that a Content-Type header names."""
    found = _HTTP_CHARSET.search(content_type)
    return codec_of(found[1] or found[2] or found[3] or "") if found else None


def declared_encoding(body: bytes) -> str | None:
    """The codec that the document itself declares: the standard's prescan of the first bytes."""
    if body.startswith(b"<\0?\0x\0"):
        return "utf-16-le"
    if body.startswith(b"\0<\0?\0x"):
        return "utf-16-be"
    head = body[: PRESCAN_BYTES[0]].lower()
    # Without this word there is no declaration, and nothing to read.
    declared = _prescan(head, _TOKEN) if b"charset" in head else None
    if declared is None and len(body) > len(head):
        more = body[: PRESCAN_BYTES[1]]
        if _LATE_META.search(more):
            declared = _prescan(more.lower(), _LATE_TOKEN)
    if declared is None and body.startswith(b"<?xml"):
        found = _XML_ENCODING.match(body, 0, PRESCAN_BYTES[0])
        declared = codec_of((found[1] or found[2] or b"").decode("latin-1")) if found else None
    # Whoever declares UTF-16 in readable ASCII is not in UTF-16.
    return "utf-8" if declared is not None and declared.startswith("utf-16") else declared


def detected_encoding(body: bytes) -> str:
    """The codec of a document that declares none."""
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as error:
        # A character cut at the end of a truncated body is no sign of another encoding.
        if error.start >= len(body) - 3 and error.start > 0:
            return "utf-8"
        # The statistics need the bytes that are not ASCII: they may begin late.
        start = max(0, error.start - DETECTION_BYTES // 4)
    guess = cchardet.detect(body[start : start + DETECTION_BYTES])
    label = guess.get("encoding")
    codec = codec_of(label) if label else None
    # It is not UTF-8: that was tried on all of it.
    return codec if codec is not None and codec != "utf-8" else "cp1252"


def to_utf8(body: bytes, codec: str) -> bytes:
    """The document in UTF-8, which is all that the parser reads; what cannot be decoded is replaced."""
    if codec == "utf-8":
        return body
    return codecs.decode(body, codec, "replace").encode("utf-8", "replace")


def _prescan(head: bytes, token_pattern: re.Pattern[bytes]) -> str | None:
    at = 0
    while True:
        token = token_pattern.search(head, at)
        if token is None:
            return None
        at = token.end()
        if token[1]:
            # The dashes that open a comment may close it too.
            at = head.find(b"-->", at - 2) + 3
            if at < 3:
                return None
        elif token[4]:
            at = head.find(b">", at) + 1
            if at < 1:
                return None
        elif token[2]:
            attributes: dict[bytes, bytes] = {}
            ended = _read_attributes(head, at, attributes)
            if ended is None:
                return None
            at = ended
            if codec := _meta_encoding(attributes):
                return codec
        else:
            rest = _REST.match(head, at)
            if rest is None:
                return None
            at = rest.end()


def _read_attributes(head: bytes, at: int, attributes: dict[bytes, bytes]) -> int | None:
    """Where the tag ends; None if it does not. Of equal attributes the first counts."""
    while not (end := _TAG_END.match(head, at)):
        attribute = _ATTRIBUTE.match(head, at)
        if attribute is None or attribute[4]:
            return None
        attributes.setdefault(attribute[1], attribute[2] or attribute[3] or attribute[5] or b"")
        at = attribute.end()
    return end.end()


def _meta_encoding(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv") == b"content-type":
        label = _content_charset(attributes.get(b"content", b""))
    return codec_of(label.decode("latin-1")) if label else None


def _content_charset(content: bytes) -> bytes | None:
    found = _CONTENT_CHARSET.search(content)
    if found is None or found[3]:
        return None
    return found[1] or found[2] or found[4]
