"""Have we this content already, and are its links worth following?

A page is a duplicate only of ANOTHER URL whose page is done (uncommitted groups included). The rule:

| kind | what | links |
|---|---|---|
| new | nothing like it is known | followed |
| mirror | same text and same links as written, at least 50 words, on another host | not followed |
| exact | same text | offered at the lowest priority |
| near | similarity estimated at the threshold or above | offered at the lowest priority |
| empty | no words at all: it says nothing, so it repeats nothing | followed |

Short pages (under 50 words) are never mirrors nor near-duplicates; they are exact ones only if their links
as written are the same too: "Next photo" is not the same page a thousand times.
`follow="never"` is the textbook's rule: no duplicate is followed. It loses pages of real sites.

First look up, then insert: two workers that meet the same text at once may follow it twice, never not at
all. A page is compared with others, never with its own former self; when its text has changed, its
outdated fingerprints are deleted. One whose text has not changed keeps its verdict as the original.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from xxhash import xxh3_64_digest

from crawlerproj.documents.duplicate_share import DuplicateShare
from crawlerproj.documents.fingerprint import DEFAULT_VALUES, MIN_WORDS, Fingerprint
from crawlerproj.documents.known_pages import DIGEST_BYTES, LINKS_BYTES, KnownPage, KnownPages
from crawlerproj.documents.near_duplicates import ID_BYTES, Buckets, NearDuplicates, PageId, members
from crawlerproj.documents.path_families import PathFamilies
from crawlerproj.documents.soft_404 import SoftNotFound
from crawlerproj.documents.tables import Tables
from crawlerproj.urls.hosts import host_of

Kind = Literal["new", "mirror", "exact", "near", "empty"]
Follow = Literal["all", "demote", "none"]


@dataclass(slots=True, frozen=True)
class Verdict:
    """`family` names the path family that is stopped, where that is why the links are not followed.

    `wants_probe`: the host is to be asked now for a page that cannot exist.
    """

    kind: Kind
    duplicate_of: str = ""
    follow: Follow = "all"
    similarity: float = 0.0
    family: str = ""
    soft_404: bool = False
    wants_probe: bool = False

    @property
    def is_duplicate(self) -> bool:
        return bool(self.duplicate_of)


class ContentSeen:
    """Judges each page once and remembers it, in the tables of the open commit group."""

    def __init__(
        self,
        tables: Tables,
        threshold: float = 0.9,
        follow: Literal["demote", "never"] = "demote",
        near: bool = True,
        values: int = DEFAULT_VALUES,
        probe_after: int = 0,
    ) -> None:
        """`probe_after`: pages of a host before it is asked how its missing pages look; 0: never."""
        if follow not in ("demote", "never"):
            raise ValueError(f"CONTENT_SEEN_FOLLOW is {follow!r}: give `demote` or `never`.")
        # Shared storage reads many rows in one round trip.
        self._read_ahead = getattr(tables, "prefetch", None)
        self._pages = KnownPages(tables)
        self._texts = Buckets(tables, "fp-texts")
        self._near = NearDuplicates(tables, threshold, values)
        self._looks_for_near, self._never = near, follow == "never"
        self.families = PathFamilies(tables)
        self.share = DuplicateShare(tables)
        self.soft_404 = SoftNotFound(tables, self._near.prints)
        self._probe_after = probe_after

    def judge(self, page_url: str, host: str, text: str, links: Iterable[str]) -> Verdict:
        """`links` are the hrefs as the page wrote them: those of a mirror resolve to other URLs."""
        itself = page_id(page_url)
        made = self._near.prints.of(text, signed=self._looks_for_near)
        digest = made.digest[:DIGEST_BYTES]
        if self._read_ahead is not None:
            near = self._near.rows_of(made.signature) if made.signature else []
            self._read_ahead([self._pages.row(itself), *self._texts.rows([digest]), *near])
        former = self._pages.get(itself)
        if former is not None and former.url != page_url:
            former = None  # another page with the same id: its row gives way
        if former is not None and former.digest != digest:
            self._forget(itself, former)
        if not made.words:
            return Verdict("empty")
        written = links_digest(links)
        was_original = former is not None and former.digest == digest and not former.duplicate_of
        looked_up = self._near.look_up(made.signature) if made.signature else {}
        texts = self._texts.row(digest)
        alike = {page for row in (texts, *looked_up.values()) for page in members(row)}
        if self._read_ahead is not None and len(alike) > 1:
            self._read_ahead([self._pages.row(page) for page in alike])
        verdict = Verdict("new")
        if not was_original:
            verdict = self._compare(itself, host, made, written, members(texts), looked_up)
        original = page_id(verdict.duplicate_of) if verdict.duplicate_of else b""
        self._pages.put(itself, KnownPage(page_url, digest, written, made.signature, original))
        self._texts.add(digest, itself, texts)
        self._near.insert(itself, looked_up)
        return self._settle(page_url, host, text, verdict)

    def led_to(self, page_url: str, new_urls: Iterable[str]) -> None:
        """Call when a demoted page's links were offered, with those that were not known before, or none."""
        self.families.led_to(page_url, new_urls)

    def _compare(
        self, itself: PageId, host: str, made: Fingerprint, written: bytes, same_text: list[PageId],
        looked_up: dict[bytes, bytes],
    ) -> Verdict:
        exact: list[KnownPage] = []
        for page in same_text:
            known = self._pages.get(page) if page != itself else None
            # A bucket may name a page that has been written anew meanwhile by another worker.
            if known is not None and _same_text(known, made):
                exact.append(known)
        exact.sort(key=lambda known: bool(known.duplicate_of))  # originals first
        same_links = [known for known in exact if known.links == written]
        if made.words < MIN_WORDS:
            exact = same_links
        else:
            for known in same_links:
                if host_of(known.url) != host:
                    return Verdict("mirror", known.url, "none", 1.0)
        if exact:
            return Verdict("exact", exact[0].url, "demote", 1.0)
        if looked_up:
            for similarity, page in self._near.matches(made.signature, looked_up, self._signature, itself):
                known = self._pages.get(page)
                if known is not None:
                    return Verdict("near", known.url, "demote", similarity)
        return Verdict("new")

    def _settle(self, url: str, host: str, text: str, verdict: Verdict) -> Verdict:
        """Counts the verdict and lets it decide about the links."""
        pages = self.share.count(host, verdict.is_duplicate)
        after = self._probe_after
        # At each multiple, so that a host which was below a former setting is not forgotten.
        probe = after > 0 and pages % after == 0 and self.soft_404.wants_probe(host)
        soft_404 = self.soft_404.looks_like(host, url, text)
        if not verdict.is_duplicate:
            self.families.fresh(url)
            return Verdict("new", soft_404=soft_404, wants_probe=probe) if soft_404 or probe else verdict
        stopped = self.families.stopped(url)
        follow = "none" if self._never or stopped else verdict.follow
        return Verdict(verdict.kind, verdict.duplicate_of, follow, verdict.similarity, stopped, soft_404,
                       probe)

    def _forget(self, page: PageId, known: KnownPage) -> None:
        self._texts.remove(known.digest, page)
        if known.signature:
            self._near.remove(page, known.signature)
        self._pages.delete(page)

    def _signature(self, page: PageId) -> bytes:
        known = self._pages.get(page)
        return known.signature if known is not None else b""


def _same_text(known: KnownPage, made: Fingerprint) -> bool:
    if known.digest != made.digest[:DIGEST_BYTES]:
        return False
    # Signatures of another length were made with another threshold: they say nothing here.
    return known.signature == made.signature or len(known.signature) != len(made.signature)


def page_id(url: str) -> PageId:
    digest: bytes = xxh3_64_digest(url.encode("utf-8", "surrogatepass"))
    return digest[:ID_BYTES]


def links_digest(hrefs: Iterable[str]) -> bytes:
    """The links as written, in their order, in a few bytes: only pages with one text are compared by it."""
    digest: bytes = xxh3_64_digest("\n".join(hrefs).encode("utf-8", "surrogatepass"))
    return digest[:LINKS_BYTES]
