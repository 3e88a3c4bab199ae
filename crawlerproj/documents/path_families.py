"""Do the duplicates of a corner of a host lead anywhere? If 50 in a row did not, the corner is stopped.

A path family is what differs only in names and numbers: the host, the first directories (one with digits
in it is as good as another), the kind of file, and whether it has a query. Its duplicates
are followed (at the lowest priority) as long as one of the last `PATIENCE` led to something new. New is: a
page of the family with a text of its own, or a URL not known before that lies outside the family's corner
(the family without its query). New URLs inside it do not count: a calendar makes them for ever. On the
contrary: a duplicate that leads to new URLs of its own corner alone counts `SELF_FEEDING` times, for it is
what traps are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

from xxhash import xxh3_64_digest

from crawlerproj.documents.parameter_yield import ParameterYield
from crawlerproj.documents.tables import Tables
from crawlerproj.items import Candidate
from crawlerproj.urls.hosts import authority, host_of

PATIENCE = 50
SELF_FEEDING = 6
SPELLING = 3  # for one of which a parameter is to blame: that is stopped first
KEPT_DIRECTORIES = 3

_HAS_DIGIT = re.compile(r"\d").search
_EXTENSION = re.compile(r"\.([a-z][a-z0-9]{1,4})\Z")
_TABLE = "fp-families"

Refusal = Callable[[Candidate], str | None]
"""Why a candidate is not fetched, None if it is."""


@lru_cache(maxsize=4096)  # a URL is asked about when it is drawn, and again when its page has come
def path_family(url: str) -> str:
    """`host/print/#/*.html?` for `http://host/print/17/old-news.html?page=3`."""
    path, _, query = url[len(authority(url)) :].partition("?")
    directories, _, name = path.lower().rpartition("/")
    kept = ["#" if _HAS_DIGIT(part) else part for part in directories.split("/")[1 : KEPT_DIRECTORIES + 1]]
    extension = _EXTENSION.search(name)
    tail = "*" + (extension[0] if extension else "") + ("?" if query else "")
    return "/".join([host_of(url), *kept, tail])


class PathFamilies:
    """Counts, for each family, the duplicates since something new came of it."""

    def __init__(self, tables: Tables, patience: int = PATIENCE) -> None:
        self._tables, self._patience = tables, patience
        self._parameters: ParameterYield | None = None  # learns from the same pages

    def fresh(self, url: str) -> None:
        """A page of the family has a text of its own."""
        self._forget(_key(path_family(url)))
        if self._parameters is not None:
            self._parameters.fresh(url)

    def led_to(self, url: str, new_urls: Iterable[str]) -> None:
        """The links of a duplicate were offered; these were not known before.

        Only this counts against a family: where nobody tells what became of the links, none is stopped.
        """
        family, new_urls = path_family(url), list(new_urls)
        spelling = self._parameters is not None and self._parameters.led_to(url, new_urls)
        corner, key = family.removesuffix("?"), _key(family)
        step = 1
        for new in new_urls:
            if path_family(new).removesuffix("?") != corner:
                self._forget(key)
                return
            step = SPELLING if spelling else SELF_FEEDING
        self._tables.put(_TABLE, key, (self._fruitless(key) + step).to_bytes(4, "big"))

    def stopped(self, url: str) -> str:
        """The family's name if its duplicates are not followed any more, else nothing."""
        family = path_family(url)
        return family if self._fruitless(_key(family)) >= self._patience else ""

    def refusing_idle_parameters(
        self, refusal: Refusal, never_offered: Callable[[list[Candidate]], Collection[str]]
    ) -> Refusal:
        """Watches parameters from now on: `refusal`, and `trap_parameter` for values that yield nothing."""
        parameters = self._parameters = ParameterYield(
            self._tables, path_family, lambda urls: never_offered([Candidate(url) for url in urls])
        )

        def reason(candidate: Candidate) -> str | None:
            found = refusal(candidate)
            if found is None and candidate.request is None and parameters.idle(candidate.url):
                return "trap_parameter"
            return found

        return reason

    def _fruitless(self, key: bytes) -> int:
        return int.from_bytes(self._tables.get(_TABLE, key) or b"", "big")

    def _forget(self, key: bytes) -> None:
        if self._fruitless(key):
            self._tables.delete(_TABLE, key)


def _key(family: str) -> bytes:
    digest: bytes = xxh3_64_digest(family.encode("utf-8", "surrogatepass"))
    return digest
