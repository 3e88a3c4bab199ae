"""The second half of a build: hashes become numbers, links are sorted and compressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.anchors import AnchorWriter
from crawlerproj.graph.build_names import Gathered, Names
from crawlerproj.graph.compact import LARGE_TRIES, write_compact
from crawlerproj.graph.compact_decode import HINT_SHIFT, make_hints
from crawlerproj.graph.id_table import IdTable
from crawlerproj.graph.jit import Ints, Words, int64, kernel, uint64
from crawlerproj.graph.pair_sort import Numbers, PairSort, SortedPairs

LEVELS = ("url", "host", "domain")
_AT_ONCE = 1 << 20  # numbers read from a file at a time
_PAGES_AT_ONCE = 1 << 16
_MOST_LINKS = 1 << 22  # in hand at a time
_LINK_BYTES = 64  # of memory that a link in hand takes, at most
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Pairs:
    """Links as words, unsorted: source first, and target first with the number of the text."""

    out: PairSort
    back: PairSort
    void: int  # records of pages that a later one replaced


@dataclass(slots=True)
class Level:
    """The sizes of one level's files."""

    nodes: int
    links: int
    name_bytes: int
    out_bytes: int
    in_bytes: int


def number_links(gathered: Gathered, names: Names, work: Path, memory: int, progress: Progress) -> Pairs:
    """Gives every link the numbers of its ends; leaves out what a later record of the page replaced."""
    if names.urls >= 1 << 32:
        raise ValueError(f"{names.urls} URLs: a graph has at most 2^32 - 1 nodes")
    _look_up(work, ("sources", "targets"), names.urls, memory, progress)
    kept = _mark_latest(work, names.urls, memory)
    share = memory // 3
    pairs = Pairs(
        PairSort(work, "out", share), PairSort(work, "back", share, numbered=True), gathered.pages - kept
    )
    done = 0
    with ExitStack() as stack:
        pages = [stack.enter_context((work / name).open("rb")) for name in ("sources-ids", "counts", "keep")]
        links = [stack.enter_context((work / name).open("rb")) for name in ("targets-ids", "texts")]
        while len(sources := np.fromfile(pages[0], np.uint32, _PAGES_AT_ONCE)):
            counts = np.fromfile(pages[1], np.uint32, len(sources))
            keep = np.fromfile(pages[2], np.uint8, len(sources))
            for first, last in _spans(counts, _links_in_hand(memory)):
                here = int(counts[first:last].sum())
                targets, texts = (np.fromfile(file, np.uint32, here) for file in links)
                out, back, numbers = _expand(
                    sources[first:last], counts[first:last], keep[first:last], targets, texts
                )
                pairs.out.add(out)
                pairs.back.add(back, numbers)
                done += here
                progress("numbering links", done, gathered.links)
    for name in ("targets-ids", "texts", "sources-ids", "times", "counts", "keep"):
        (work / name).unlink()
    return pairs


def _links_in_hand(memory: int) -> int:
    """How many links are numbered, or compressed, at a time: in a quarter of the memory."""
    return max(1_000, min(_MOST_LINKS, memory // (4 * _LINK_BYTES)))


def _spans(counts: Numbers, most: int) -> Iterator[tuple[int, int]]:
    """Cuts pages into spans of at most so many links; a larger page is a span of its own."""
    ends = np.cumsum(counts, dtype=np.int64)
    first = 0
    while first < len(counts):
        told = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, told + most, "right")))
        yield first, last
        first = last


