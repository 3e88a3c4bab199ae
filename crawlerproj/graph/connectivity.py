"""The connectivity server: which pages does this one link to, and which link to it?

Answers over one finished build, mapped into memory, on three levels: `url`, `host` and `domain`. A
build that replaces it later is not seen: open again. All methods are safe in several threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.anchors import Anchor, Anchors
from crawlerproj.graph.checked_numbers import read_floats
from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.jit import Ints
from crawlerproj.graph.manifest import GraphError, Manifest, current_build
from crawlerproj.graph.rows import Rows
from crawlerproj.graph.url_ids import UrlIds
from crawlerproj.graph.url_keys import host_of_key, host_prefix, key_of, url_of
from crawlerproj.graph.walks import shortest_path, spread
from crawlerproj.urls.canonical import Speller
from crawlerproj.urls.hosts import host_of, registered_domain

LEVELS = ("url", "host", "domain")
_FILES = {"url": "urls", "host": "hosts", "domain": "domains"}
_speller = Speller()


class UnknownNode(KeyError):
    """The graph has no such URL, host or domain."""

    def __str__(self) -> str:
        return str(self.args[0])


class Degree(NamedTuple):
    out: int
    back: int


@dataclass(slots=True)
class Level:
    """The graph of one level: names and numbers, links out, links back."""

    name: str
    names: UrlIds
    out: CompactGraph
    back: CompactGraph

    def check(self) -> None:
        """Each file is sound by itself; a foreign one does not fit the others."""
        sizes = {len(self.names), self.out.nodes, self.back.nodes}
        if len(sizes) > 1 or self.out.arcs != self.back.arcs:
            raise DamagedGraph(
                f"{self.names.path}, {self.out.path.name} and {self.back.path.name} are not of one graph: "
                "build it anew with `scrapy graph build`"
            )

    def number(self, name: str) -> int:
        """Of a URL, host or domain as the crawl spells it, or else as people do."""
        for spelling in self._spellings(name):
            key = key_of(spelling) if self.name == "url" else host_prefix(key_of(f"http://{spelling}/"))
            number = self.names.id_of_key(key)
            if number is not None:
                return number
        raise UnknownNode(
            f"the graph has no {self.name} {name}: `scrapy graph top` shows how names are spelled; "
            "if it was crawled since, build the graph anew"
        )

    def _spellings(self, name: str) -> Iterator[str]:
        """Case, slash, fragment; without a scheme http, then https; on other levels whose a URL is."""
        yield name
        written = [name] if "://" in name else [f"http://{name}", f"https://{name}"]
        for url in filter(None, map(_speller.spell, written)):
            if self.name == "url":
                yield url
            else:
                yield host_of(url) if self.name == "host" else registered_domain(host_of(url))

    def title(self, number: int) -> str:
        key = self.names.key_of_id(number)
        if key is None:
            raise UnknownNode(f"the graph has no {self.name} number {number}")
        try:
            return url_of(key) if self.name == "url" else host_of_key(key) or "(no web address)"
        except UnicodeDecodeError as error:
            raise DamagedGraph(
                f"name {number} in {self.names.path} is damaged: run `scrapy graph build`"
            ) from error

    def titles(self, numbers: Iterable[int]) -> list[str]:
        return [self.title(int(number)) for number in numbers]

    def links(self, direction: str) -> CompactGraph:
        if direction not in ("out", "in"):
            raise ValueError(f"direction {direction!r}: give `out` or `in`")
        return self.out if direction == "out" else self.back


class ConnectivityServer:
    """Opened on the directory of a crawl, on the graph in it, or on one build of that."""

    def __init__(self, build: Path) -> None:
        self.build = build
        self.manifest = Manifest.read(build)
        # All files are opened now: a build that replaces this one may delete it while it is in use.
        self._levels = {
            name: Level(
                name,
                UrlIds(build / file),
                CompactGraph(build / f"{name}-out"),
                CompactGraph(build / f"{name}-in"),
            )
            for name, file in _FILES.items()
        }
        for level in self._levels.values():
            level.check()
        self.anchor_texts = Anchors(build) if self.manifest.anchors else None

    @classmethod
    def open(cls, directory: Path | str) -> ConnectivityServer:
        directory = Path(directory)
        if (directory / "manifest.json").exists():
            return cls(directory)
        if not (directory / "current").is_symlink() and (directory / "graph").is_dir():
            directory /= "graph"
        try:
            return cls(current_build(directory))
        except (GraphError, FileNotFoundError):
            # A build may have been switched and an older one deleted just between.
            return cls(current_build(directory))

    def level(self, name: str = "url") -> Level:
        if name not in LEVELS:
            raise ValueError(f"level {name!r}: give one of {', '.join(LEVELS)}")
        return self._levels[name]

    def outlinks(self, name: str, level: str = "url", first: int = 0, count: int | None = None) -> list[str]:
        """What it links to, in the order of names; of many, `count` from the one numbered `first` on."""
        graph = self.level(level)
        return graph.titles(graph.out.row(graph.number(name))[_part(first, count)])

    def inlinks(self, name: str, level: str = "url", first: int = 0, count: int | None = None) -> list[str]:
        """What links to it, as `outlinks`."""
        graph = self.level(level)
        return graph.titles(graph.back.row(graph.number(name))[_part(first, count)])

    def outlinks_of(self, names: Sequence[str], level: str = "url") -> list[list[str]]:
        """The same for many at once; of one that is not in the graph, nothing."""
        return self._links_of(names, level, "out")

    def inlinks_of(self, names: Sequence[str], level: str = "url") -> list[list[str]]:
        return self._links_of(names, level, "in")

    def rows(self, numbers: Ints, direction: str = "out", level: str = "url") -> Rows:
        """Links of many nodes by number, at the speed of the kernel."""
        return self.level(level).links(direction).rows(numbers)

    def anchors(self, url: str, first: int = 0, count: int | None = None) -> list[Anchor]:
        """The links to a URL: source, anchor text, rel; of many, `count` from the one numbered `first` on."""
        if self.anchor_texts is None:
            raise GraphError("this graph was built without anchor texts: build it anew without --no-anchors")
        graph = self.level("url")
        number = graph.number(url)
        sources = graph.back.row(number)
        wanted = _part(first, count)
        texts = self.anchor_texts.of(number, len(sources), wanted)
        named = zip(graph.titles(sources[wanted]), texts, strict=True)
        return [Anchor(source, *text) for source, text in named]

    def degree(self, name: str, level: str = "url") -> Degree:
        graph = self.level(level)
        number = graph.number(name)
        return Degree(len(graph.out.row(number)), len(graph.back.row(number)))

    def neighbourhood(
        self, name: str, depth: int = 1, direction: str = "out", limit: int = 10_000, level: str = "url"
    ) -> list[tuple[str, int]]:
        """What is at most `depth` steps away, with its distance, the nearest first; at most `limit`."""
        graph = self.level(level)
        found = spread(graph.links(direction), graph.number(name), depth, limit)
        return [(graph.title(number), distance) for number, distance in found]

    def path(self, start: str, end: str, level: str = "url", limit: int = 5_000_000) -> list[str] | None:
        """A shortest way by links from one to the other; None if there is none."""
        graph = self.level(level)
        way = shortest_path(graph.out, graph.back, graph.number(start), graph.number(end), limit)
        return graph.titles(way) if way is not None else None

    def top(self, count: int = 10, by: str = "in", level: str = "url") -> list[tuple[str, float]]:
        """The largest by in-degree (`in`), out-degree (`out`) or PageRank (`rank`)."""
        graph = self.level(level)
        values = self.ranks(level) if by == "rank" else degrees(graph.links(by)).astype(np.float64)
        count = min(count, len(values))
        if count <= 0:
            return []
        # Of equal ones the first count, however many are asked for: pages of an answer fit together.
        least = np.partition(values, len(values) - count)[len(values) - count]
        above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
        best = np.concatenate([above, equal[: count - len(above)]])
        best = best[np.lexsort((best, -values[best]))]
        return [(graph.title(int(number)), float(values[number])) for number in best]

    def ranks(self, level: str = "url") -> NDArray[np.float64]:
        """PageRank of every node, as `scrapy graph rank` left it."""
        path, remedy = rank_file(self.build, level), f"run `scrapy graph rank --level {level}`"
        if not path.exists():
            raise GraphError(f"no ranks for level {level} yet: {remedy}")
        values = read_floats(path, remedy)
        if len(values) != self.level(level).out.nodes:
            raise GraphError(f"{path} does not fit this graph: {remedy}")
        return values

    def _links_of(self, names: Sequence[str], level: str, direction: str) -> list[list[str]]:
        graph = self.level(level)
        numbers: list[int] = []
        places: list[int] = []
        for place, name in enumerate(names):
            try:
                numbers.append(graph.number(name))
            except UnknownNode:
                continue
            places.append(place)
        rows = graph.links(direction).rows(np.array(numbers, np.int64))
        answer: list[list[str]] = [[] for _ in names]
        for index, place in enumerate(places):
            answer[place] = graph.titles(rows.row(index))
        return answer


def _part(first: int, count: int | None) -> slice:
    return slice(first, None if count is None else first + count)


def rank_file(build: Path, level: str) -> Path:
    """Where the ranks of a level lie."""
    return build / f"{level}-rank"


def degrees(graph: CompactGraph) -> Ints:
    """The number of links of every node."""
    counts = np.zeros(graph.nodes, np.int64)
    for first, rows in graph.scan():
        counts[first : first + rows.nodes] = np.diff(rows.starts)
    return counts
