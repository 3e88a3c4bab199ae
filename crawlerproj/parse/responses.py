"""A Scrapy response as a Page: what was received, before anyone has read it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from scrapy import Request
from scrapy.http import Response

from crawlerproj.items import Page
from crawlerproj.parse.directives import Directives, forbids_index
from crawlerproj.parse.page import parse_html

_HTML = ("text/html", "application/xhtml+xml")


def page_of(response: Response, request: Request, **more: Any) -> Page:
    """The page of a response; `more` are further fields of Page."""
    meta = request.meta
    seconds = meta.get("fetch_seconds") or 0.0
    content_type = _texts(response, b"Content-Type")
    return Page(
        url=request.url,
        status=response.status,
        headers=[
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in dict.items(response.headers) for value in values
        ],
        body=response.body,
        fetched_at=time.time() - seconds,
        fetch_seconds=seconds,
        ip_address=str(response.ip_address) if response.ip_address is not None else "",
        protocol=response.protocol or "HTTP/1.1",
        reason=meta.get("reason_phrase", ""),
        truncated=meta.get("download_truncated", ""),
        content_type=content_type[-1] if content_type else "",
        request=request,
        **more,
    )


def is_html(page: Page) -> bool:
    """By its type; without one, by how it begins."""
    kind = page.content_type.partition(";")[0].strip().lower()
    return kind in _HTML or (not kind and page.body[:512].lstrip()[:1] == b"<")


def read_html(page: Page, response: Response, spell: Callable[..., str | None], agent: str,
              with_text: bool) -> None:
    """Reads a page: its title, its links, what it allows, and its text if that is wanted."""
    parsed = parse_html(
        page.url, page.body, page.content_type, spell,
        link_headers=_texts(response, b"Link"), robots_headers=_texts(response, b"X-Robots-Tag"),
        agent=agent, with_text=with_text,
    )
    page.title, page.encoding, page.language = parsed.title, parsed.encoding, parsed.language
    page.links, page.rejected, page.written_links = parsed.links, parsed.rejected, parsed.written
    page.malformed = parsed.malformed
    page.noindex = forbids_index(parsed.noindex, parsed.unavailable_after, page.fetched_at)
    page.noarchive = parsed.noarchive
    if parsed.robots:
        page.extracted["robots"] = parsed.robots
    if with_text:
        page.text = parsed.text


def obey_headers(page: Page, agent: str) -> bool:
    """What a document other than HTML asks of robots in its headers. May its links be followed?"""
    values = [value for name, value in page.headers if name.lower() == "x-robots-tag"]
    if not values:
        return True
    directives = Directives(agent)
    directives.read_headers(values)
    page.noindex = forbids_index(directives.noindex, directives.unavailable_after, page.fetched_at)
    page.noarchive = directives.noarchive
    if told := directives.told():
        page.extracted["robots"] = told
    return not directives.nofollow


def _texts(response: Response, name: bytes) -> list[str]:
    """The values of a header; `name` as Scrapy spells it, so that it need not be spelled for each page."""
    fields: dict[bytes, list[bytes]] = response.headers
    return [value.decode("latin-1") for value in dict.get(fields, name, ())]
