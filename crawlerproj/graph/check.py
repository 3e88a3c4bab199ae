"""Reads a whole build and says what is wrong with it: `scrapy graph check`.

Answers look only at what they touch; a check reads every byte and goes on after a problem, unless a file
cannot be opened at all. It also asks what checksums cannot tell: do both directions hold the same links, is
every name found under its number, has each link its text?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from crawlerproj.graph.anchors import Anchors
from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.connectivity import LEVELS, ConnectivityServer, Level, degrees, rank_file
from crawlerproj.graph.damage import REMEDY, DamagedGraph
from crawlerproj.graph.jit import Ints
from crawlerproj.graph.manifest import GraphError
from crawlerproj.graph.rows import Rows
from crawlerproj.graph.url_ids import BLOCK

_AT_ONCE = 1 << 20  # links in memory
_MOST_TEXTS = 1 << 32  # where they cannot be counted
_REPORT_EVERY = 1 << 12  # names
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class GraphCheck:
    """What was read, and what is wrong with it."""

    build: str = ""
    names: int = 0
    links: int = 0
    anchors: int = 0
    ranks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.problems

    @contextmanager
    def part(self) -> Iterator[None]:
        """A problem ends this part of the check and no other."""
        try:
            yield
        except (DamagedGraph, GraphError, OSError) as error:
            self.problems.append(str(error))


def check(directory: Path, progress: Callable[[str, int, int], None]) -> GraphCheck:
    """Of the build that is in use; the memory it takes does not grow with the links."""
    done = GraphCheck()
    with done.part():
        server = ConnectivityServer.open(directory)
        done.build = server.build.name
        for name in LEVELS:
            _check_level(server, server.level(name), done, progress)
    return done


def _check_level(
    server: ConnectivityServer, level: Level, done: GraphCheck, progress: Callable[[str, int, int], None]
) -> None:
    with done.part():
        done.names += _check_names(level, progress)
    sums: list[int] = []
    for graph, turned in ((level.out, False), (level.back, True)):
        with done.part():
            sums.append(_sum_of_links(graph, turned, progress))
            done.links += graph.arcs
    if len(set(sums)) == 2:
        done.problems.append(
            f"{level.out.path} and {level.back.path.name} hold different links: {REMEDY}"
        )
    if server.anchor_texts is not None and level.name == "url":
        _check_anchors(server.anchor_texts, level.back, done, progress)
    if rank_file(server.build, level.name).exists():
        with done.part():
            server.ranks(level.name)
            done.ranks.append(level.name)


def _check_anchors(
    anchors: Anchors, in_links: CompactGraph, done: GraphCheck, progress: Callable[[str, int, int], None]
) -> None:
    texts = _MOST_TEXTS
    with done.part():
        texts = anchors.count_texts()
    with done.part():
        done.anchors = anchors.check(degrees(in_links), texts, progress)


def _check_names(level: Level, progress: Callable[[str, int, int], None]) -> int:
    names, step = level.names, f"names of {level.names.path.name}"
    before: bytes | None = None
    for number, key in enumerate(names.keys()):
        found = before is None or before < key
        if number % BLOCK == 0:
            found = found and names.id_of_key(key) == number
        if not found:
            raise DamagedGraph(f"name {number} of {names.path} is out of order: {REMEDY}")
        before = key
        if number % _REPORT_EVERY == 0:
            progress(step, number, len(names))
    progress(step, len(names), len(names))
    return len(names)


def _sum_of_links(graph: CompactGraph, turned: bool, progress: Callable[[str, int, int], None]) -> int:
    """The same number for the same links, in whatever order they come."""
    total, links, step = 0, 0, f"links of {graph.path.name}"
    for first, rows in graph.scan(_AT_ONCE):
        links += rows.arcs
        total += _mixed(first, rows, turned)
        progress(step, first + rows.nodes, graph.nodes)
    if links != graph.arcs:
        raise DamagedGraph(f"{graph.path} has {links:,} links and says {graph.arcs:,}: {REMEDY}")
    return total % (1 << 64)


def _mixed(first: int, rows: Rows, turned: bool) -> int:
    counts: Ints = np.diff(rows.starts)
    near = np.repeat(np.arange(first, first + rows.nodes, dtype=np.uint64), counts)
    far = rows.targets.astype(np.uint64)
    source, target = (far, near) if turned else (near, far)
    words = (source << np.uint64(32) | target) * _MIX
    words ^= words >> np.uint64(29)
    return int((words * _MIX).sum(dtype=np.uint64))
