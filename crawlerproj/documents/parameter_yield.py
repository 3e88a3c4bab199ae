"""What do new values of a query parameter yield? Those that only show what is known are not asked for.

Two URLs that differ in one parameter alone tell about it: the page that came second has a text of its own, or
leads to URLs that the first, with its own value in them, did not lead to; or it does neither, and the new
value has yielded nothing. After `PATIENCE` of these in a row the parameter is idle in its path family (a
session, an order, a view, where one came from), whatever it is called. A URL is then refused if another was
fetched that differs from it in idle parameters alone. So of every page one spelling is had, and families that
have new pages, which are not given up as a whole, are not fetched a hundred times over.

A value that yields nothing but further URLs with it counts `SELF_FEEDING` times: twice as much as in path
families, so that the parameter is stopped before the family is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import msgpack
from xxhash import xxh3_64_digest

from crawlerproj.documents.tables import Tables

PATIENCE = 50
SELF_FEEDING = 12
MOST_NAMES = 8  # parameters of a URL that are looked at: each costs a row
MOST_COUNTED = 32  # parameters of a family
MOST_LINKS = 50  # new links of a duplicate that are looked at
MOST_BYTES = 200  # of a value that are kept

# In the table of path families: of a shared crawl, too, only the owner of the host writes it.
_TABLE = "fp-families"
_COUNTS, _FETCHED = b"c", b"v"


class ParameterYield:
    """Counts, for each parameter of a path family, the values since one yielded something.

    `never_offered` says which of some URLs were never found before.
    """

    def __init__(
        self,
        tables: Tables,
        family_of: Callable[[str], str],
        never_offered: Callable[[list[str]], Collection[str]],
        patience: int = PATIENCE,
    ) -> None:
        self._tables, self._family_of, self._never_offered = tables, family_of, never_offered
        self._patience = patience

    def fresh(self, url: str) -> None:
        """The page has a text of its own."""
        names = _names(url)
        if not names:
            return
        key, counts = self._counts(url)
        matter = {name for name in names if name in counts and self._other(url, name) is not None}
        if matter:
            counts = {name: count for name, count in counts.items() if name not in matter}
            self._put(key, counts)
        self._remember(url, names, counts)

    def led_to(self, url: str, new_urls: Iterable[str]) -> bool:
        """The page is a duplicate and links to these, which were not known. Is a parameter to blame?"""
        names = _names(url)
        if not names:
            return False
        key, counts = self._counts(url)
        before, new = dict(counts), list(new_urls)[:MOST_LINKS]
        others = {name: other for name in names if (other := self._other(url, name)) is not None}
        # What the other page links to in the same place.
        opposite = {name: [_replaced(link, name, other) for link in new] for name, other in others.items()}
        unheard = set(self._never_offered([link for links in opposite.values() for link in links]))
        for name, links in opposite.items():
            if not unheard.isdisjoint(links):
                counts.pop(name, None)
            elif name in counts or len(counts) < MOST_COUNTED:
                counts[name] = counts.get(name, 0) + (SELF_FEEDING if new else 1)
        if counts != before:
            self._put(key, counts)
        self._remember(url, names, counts)
        return any(counts.get(name, 0) > before.get(name, 0) for name in opposite)

    def idle(self, url: str) -> list[str]:
        """The parameters for which the URL is not worth fetching; none, if it is."""
        names = _names(url)
        idle = self._idle(self._counts(url)[1]) if names else set()
        own = sorted(idle.intersection(names))
        return own if own and self._is_known(url, idle, own) else []

    def _is_known(self, url: str, idle: set[str], own: list[str]) -> bool:
        """Has another URL been fetched that differs in idle parameters alone?"""
        if len(own) == 1 and self._other(url, own[0]) is not None:
            return True
        rest = _replaced(url, own, "")
        if len(idle) > 1 and self._row(rest, idle) not in (None, _digest(url)):
            return True
        return len(own) > 1 and any(self._row(rest, [name]) is not None for name in ["", *idle])

    def _other(self, url: str, name: str) -> str | None:
        """How another fetched URL gives this parameter, which differs in it alone; "": not at all."""
        rest = _replaced(url, [name], "")
        row = self._row(rest, [name])
        if row is not None and row != _given(url, name):
            return row.decode("utf-8", "surrogatepass")
        return "" if self._row(rest, [""]) is not None else None

    def _remember(self, url: str, names: list[str], counts: dict[str, int]) -> None:
        self._put_first(url, [""], b"")
        for name in names:
            self._put_first(_replaced(url, [name], ""), [name], _given(url, name))
        if len(idle := self._idle(counts)) > 1:
            self._put_first(_replaced(url, idle, ""), idle, _digest(url))

    def _idle(self, counts: dict[str, int]) -> set[str]:
        return {name for name, count in counts.items() if count >= self._patience}

    # --- rows -------------------------------------------------------------------------------

    def _counts(self, url: str) -> tuple[bytes, dict[str, int]]:
        key = _COUNTS + _digest(self._family_of(url))
        row = self._tables.get(_TABLE, key)
        return key, msgpack.unpackb(row) if row else {}

    def _put(self, key: bytes, counts: dict[str, int]) -> None:
        if counts:
            self._tables.put(_TABLE, key, msgpack.packb(counts))
        else:
            self._tables.delete(_TABLE, key)

    def _row(self, rest: str, names: Iterable[str]) -> bytes | None:
        return self._tables.get(_TABLE, _key(rest, names))

    def _put_first(self, rest: str, names: Iterable[str], value: bytes) -> None:
        if self._row(rest, names) is None:
            self._tables.put(_TABLE, _key(rest, names), value)


def _names(url: str) -> list[str]:
    query = url.partition("?")[2]
    if not query:
        return []
    return list(dict.fromkeys(part.partition("=")[0] for part in query.split("&")))[:MOST_NAMES]


def _given(url: str, name: str) -> bytes:
    """`name=value` as the URL has it."""
    parts = (part for part in url.partition("?")[2].split("&") if part.partition("=")[0] == name)
    return "&".join(parts).encode("utf-8", "surrogatepass")[:MOST_BYTES]


def _replaced(url: str, names: Collection[str] | str, given: str) -> str:
    """The URL with something else, or nothing, in the place of these parameters."""
    names = [names] if isinstance(names, str) else names
    path, _, query = url.partition("?")
    parts: list[str] = []
    for part in query.split("&"):
        if part.partition("=")[0] not in names:
            parts.append(part)
        elif given:
            parts.append(given)
            given = ""
    return f"{path}?{'&'.join(parts)}" if parts else path


def _key(rest: str, names: Iterable[str]) -> bytes:
    # With the names: a page without `id` is another than what is left when `id` is taken away.
    return _FETCHED + _digest("\n".join([rest, *sorted(names)]))


def _digest(text: str) -> bytes:
    digest: bytes = xxh3_64_digest(text.encode("utf-8", "surrogatepass"))
    return digest
