"""What do stored documents say? They are read as the crawl reads them: HTML here, what is neither HTML nor
plain text in a process of its own, with the crawl's limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from scrapy.settings import Settings

from crawlerproj.documents.rows import Reading
from crawlerproj.items import Link
from crawlerproj.parse.convert import Converter
from crawlerproj.parse.formats import converter_of, plain_text
from crawlerproj.parse.page import parse_html
from crawlerproj.urls.canonical import Speller

_HTML = ("text/html", "application/xhtml+xml")

_speller = Speller()


class StoredPages:
    """Belongs to one thread, and that has no event loop running."""

    def __init__(self, *, max_text: int, **limits: Any) -> None:
        self._max_text = max_text
        self._converter = Converter(max_text=max_text, **limits)
        self._loop = asyncio.new_event_loop()

    @classmethod
    @contextmanager
    def of(cls, settings: Settings | None) -> Iterator[Self]:
        """With the limits that the crawl has."""
        assert settings is not None
        pages = cls(
            seconds=settings.getfloat("CONVERT_SECONDS", 20),
            memory_bytes=settings.getint("CONVERT_MEMORY", 512_000_000),
            max_text=settings.getint("CONVERT_MAX_TEXT", 2_000_000),
            modules=settings.getlist("CONVERT_MODULES"),
        )
        try:
            yield pages
        finally:
            pages.close()

    def read(self, url: str, body: bytes, content_type: str) -> Reading:
        mime = content_type.partition(";")[0].strip().lower()
        if mime in _HTML or (not mime and body.lstrip()[:1] == b"<"):
            said = parse_html(url, body, content_type, _speller.spell)
            # The text comes last: reading it uses the tree up.
            return Reading(description=said.description, headings=said.headings, emphasised=said.emphasised,
                           title=said.title, language=said.language, links=said.links, text=said.text)
        convert = converter_of(content_type)
        if convert is None or not body:
            return Reading()
        if convert is plain_text:
            made = plain_text(body, content_type, self._max_text)
        else:
            made = self._loop.run_until_complete(self._converter.convert(content_type, body))
        urls = (_speller.spell(written, url) for written in made.links)
        return Reading(made.title, made.text, "", [Link(target) for target in urls if target])

    def close(self) -> None:
        self._converter.close()
        self._loop.close()
