"""From the edge logs of all workers to a finished graph, in bounded memory.

1. gather   the logs are read once: hashes of sources and targets, new keys, anchor texts, to files
2. names    keys are sorted and numbered: the dictionary of URLs; hosts and domains fall out of it
3. number   hashes become numbers; of each page the latest record is kept, the earlier ones are void
4. links    links are sorted by source and by target, and compressed, for URLs, hosts and domains
5. switch   the build is complete and synced; `current` is pointed at it in one step

A build is a folder `build-000001` of its own; `current` is a link to one. Readers open what the link
says and keep it: they see the old build or the new one, never a part. The build before the current
one is kept for readers that are just opening it; older ones are deleted.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from secrets import randbits

from crawlerproj.committed_files import is_disk_full, sync_directory
from crawlerproj.graph.build_links import number_links, write_levels
from crawlerproj.graph.build_names import gather, write_names
from crawlerproj.graph.edge_log_files import every_log
from crawlerproj.graph.id_table import HashCollision
from crawlerproj.graph.manifest import GraphError, Manifest

MEMORY = 1 << 30
_PROCESS = 300 << 20  # of it, what the interpreter and the compiled kernels take
_BUILD = re.compile(r"build-(\d{6,})")

Progress = Callable[[str, int, int], None]
"""Told as work goes on: the step, how much is done, how much there is."""


def build(
    edges: Path, graph: Path, now: float, memory: int = MEMORY, anchors: bool = True,
    progress: Progress = lambda step, done, total: None,
    draw_seed: Callable[[], int] = lambda: randbits(63),
) -> Path:  # fmt: skip
    """Builds from the logs in `edges` into the folder `graph`; gives the folder of the new build.

    `memory` is for the whole process; below 512 MiB it may be exceeded. Seeds are those of hashes, which
    nobody may foresee; what is built does not depend on them.
    """
    logs = every_log(edges)
    if not logs:
        raise GraphError(f"no edge logs in {edges}: crawl with LinkGraphPipeline, or name another folder")
    graph.mkdir(parents=True, exist_ok=True)
    room = max(memory - _PROCESS, memory // 4)
    with _alone(graph):
        builds = _builds(graph)
        fresh = graph / f"build-{max(builds, default=0) + 1:06d}"
        # What a killed build left has no manifest.
        for number, path in builds.items():
            if not (path / "manifest.json").exists():
                shutil.rmtree(builds[number])
        work = fresh / "work"
        with _whole_or_gone(fresh):
            for _ in range(8):
                shutil.rmtree(fresh, ignore_errors=True)
                work.mkdir(parents=True)
                try:
                    manifest = _make(logs, fresh, work, room, anchors, draw_seed(), progress)
                    break
                except HashCollision:
                    continue
            else:
                raise GraphError("eight ways of hashing all gave two URLs one hash: please report this")
            shutil.rmtree(work)
            manifest.built_at = now
            _switch(graph, fresh, manifest)
    return fresh


def _make(
    logs: list[Path], fresh: Path, work: Path, memory: int, anchors: bool, seed: int, progress: Progress
) -> Manifest:
    gathered = gather(logs, fresh, work, memory, anchors, seed, progress)
    names = write_names(gathered, fresh, memory, seed, progress)
    pairs = number_links(gathered, names, work, memory, progress)
    levels = write_levels(pairs, names, gathered.anchors, fresh, work, memory, progress)
    manifest = Manifest(
        pages=gathered.pages, pages_void=pairs.void, links_read=gathered.links, anchors=anchors,
        levels={name: asdict(level) for name, level in levels.items()},
        logs={path.name: path.stat().st_size for path in logs},
    )  # fmt: skip
    return manifest


def _switch(graph: Path, fresh: Path, manifest: Manifest) -> None:
    for path in fresh.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    with (fresh / "manifest.json").open("w", encoding="utf-8") as file:
        file.write(manifest.to_json())
        file.flush()
        os.fsync(file.fileno())
    sync_directory(fresh)
    link = graph / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(fresh.name)
    os.replace(link, graph / "current")
    sync_directory(graph)
    for number, path in sorted(_builds(graph).items())[:-2]:
        if path != fresh and number:
            shutil.rmtree(path, ignore_errors=True)


def _builds(graph: Path) -> dict[int, Path]:
    matches = ((_BUILD.fullmatch(path.name), path) for path in graph.iterdir())
    return {int(match[1]): path for match, path in matches if match}


@contextmanager
def _whole_or_gone(fresh: Path) -> Iterator[None]:
    """A build that ends in an error, or is interrupted, takes no room: its disk may be full."""
    try:
        yield
    except BaseException as error:
        link = fresh.parent / "current"
        if not (link.is_symlink() and os.readlink(link) == fresh.name):
            shutil.rmtree(fresh, ignore_errors=True)
        if is_disk_full(error):
            raise GraphError(
                f"the disk of {fresh.parent} is full ({error}): a build takes about 40 bytes a link while "
                "it is made; make room and run `scrapy graph build` again"
            ) from error
        raise


@contextmanager
def _alone(graph: Path) -> Iterator[None]:
    """Holds the folder's lock: two builds at once would take one number."""
    with (graph / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GraphError(f"another build is writing to {graph}: wait for it to end") from None
        yield