def _look_up(work: Path, kinds: tuple[str, ...], urls: int, memory: int, progress: Progress) -> None:
    """Writes `<kind>-ids` for each file of hashes, in as many passes as the table needs to fit."""
    parts = IdTable.parts_for(urls, memory * 4 // 5)
    for part in range(parts):
        table = IdTable(urls, part, parts)
        first = 0
        with (work / "hashes").open("rb") as file:
            while len(hashes := np.fromfile(file, np.uint64, _AT_ONCE)):
                table.add(hashes, first)
                first += len(hashes)
        for kind in kinds:
            ids_path = work / f"{kind}-ids"
            ids_path.touch()
            with (work / kind).open("rb") as file, ids_path.open("r+b") as ids:
                while len(hashes := np.fromfile(file, np.uint64, _AT_ONCE)):
                    position = ids.tell()
                    known = np.fromfile(ids, np.uint32, len(hashes)) if part else None
                    numbers = known if known is not None else np.zeros(len(hashes), np.uint32)
                    table.look_up(hashes, numbers)
                    ids.seek(position)
                    ids.write(numbers.data)
        progress("looking up URLs", part + 1, parts)
    # What is not needed any more goes at once: its pages of memory serve the next files.
    for name in (*kinds, "hashes"):
        (work / name).unlink()


def _mark_latest(work: Path, urls: int, memory: int) -> int:
    """Writes `keep`: 1 for each record of a page that is its source's latest; gives how many are.

    Of two at one time, the later written.
    """
    kept = 0
    step = max(1_000, memory // 64)
    (work / "keep").touch()
    for low in range(0, urls, step):
        best_times = np.full(min(step, urls - low), -1)
        best_pages = np.full(len(best_times), -1)
        with (work / "sources-ids").open("rb") as source_file, (work / "times").open("rb") as time_file:
            first = 0
            while len(sources := np.fromfile(source_file, np.uint32, _AT_ONCE)):
                times = np.fromfile(time_file, np.int64, _AT_ONCE)
                _keep_latest(sources, times, first, low, best_times, best_pages)
                first += len(sources)
        with (work / "sources-ids").open("rb") as source_file, (work / "keep").open("r+b") as keep_file:
            first = 0
            while len(sources := np.fromfile(source_file, np.uint32, _AT_ONCE)):
                marks = np.zeros(len(sources), np.uint8)
                if low:
                    marks = np.fromfile(keep_file, np.uint8, len(sources))
                kept += _mark(sources, first, low, best_pages, marks)
                keep_file.seek(first)
                keep_file.write(marks.data)
                first += len(sources)
    return kept


@kernel
def _keep_latest(
    sources: Numbers, times: Ints, first: int, low: int, best_times: Ints, best_pages: Ints
) -> None:
    for index in range(len(sources)):
        place = int64(sources[index]) - low
        if 0 <= place < len(best_times) and times[index] >= best_times[place]:
            best_times[place], best_pages[place] = times[index], first + index


@kernel
def _mark(sources: Numbers, first: int, low: int, best_pages: Ints, marks: NDArray[np.uint8]) -> int:
    marked = 0
    for index in range(len(sources)):
        place = int64(sources[index]) - low
        if 0 <= place < len(best_pages) and best_pages[place] == first + index:
            marks[index] = 1
            marked += 1
    return marked


@kernel
def _expand(
    sources: Numbers, counts: Numbers, keep: NDArray[np.uint8], targets: Numbers, texts: Numbers
) -> tuple[Words, Words, Numbers]:
    out, back = np.empty(len(targets), np.uint64), np.empty(len(targets), np.uint64)
    numbers = np.empty(len(targets), np.uint32)
    filled = start = 0
    for page in range(len(sources)):
        end = start + counts[page]
        if keep[page]:
            source = uint64(sources[page])
            for link in range(start, end):
                target = uint64(targets[link])
                out[filled] = (source << uint64(32)) | target
                back[filled] = (target << uint64(32)) | source
                numbers[filled] = texts[link]
                filled += 1
        start = end
    return out[:filled], back[:filled], numbers[:filled]


def write_levels(
    pairs: Pairs, names: Names, anchors: AnchorWriter | None, fresh: Path, work: Path, memory: int,
    progress: Progress,
) -> dict[str, Level]:  # fmt: skip
    """Compresses the links between URLs, hosts and domains, both ways, and the anchor texts."""
    hosts = PairSort(work, "hosts", memory // 3)
    out = _sort(pairs.out, work / "out", names.urls, memory, progress)
    recent, hints = _no_pairs(), make_hints(names.host_first)
    for words in out.words():
        hosts.add(_lift_to_hosts(words, names.host_first, hints, recent))
    out_size = _compress(out, fresh / "url-out", progress)
    back = _sort(pairs.back, work / "back", names.urls, memory, progress, anchors)
    in_size = _compress(back, fresh / "url-in", progress)
    if anchors is not None:
        anchors.close(names.urls)
    levels = {"url": Level(names.urls, out.arcs, names.bytes["url"], out_size, in_size)}
    out.path.unlink()
    back.path.unlink()
    domains = PairSort(work, "domains", memory // 3)
    recent = _no_pairs()
    for level, sorter, nodes in (("host", hosts, names.hosts), ("domain", domains, names.domains)):
        out = _sort(sorter, work / f"{level}-out", nodes, memory, progress)
        turned = PairSort(work, f"{level}-turned", memory // 3)
        for words in out.words():
            turned.add((words << uint64(32)) | (words >> uint64(32)))
            if level == "host":
                domains.add(_lift_to_domains(words, names.host_domain, recent))
        back = _sort(turned, work / f"{level}-back", nodes, memory, progress)
        out_size = _compress(out, fresh / f"{level}-out", progress)
        in_size = _compress(back, fresh / f"{level}-in", progress)
        levels[level] = Level(nodes, out.arcs, names.bytes[level], out_size, in_size)
    return levels


def _sort(
    sorter: PairSort,
    path: Path,
    nodes: int,
    memory: int,
    progress: Progress,
    anchors: AnchorWriter | None = None,
) -> SortedPairs:
    done = 0
    with path.open("wb") as file:
        for words, numbers in sorter.parts():
            file.write(words.data)
            if anchors is not None:
                anchors.add_links((words >> uint64(32)).astype(np.int64), numbers)
            done += len(words)
            progress(f"sorting {path.name}", done, sorter.count)
    progress(f"sorting {path.name}", done, done)  # repeats were dropped
    return SortedPairs(path, nodes, _links_in_hand(memory))


def _compress(pairs: SortedPairs, path: Path, progress: Progress) -> int:
    # Only the level of URLs is worth the most careful choice: the others gain a hundredth by it.
    careful = path.name.startswith("url")
    size = write_compact(
        pairs.rows, pairs.arcs, path, tries=0 if careful else LARGE_TRIES, rounds=2 if careful else 1
    )
    progress(f"compressing {path.name}", pairs.arcs, pairs.arcs)
    return size.bytes


def _no_pairs() -> Words:
    """Room for the pairs met lately: links between groups repeat, and most repeats are dropped at once."""
    return np.full(1 << 18, ~np.uint64(0))  # no pair: there is no group of that number


@kernel
def _lift_to_hosts(words: Words, first: Numbers, hints: Numbers, recent: Words) -> Words:
    """Links between URLs as links between their hosts, of which the first URL of each is known."""
    lifted = np.empty(len(words), np.uint64)
    filled = 0
    for word in words:
        source = _host_of(int64(word >> uint64(32)), first, hints)
        target = _host_of(int64(word & uint64(0xFFFFFFFF)), first, hints)
        filled = _add_pair(source, target, recent, lifted, filled)
    return lifted[:filled]


@kernel
def _host_of(url: int, first: Numbers, hints: Numbers) -> int:
    """The last host whose first URL is not above this one."""
    hint = url >> HINT_SHIFT
    low = int64(hints[hint])
    high = int64(hints[hint + 1]) if hint + 1 < len(hints) else len(first) - 2
    while low < high:
        middle = (low + high + 1) >> 1
        if int64(first[middle]) <= url:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def _lift_to_domains(words: Words, domains: Numbers, recent: Words) -> Words:
    """Links between hosts as links between their domains."""
    lifted = np.empty(len(words), np.uint64)
    filled = 0
    for word in words:
        source, target = domains[word >> uint64(32)], domains[word & uint64(0xFFFFFFFF)]
        filled = _add_pair(int64(source), int64(target), recent, lifted, filled)
    return lifted[:filled]


@kernel
def _add_pair(source: int, target: int, recent: Words, lifted: Words, filled: int) -> int:
    pair = (uint64(source) << uint64(32)) | uint64(target)
    slot = (pair * uint64(0x9E3779B97F4A7C15)) >> uint64(46)
    if recent[slot] != pair:
        recent[slot] = pair
        lifted[filled] = pair
        filled += 1
    return filled
