"""The WARC/1.1 records of a fetch, as bytes (ISO 28500:2017): a head of fields, a block, two line breaks.

response (or revisit), request and metadata of one fetch name each other by WARC-Concurrent-To. A revisit
says "as before" in place of the body: the server said so (304), or the payload's digest is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from os import register_at_fork
from random import Random

from crawlerproj.items import Page
from crawlerproj.urls.hosts import authority

Headers = Iterable[tuple[str, str]]
Fields = list[tuple[str, str]]

RESPONSE_TYPE = "application/http;msgtype=response"
REQUEST_TYPE = "application/http;msgtype=request"
FIELDS_TYPE = "application/warc-fields"

# Seeded by the system; not a system call for each record. A forked process has a seed of its own.
_random = Random()
register_at_fork(after_in_child=_random.seed)

_BREAKS = re.compile(r"[\r\n\0]+")
_TRUNCATED = frozenset({"", "length", "time", "disconnect", "unspecified"})
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE_32 = [first + second for first in _LETTERS for second in _LETTERS]
_SHIFTS = range(150, -1, -10)
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
# The names of TLS' protocol negotiation, as the field's extension for WARC-Protocol wants them.
_PROTOCOL_NAMES = {"HTTP/2": "h2", "HTTP/3": "h3", "HTTP/2.0": "h2"}


@dataclass(slots=True, frozen=True)
class Former:
    """An earlier record with a payload that may have come again. `digest` as `digest()` gives it."""

    url: str
    fetched_at: float
    digest: str


@dataclass(slots=True, frozen=True)
class Capture:
    """What the record of a response says about itself; `revisit` names the profile, if it is one."""

    record_id: str
    about: Fields  # also for the records that accompany it
    own: Fields
    block: bytes
    digest: str
    revisit: str


def payload_digest(page: Page) -> str:
    """The digest of the body; empty if the server said that it has not changed."""
    return "" if page.status == 304 else digest(page.body)


def capture(
    page: Page, warcinfo_id: str, decoded: bool, former: Former | None, body_digest: str
) -> Capture:
    """The response of a page, or the revisit where the body is that of `former`."""
    revisit = ""
    if page.status == 304:
        revisit = _PROFILE + "server-not-modified"
    elif former is not None and page.body and former.digest == body_digest:
        revisit = _PROFILE + "identical-payload-digest"
    about = [
        ("WARC-Target-URI", target(page.url)),
        ("WARC-Date", date(page.fetched_at)),
        ("WARC-IP-Address", page.ip_address),
        ("WARC-Protocol", _PROTOCOL_NAMES.get(page.protocol) or page.protocol.lower()),
        ("WARC-Warcinfo-ID", warcinfo_id),
    ]
    own = [
        ("WARC-Payload-Digest", body_digest or (former.digest if former else "")),
        ("WARC-Profile", revisit),
        ("WARC-Truncated", page.truncated if page.truncated in _TRUNCATED else "unspecified"),
    ]
    if revisit and former is not None:
        own.append(("WARC-Refers-To-Target-URI", target(former.url)))
        own.append(("WARC-Refers-To-Date", date(former.fetched_at)))
    head = response_head(page, decoded)
    block = head if revisit else head + page.body
    return Capture(new_id(), about, own, block, body_digest or (former.digest if former else ""), revisit)


def encode(kind: str, record_id: str, fields: Fields, content_type: str, block: bytes) -> bytes:
    """A whole record; fields without a value are left out."""
    lines = ["WARC/1.1", f"WARC-Type: {kind}", f"WARC-Record-ID: {record_id}"]
    lines += [f"{name}: {value}" for name, value in fields if value]
    lines.append(f"WARC-Block-Digest: {digest(block)}")
    lines.append(f"Content-Type: {content_type}")
    lines.append(f"Content-Length: {len(block)}")
    return b"".join((_joined(lines).encode("utf-8", "replace"), block, b"\r\n\r\n"))


def response_head(page: Page, decoded: bool) -> bytes:
    # Binary protocols have no status line, and readers (pywb) refuse one that says HTTP/2: the record's
    # WARC-Protocol tells.
    protocol = page.protocol if page.protocol in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    lines = [f"{protocol} {page.status} {page.reason}"]
    for name, value in page.headers:
        lower = name.lower()
        # Cut or decoded, the body may no longer be as long as was said.
        wrong_length = lower == "content-length" and page.status != 304 and value != str(len(page.body))
        if lower == "transfer-encoding" or (decoded and lower == "content-encoding") or wrong_length:
            name = f"X-Archive-Orig-{name}"
        lines.append(f"{name}: {value}")
    return _head(lines)


def request_head(url: str, headers: Headers) -> bytes:
    place = authority(url)
    target = url[len(place) :].partition("#")[0]
    if target[:1] != "/":
        target = f"/{target}"
    lines = [f"GET {target} HTTP/1.1"]
    named = [f"{name}: {value}" for name, value in headers]
    if not any(line[:5].lower() == "host:" for line in named):
        lines.append(f"Host: {place.partition('//')[2]}")
    return _head(lines + named)


def metadata_block(page: Page, metadata: Mapping[str, object]) -> bytes:
    """What the crawler knows of a page beside the response; what is empty is left out."""
    fields: dict[str, object] = {
        "fetchTimeMs": round(page.fetch_seconds * 1000), "encoding": page.encoding, "depth": page.depth,
        **metadata,
    }
    lines = [f"{_BREAKS.sub(' ', f'{name}: {value}')}\r\n" for name, value in fields.items()
             if value is not None and value != ""]
    return "".join(lines).encode("utf-8", "replace")


def digest(data: bytes) -> str:
    """SHA-1 in base 32, as archives have it."""
    number = int.from_bytes(sha1(data, usedforsecurity=False).digest(), "big")
    # Ten bits at a time: the library's encoder costs more than the hash of a page.
    return "sha1:" + "".join([_BASE_32[number >> shift & 1023] for shift in _SHIFTS])


def date(at: float) -> str:
    seconds, microseconds = divmod(round(at * 1_000_000), 1_000_000)
    return f"{_to_the_second(seconds)}.{microseconds:06d}Z"


@lru_cache(maxsize=64)
def _to_the_second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def new_id() -> str:
    """A random UUID (version 4)."""
    text = f"{_random.getrandbits(128):032x}"
    variant = "89ab"[int(text[16], 16) & 3]
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}>"


def target(url: str) -> str:
    return url.replace(" ", "%20")


def _head(lines: list[str]) -> bytes:
    text = _joined(lines)
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _joined(lines: list[str]) -> str:
    """The lines of a head and the empty one after them. A break within a line cannot make another."""
    text = "\r\n".join(lines)
    if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1 or "\0" in text:
        text = "\r\n".join([_BREAKS.sub(" ", line) for line in lines])
    return text + "\r\n\r\n"
