"""What is kept of a page whose content has been judged: where it is, and its fingerprints.

In a shared store this row is most of what a page costs, so it is spelled tightly: a head (scheme of the
fingerprints, how the URL begins, length of the signature, digests), the original's id if the page is a copy,
the signature, and the rest of the URL.
Eight bytes of a text's digest are enough here: equal texts have equal signatures too, and short ones, which
have none, count as equal only with the same links.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from crawlerproj.documents.fingerprint import SCHEME
from crawlerproj.documents.near_duplicates import ID_BYTES, PageId
from crawlerproj.documents.tables import Tables

DIGEST_BYTES = 8
LINKS_BYTES = 4

_TABLE = "fp-pages"
_HEAD = struct.Struct(f">BBH{DIGEST_BYTES}s{LINKS_BYTES}s")
_BEGINNINGS = (b"", b"http://", b"https://", b"http://www.", b"https://www.")
_IS_COPY = 0x80


@dataclass(slots=True, frozen=True)
class KnownPage:
    url: str
    digest: bytes
    links: bytes
    signature: bytes
    duplicate_of: PageId  # empty: an original


class KnownPages:
    """The table of judged pages. Rows of another scheme are as good as none."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def row(self, page: PageId) -> tuple[str, bytes]:
        """What `get` reads, as tables name it."""
        return _TABLE, page

    def get(self, page: PageId) -> KnownPage | None:
        row = self._tables.get(_TABLE, page)
        return decode(row) if row is not None else None

    def put(self, page: PageId, known: KnownPage) -> None:
        self._tables.put(_TABLE, page, encode(known))

    def delete(self, page: PageId) -> None:
        self._tables.delete(_TABLE, page)


def encode(known: KnownPage) -> bytes:
    url = known.url.encode("utf-8", "surrogatepass")
    begins = max((code for code, beginning in enumerate(_BEGINNINGS) if url.startswith(beginning)))
    flags = begins | (_IS_COPY if known.duplicate_of else 0)
    head = _HEAD.pack(SCHEME, flags, len(known.signature), known.digest, known.links)
    return head + known.duplicate_of + known.signature + url[len(_BEGINNINGS[begins]) :]


def decode(row: bytes) -> KnownPage | None:
    if row[0] != SCHEME:
        return None
    _, flags, length, digest, links = _HEAD.unpack_from(row)
    middle = _HEAD.size + (ID_BYTES if flags & _IS_COPY else 0)
    url = _BEGINNINGS[flags & ~_IS_COPY] + row[middle + length :]
    return KnownPage(url.decode("utf-8", "surrogatepass"), digest, links, row[middle : middle + length],
                     row[_HEAD.size : middle])
