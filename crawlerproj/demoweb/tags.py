"""The opening tags of links to the ordinary pages, as authors write them.

A page is asked for once and linked to fifty times, so these are worth keeping, in a bounded number.
"""

from collections.abc import Callable
from typing import NamedTuple

from crawlerproj.demoweb.layout import Layout

KEPT = 65536
_BEFORE, _AFTER = '<a href="', '">'


class Tag(NamedTuple):
    """The tag of a link to one page, in all its spellings."""

    full: str
    rooted: str  # from the root of the host
    bare: str  # just the file name, in pages of the same folder
    folder: str


class Tags:
    """`entry` gives the URL by which links reach a page."""

    def __init__(self, layout: Layout, entry: Callable[[int, int], str]) -> None:
        self._layout, self._entry = layout, entry
        self._clear()

    def _clear(self) -> None:
        self._left = KEPT
        self._rows: list[list[Tag | None]] = [[None] * size for size in self._layout.sizes]

    def of(self, host: int, page: int) -> Tag:
        return self._rows[host][page] or self._make(host, page)

    def in_full(self, host: int, page: int) -> str:
        return (self._rows[host][page] or self._make(host, page))[0]

    def written(self, host: int, pages: list[int], folder: str) -> list[str]:
        """Links to pages of the same host: in full, from its root, or from the folder they share."""
        row = self._rows[host]
        tags = [row[page] or self._make(host, page) for page in pages]
        written = [tag.rooted for tag in tags]
        written[::3] = [tag.full for tag in tags[::3]]
        written[2::3] = [tag.bare if tag.folder == folder else tag.rooted for tag in tags[2::3]]
        return written

    def _make(self, host: int, page: int) -> Tag:
        if not self._left:
            self._clear()
        self._left -= 1
        url, origin = self._entry(host, page), self._layout.origins[host]
        full = link(url)
        tag = Tag(full, full, full, "")
        if url.startswith(origin + "/"):
            folder, _, name = url[len(origin) :].rpartition("/")
            tag = Tag(full, link(f"{folder}/{name}"), link(name) if name else full, folder)
        self._rows[host][page] = tag
        return tag


def link(href: str) -> str:
    return f"{_BEFORE}{href}{_AFTER}"


def href(tag: str) -> str:
    return tag[len(_BEFORE) : -len(_AFTER)]
