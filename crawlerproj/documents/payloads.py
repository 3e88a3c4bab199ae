"""Which record has this payload already? Then a revisit (identical-payload-digest) says the same in less.

A payload is known by its digest, under the URL and time of the first record that holds it whole: a former
version of the same page, or another page with the same bytes. Rows are written in the commit group of their
page: no row outlives a crash without its record. Cut bodies are no payloads, error pages are kept whole,
and what is shorter than the fields of a revisit is not worth one.
"""

from __future__ import annotations

import msgpack

from crawlerproj.documents.records import Former
from crawlerproj.documents.tables import Tables
from crawlerproj.items import Page

LEAST_BYTES = 256

_TABLE = "payloads"


class Payloads:
    """The first record of each payload."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def former(self, page: Page, digest: str) -> Former | None:
        """The record that holds this page's payload; without one, this page's is to be it."""
        if page.status != 200 or page.truncated or len(page.body) < LEAST_BYTES:
            return None
        key = digest.encode()
        row = self._tables.get(_TABLE, key)
        if row is not None:
            url, fetched_at = msgpack.unpackb(row)
            return Former(url, fetched_at, digest)
        self._tables.put(_TABLE, key, msgpack.packb((page.url, page.fetched_at)))
        return None
