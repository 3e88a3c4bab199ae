"""Which stored pages repeat each other? All pairs above a threshold by LSH, offline, and their clusters.

Pages stream in; their signatures wait in a temporary file, so memory is some 250 bytes a page. Equal texts
are joined by their digests, then one of each set stands for it. Band by band, pages are sorted by the hash
of the band; neighbours with the same hash are candidates, confirmed by the signatures' estimate.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from crawlerproj.documents.fingerprint import DEFAULT_VALUES, Fingerprinter
from crawlerproj.documents.near_duplicates import lsh_parameters

# In a run of equal bands longer than this each page is compared with so many before it: the ends of a long
# run meet through those between them.
WINDOW = 64
_BATCH = 1 << 16


@dataclass(slots=True, frozen=True)
class Cluster:
    """URLs with one content, in the order they came. `is_exact`: all texts are equal."""

    urls: list[str]
    is_exact: bool


class Duplicates:
    """Takes every page in, then tells pairs and clusters. Close it: it holds a temporary file."""

    def __init__(self, threshold: float = 0.9, values: int = DEFAULT_VALUES) -> None:
        self._threshold, self._values = threshold, values
        self._bands, self._rows = lsh_parameters(threshold, values)
        self._fingerprinter = Fingerprinter(values)
        self._signatures: IO[bytes] = tempfile.TemporaryFile(prefix="signatures-")  # noqa: SIM115
        self._dense: IO[bytes] = tempfile.TemporaryFile(prefix="dense-")  # noqa: SIM115
        self._urls: IO[bytes] = tempfile.TemporaryFile(prefix="urls-")  # noqa: SIM115
        self._url_starts: list[int] = [0]
        self._row_of_digest: dict[bytes, int] = {}
        self._rows_of_pages: list[int] = []  # page -> its text's number
        self._signed: list[int] = []  # position in the file -> text's number

    def add(self, url: str, text: str) -> None:
        """Pages without words repeat nothing and are left out."""
        made = self._fingerprinter.of(text)
        if not made.words:
            return
        number = self._row_of_digest.get(made.digest)
        if number is None:
            number = self._row_of_digest[made.digest] = len(self._row_of_digest)
            if made.signature:
                self._signatures.write(made.signature)
                self._dense.write(self._fingerprinter.dense(made.signature))
                self._signed.append(number)
        self._rows_of_pages.append(number)
        data = url.encode("utf-8", "surrogatepass")
        self._urls.write(data)
        self._url_starts.append(self._url_starts[-1] + len(data))

    def pairs(self) -> Iterator[tuple[str, str, float]]:
        """Pairs of pages with different texts above the threshold, one page for each text."""
        first_page: dict[int, int] = {}
        for page, number in enumerate(self._rows_of_pages):
            first_page.setdefault(number, page)
        for first, second, similarity in self._near():
            yield self._url(first_page[first]), self._url(first_page[second]), similarity

    def clusters(self) -> list[Cluster]:
        """Sets of two pages or more, the largest first."""
        parent = list(range(len(self._row_of_digest)))

        def root(number: int) -> int:
            while parent[number] != number:
                parent[number] = parent[parent[number]]
                number = parent[number]
            return number

        for first, second, _ in self._near():
            one, other = sorted((root(first), root(second)))
            parent[other] = one
        members: dict[int, list[int]] = {}
        for page, number in enumerate(self._rows_of_pages):
            members.setdefault(root(number), []).append(page)
        found = [
            Cluster([self._url(page) for page in pages], len({self._rows_of_pages[p] for p in pages}) == 1)
            for pages in members.values() if len(pages) > 1
        ]
        found.sort(key=lambda cluster: -len(cluster.urls))
        return found

    def close(self) -> None:
        self._signatures.close()
        self._dense.close()
        self._urls.close()

    def _near(self) -> Iterator[tuple[int, int, float]]:
        """Confirmed pairs of texts, each once."""
        if len(self._signed) < 2:
            return
        self._signatures.flush()
        self._dense.flush()
        shape = len(self._signed), self._values
        signatures = np.memmap(self._signatures, "<u2", "r", shape=shape)
        banded = np.memmap(self._dense, "<u2", "r", shape=shape)
        seen: NDArray[np.uint64] = np.empty(0, np.uint64)
        for band in range(self._bands):
            columns = slice(band * self._rows, (band + 1) * self._rows)
            fresh = np.unique(np.concatenate(_candidates(_band_hashes(banded, columns))))
            fresh = np.setdiff1d(fresh, seen, assume_unique=True)
            seen = np.union1d(seen, fresh)
            for start in range(0, len(fresh), _BATCH):
                yield from self._confirmed(signatures, fresh[start : start + _BATCH])

    def _confirmed(self, signatures: Any, codes: NDArray[np.uint64]) -> Iterator[tuple[int, int, float]]:
        firsts = (codes >> np.uint64(32)).astype(np.int64)
        seconds = (codes & np.uint64(0xFFFFFFFF)).astype(np.int64)
        for start in range(0, len(codes), 4096):
            part = slice(start, start + 4096)
            some, others = signatures[firsts[part]], signatures[seconds[part]]
            equal = some == others
            neither = (equal & (some == self._fingerprinter.empty)).sum(axis=1)
            similar = (equal.sum(axis=1) - neither) / np.maximum(self._values - neither, 1)
            for position in np.flatnonzero(similar >= self._threshold):
                first, second = int(firsts[start + position]), int(seconds[start + position])
                yield self._signed[first], self._signed[second], float(similar[position])

    def _url(self, page: int) -> str:
        start, end = self._url_starts[page], self._url_starts[page + 1]
        self._urls.seek(start)
        data = self._urls.read(end - start)
        self._urls.seek(0, 2)
        return data.decode("utf-8", "surrogatepass")


def _band_hashes(signatures: Any, columns: slice) -> NDArray[np.uint64]:
    """A 64-bit hash of some positions of every signature."""
    hashes = np.zeros(len(signatures), np.uint64)
    for start in range(0, len(signatures), _BATCH):
        block = signatures[start : start + _BATCH, columns].astype(np.uint64)
        part = hashes[start : start + _BATCH]
        for column in range(block.shape[1]):
            part *= np.uint64(0x9E3779B97F4A7C15)
            part += block[:, column] + np.uint64(1)
            part ^= part >> np.uint64(29)
    return hashes


def _candidates(hashes: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Pairs (earlier << 32 | later) of positions with the same hash."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    found = [np.empty(0, np.uint64)]
    for distance in range(1, WINDOW + 1):
        same = np.flatnonzero(ordered[distance:] == ordered[:-distance])
        if not len(same):
            break
        # Stable sorting keeps the earlier page first.
        firsts, seconds = order[same].astype(np.uint64), order[same + distance].astype(np.uint64)
        found.append(firsts << np.uint64(32) | seconds)
    return found
