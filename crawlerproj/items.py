"""What travels along the path: candidates go in, pages with their links come out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgpack


@dataclass(slots=True)
class Candidate:
    """A URL going in: a seed, a link, the target of a redirect, or a whole Scrapy request.

    `priority` 0 leaves the front queue to the prioritiser. `request` holds what a Scrapy
    `Request` needs beyond its URL (method, body, callback name...), in msgpack's types.
    """

    url: str
    depth: int = 0
    priority: int = 0
    label: str = ""
    redirects: int = 0
    attempts: int = 0
    request: dict[str, object] | None = None

    def encode(self) -> bytes:
        """The candidate as stored: a msgpack list, short for an ordinary link."""
        values: tuple[object, ...] = (self.url, self.depth, self.priority)
        if self.label or self.redirects or self.attempts or self.request is not None:
            values += (self.label, self.redirects, self.attempts, self.request)
        packed: bytes = _pack(values)
        return packed

    @classmethod
    def decode(cls, data: bytes) -> Candidate:
        return cls(*msgpack.unpackb(data, strict_map_key=False))


_pack = msgpack.Packer().pack  # made once: half of a small packb is the making


class Link(NamedTuple):
    """A link as a page wrote it, already absolute and canonically spelled."""

    url: str
    anchor: str = ""
    rel: str = ""


@dataclass(slots=True)
class Page:
    """A fetched document: what every pipeline reads.

    One response makes one Page, whatever its status; `links` holds the targets to follow
    (for a redirect: its one target).
    """

    url: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    fetched_at: float
    fetch_seconds: float
    ip_address: str = ""
    protocol: str = "HTTP/1.1"
    reason: str = ""
    truncated: str = ""
    content_type: str = ""
    encoding: str = ""
    title: str = ""
    text: str = ""
    depth: int = 0
    label: str = ""
    redirects: int = 0
    links: list[Link] = field(default_factory=list)
    written_links: list[str] = field(default_factory=list)  # hrefs as the page wrote them
    duplicate_of: str = ""
    duplicate_kind: str = ""  # "", "mirror", "exact" or "near"
    follow: str = "all"  # what becomes of its links: "all", "demote" (lowest queue) or "none"
    language: str = ""
    malformed: str = ""
    noindex: bool = False
    noarchive: bool = False
    rejected: dict[str, int] = field(default_factory=dict)
    extracted: dict[str, object] = field(default_factory=dict)
    request: Any = field(default=None, repr=False, compare=False)  # Scrapy's, with its headers
    errand: Any = field(default=None, repr=False, compare=False)  # the fetch it came of
