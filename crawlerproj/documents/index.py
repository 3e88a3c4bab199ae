"""Which records are there of a URL, or below a prefix? By SURT key and time, over all files of an archive.

A look-up is a binary search in each file's index. It may be asked while a crawl is writing: `refresh` finds
what has come since.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path

from crawlerproj.documents import cdx
from crawlerproj.documents.cdx import Entry
from crawlerproj.documents.index_files import LiveSegment, Segment, open_sorted


class Index:
    """Reads the indexes beside the WARC files of one directory."""

    def __init__(self, directory: Path) -> None:
        if not directory.is_dir():
            raise FileNotFoundError(f"{directory} is no archive: there is no such directory.")
        self._directory = directory
        self._segments: dict[str, Segment] = {}
        self.refresh()

    def refresh(self) -> None:
        """Takes in new files and new lines."""
        paths = {path.name: path for path in sorted(self._directory.glob("*.index"))}
        for name in self._segments.keys() - paths.keys():
            del self._segments[name]
        for name, path in paths.items():
            segment = self._segments.get(name)
            if segment is None or isinstance(segment, LiveSegment):
                self._segments[name] = open_sorted(path) or _refreshed(segment, path)

    def lines(self, prefix: str = "") -> Iterator[bytes]:
        """Every line whose key begins with `prefix`, sorted: the whole is a CDXJ file."""
        first = prefix.encode("utf-8", "surrogatepass")
        sources = [
            takewhile(lambda line: line.startswith(first), segment.lines_from(first))
            for segment in self._segments.values()
        ]
        return iter(sources[0]) if len(sources) == 1 else heapq.merge(*sources)

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return map(cdx.decode, self.lines(prefix))

    def below(self, prefix: str) -> Iterator[Entry]:
        """The captures below a URL, a `host/path`, or of a host and its subdomains (`example.com`)."""
        if "://" in prefix:
            return (each for each in self.entries(cdx.index_key(prefix)) if each.url.startswith(prefix))
        host, slash, path = prefix.partition("/")
        key = cdx.index_key(f"http://{host}/{path}") if prefix else ""
        if slash or not prefix:
            return self.entries(key)
        domain = key.partition(")")[0]
        return (each for each in self.entries(domain) if each.key[len(domain)] in "),:")

    def versions(self, url: str) -> list[Entry]:
        """The records of a URL, the oldest first.

        Spellings that share a key (http and https, www. or not) count only if the URL itself has none.
        """
        found = list(self.entries(cdx.index_key(url) + " "))
        same = [entry for entry in found if entry.url == url]
        return same or found

    def find(self, url: str, at: float | None = None) -> Entry | None:
        """The newest record of a URL that says something, or the one nearest to a moment."""
        return best(self.versions(url), at)


def best(entries: Iterable[Entry], at: float | None) -> Entry | None:
    """Successes and revisits are preferred to errors; then nearest in time, then the newest."""
    entries = list(entries)
    if not entries:
        return None
    useful = [entry for entry in entries if entry.status < 400] or entries
    if at is None:
        return max(useful, key=lambda entry: (entry.timestamp, entry.filename, entry.offset))
    return min(useful, key=lambda entry: abs(entry.at - at))


def _refreshed(segment: Segment | None, path: Path) -> LiveSegment:
    live = segment if isinstance(segment, LiveSegment) else LiveSegment(path)
    live.refresh()
    return live
