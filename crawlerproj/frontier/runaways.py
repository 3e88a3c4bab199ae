"""Folders without end: does a corner of a host only ever lead one folder deeper?

A page some folders down is watched: do all the new URLs it links to lie below its own folder? Where that
was so for `PATIENCE` pages of a corner (host and first two folders) in a row, it is a machine that makes
folders, and its further deep pages are refused, with a reason that `why` tells. One new URL that lies
elsewhere, as on every real site with a menu, gives the corner its patience back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crawlerproj.items import Candidate
from crawlerproj.storage.interface import Storage
from crawlerproj.urls.hosts import host_of

FOLDERS = 4
LINKS = 3  # a deep page that is linked from near the seeds was not found by going down step by step
PATIENCE = 12

_TABLE = "deep"


class Runaways:
    def __init__(self, storage: Storage, patience: int = PATIENCE) -> None:
        self._storage, self._patience = storage, patience

    def reason(self, candidate: Candidate) -> str | None:
        """`trap_runaway_depth` if the candidate's corner only leads deeper and deeper."""
        corner = _corner(candidate)
        if corner is None or self._count(corner) < self._patience:
            return None
        return "trap_runaway_depth"

    def led_to(
        self, candidate: Candidate, links: Sequence[Candidate], is_new: Callable[[Candidate], bool]
    ) -> None:
        """To be told of each fetched page; `links` are what it offers, before it does."""
        corner = _corner(candidate) if links else None
        if corner is None:
            return
        folder = candidate.url.partition("?")[0].rpartition("/")[0] + "/"
        new = [link.url for link in links if is_new(link)]
        if not new:
            return
        count = self._count(corner)
        # Below: at least one more folder.
        if all(url.startswith(folder) and "/" in url[len(folder) :] for url in new):
            self._storage.put(_TABLE, corner, (count + 1).to_bytes(4, "big"))
        elif count:
            self._storage.delete(_TABLE, corner)

    def _count(self, corner: bytes) -> int:
        return int.from_bytes(self._storage.get(_TABLE, corner) or b"", "big")


def _corner(candidate: Candidate) -> bytes | None:
    """Host and first two folders of a candidate that is deep in both ways."""
    # Two slashes belong to the scheme, one ends the host.
    if candidate.depth < LINKS or candidate.url.count("/") < FOLDERS + 3:
        return None
    path = candidate.url.partition("?")[0].split("/", 3)[3]
    folders = path.split("/")[:-1]
    if len(folders) < FOLDERS:
        return None
    return "/".join((host_of(candidate.url), *folders[:2])).encode()
