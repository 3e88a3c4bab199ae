"""The first half of a build: the logs are read, and URLs, hosts and domains get their names and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from crawlerproj.graph.anchors import AnchorWriter
from crawlerproj.graph.edge_log_files import read_texts
from crawlerproj.graph.id_table import hash_keys, host_starts
from crawlerproj.graph.key_runs import KeyRuns
from crawlerproj.graph.log_parse import LogParser, Piece
from crawlerproj.graph.pair_sort import Numbers
from crawlerproj.graph.url_ids import UrlIds
from crawlerproj.graph.url_ids_write import UrlIdsWriter
from crawlerproj.graph.url_keys import host_of_key, host_prefix, key_of
from crawlerproj.urls.hosts import registered_domain

_PIECE = 1 << 20  # bytes of text parsed at a time: what comes of it stays in the processor's cache
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Gathered:
    """What the logs say, in files of plain numbers (`sources`, `times`, `counts`, `targets`, `texts`)."""

    work: Path
    keys: KeyRuns
    anchors: AnchorWriter | None
    pages: int = 0
    links: int = 0


@dataclass(slots=True)
class Names:
    """The numbers of things: URL hashes are in `work/hashes`, in the order of the numbers."""

    urls: int
    host_first: Numbers  # the first URL of each host, and the end
    host_domain: Numbers  # the domain of each host
    domains: int
    bytes: dict[str, int]  # of the three dictionaries

    @property
    def hosts(self) -> int:
        return len(self.host_domain)


def gather(
    logs: list[Path], fresh: Path, work: Path, memory: int, anchors: bool, seed: int, progress: Progress
) -> Gathered:
    """Reads all logs once."""
    gathered = Gathered(work, KeyRuns(work, memory // 4), AnchorWriter(fresh) if anchors else None)
    total, done = sum(path.stat().st_size for path in logs), 0
    files = {name: (work / name).open("wb") for name in Piece._fields[:5]}
    parser = LogParser(seed, memory)
    try:
        for path in logs:
            for text in _pieces(path):
                piece = parser.parse(text)
                for name, file in files.items():
                    file.write(getattr(piece, name).data)
                gathered.keys.add(piece.keys)
                gathered.pages += len(piece.sources)
                gathered.links += len(piece.targets)
                if gathered.anchors is not None:
                    gathered.anchors.add_texts(piece.new_texts)
                progress("reading logs", done, total)
            done += path.stat().st_size
    finally:
        for file in files.values():
            file.close()
    progress("reading logs", total, total)
    return gathered


def _pieces(path: Path) -> Iterator[bytes]:
    """The log's text, small frames put together; pages are not cut."""
    waiting: list[bytes] = []
    size = 0
    for text in read_texts(path):
        if waiting and size + len(text) > _PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
        waiting.append(text)
        size += len(text)
    if waiting:
        yield b"".join(waiting)


def write_names(gathered: Gathered, fresh: Path, memory: int, seed: int, progress: Progress) -> Names:
    """Numbers all URLs in the order of their keys; writes the three dictionaries."""
    work = gathered.work
    expected = max(gathered.pages, gathered.links // 20)
    writer = UrlIdsWriter(fresh / "urls", expected, gathered.keys.sample())
    hosts, domains = KeyRuns(work, memory // 8, "hosts"), KeyRuns(work, memory // 8, "domains")
    last_host, urls = b"", 0
    with (
        (work / "hashes").open("wb") as hashes,
        (work / "host-first").open("wb") as first_file,
        (work / "host-domains").open("wb") as domain_file,
    ):
        for keys in gathered.keys.merged():
            text = np.frombuffer(b"".join(keys), np.uint8)
            lengths = np.fromiter(map(len, keys), np.int64, len(keys))
            hashes.write(hash_keys(text, lengths, seed).data)
            found: list[bytes] = []
            first: list[int] = []
            for index in np.flatnonzero(host_starts(text, lengths)).tolist():
                prefix = host_prefix(keys[index])
                if prefix != last_host:
                    found.append(prefix)
                    first.append(urls + index)
                    last_host = prefix
            theirs = [_domain_key(prefix) for prefix in found]
            hosts.add(found)
            domains.add(list(dict.fromkeys(theirs)))
            first_file.write(np.array(first, np.uint32).data)
            domain_file.writelines(key + b"\n" for key in theirs)
            writer.add(keys)
            urls += len(keys)
            progress("naming URLs", urls, max(expected, urls))
        first_file.write(np.array([urls], np.uint32).data)
    sizes = {"url": writer.close()}
    sizes["host"] = _write_sorted(fresh / "hosts", hosts)
    sizes["domain"] = _write_sorted(fresh / "domains", domains)
    domain_ids, host_first = UrlIds(fresh / "domains"), np.fromfile(work / "host-first", np.uint32)
    host_domain = _numbers_of(work / "host-domains", domain_ids, len(host_first) - 1)
    progress("naming URLs", urls, urls)
    return Names(urls, host_first, host_domain, len(domain_ids), sizes)


def _numbers_of(path: Path, names: UrlIds, count: int) -> Numbers:
    """The numbers of the keys in a file of lines. Neighbours mostly are the same."""
    number_of = lru_cache(1 << 16)(names.id_of_key)
    with path.open("rb") as file:
        return np.fromiter((number_of(line[:-1]) for line in file), np.uint32, count)


def _domain_key(host_key: bytes) -> bytes:
    """The key of the registered domain of a host."""
    host = host_of_key(host_key)
    if not host:
        return host_key
    return host_prefix(key_of(f"http://{registered_domain(host)}/"))


def _write_sorted(path: Path, keys: KeyRuns) -> int:
    writer = UrlIdsWriter(path, keys.count, keys.sample())
    for some in keys.merged():
        writer.add(some)
    return writer.close()
