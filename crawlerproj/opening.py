"""Opens what a crawl writes to: its state, embedded or shared, and this worker's files.

Embedded, the files are cut to the lengths in the state: archive = committed pages. Shared, a group
spans partitions and may have landed in some of them only, so whole records are kept whatever the state
says: a page whose commit did not land is fetched again, and both captures stay in the archive.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawlerproj.committed_files import Recovered
from crawlerproj.documents.archive import Archive, recover
from crawlerproj.documents.archive_files import archive_files
from crawlerproj.documents.members import BadRecord, walk
from crawlerproj.documents.payloads import Payloads
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.graph.edge_log_files import log_files, whole_frames_length
from crawlerproj.graph.edge_log_files import recover as recover_edges
from crawlerproj.storage.embedded import open_storage
from crawlerproj.storage.format_file import check_format
from crawlerproj.storage.interface import Storage, StorageError
from crawlerproj.storage.redis import RedisStorage, open_redis
from crawlerproj.storage.redis.opening import agree, await_server, connect, never_restarted
from crawlerproj.storage.redis.regions import Regions
from crawlerproj.worker_name import WorkerName

logger = logging.getLogger(__name__)

VISITOR = "visitor"  # names a process that only asks
_SHARED = "SHARED"  # the file in CRAWL_DIR that says where the state is
_CLOCK_STEP = 0.01  # seconds
_AWAY_SECONDS = 30.0
_SCHEMES = ("redis://", "rediss://", "unix://")
# Tables whose rows belong to hosts: only the owner of a host writes them.
_OF_HOSTS = frozenset(("fp-shares", "fp-families", "fp-soft404", "deep"))


@dataclass(slots=True)
class State:
    """The state of a crawl as one process has it."""

    storage: Storage
    hash_seed: int
    directory: Path
    worker: str = "0"  # names this process's files
    number: int = 0  # of the worker on this machine
    shared: RedisStorage | None = None
    eligible: Sequence[int] = ()  # partitions this worker may hold
    region: str = ""
    name: WorkerName | None = None
    skew: float = 0.0  # what this machine's clock lacks: shared times are the server's

    def free_bytes(self) -> int:
        """Room on the disk; what a server's memory lacks makes the crawl wait, not end."""
        return self.storage.free_bytes() if self.shared is None else shutil.disk_usage(self.directory).free

    def close(self) -> None:
        self.storage.close()
        if self.name is not None:
            self.name.close()

    # --- files ------------------------------------------------------------------------------

    def open_archive(self, settings: Any, software: str) -> Archive:
        place = self.directory / "warc"
        _tell_missing(recover(place, self._archive_lengths(place), worker=self.worker))
        return Archive(place, worker=self.worker, max_bytes=settings.getint("WARC_MAX_BYTES", 1_000_000_000),
                       level=settings.getint("WARC_GZIP_LEVEL", 3), software=software,
                       payloads=Payloads(self.storage) if settings.getbool("ARCHIVE_REVISITS") else None)

    def open_edge_log(self) -> EdgeLog:
        place = self.directory / "edges"
        committed = self._committed("edges")
        if self.shared is not None:
            committed = {name: whole_frames_length(place / name, committed.get(name, 0))
                         for name in log_files(place, self.worker).values()}
        _tell_missing(recover_edges(place, committed, worker=self.worker))
        return EdgeLog(place, worker=self.worker)

    def _committed(self, place: str) -> dict[str, int]:
        lengths = self.storage.file_lengths.items()
        return {name.removeprefix(f"{place}/"): n for name, n in lengths if name.startswith(f"{place}/")}

    def _archive_lengths(self, place: Path) -> dict[str, int]:
        committed = self._committed("warc")
        if self.shared is None:
            return committed
        return {name: _whole_length(place / name, committed.get(name, 0))
                for name in archive_files(place, "crawl", self.worker).values()}


def _tell_missing(done: Recovered) -> None:
    for name, lost in done.short.items():
        logger.warning("%s: %d committed bytes are missing (power cut, COMMIT_SYNC off?)", name, lost)


def _whole_length(warc: Path, committed: int) -> int:
    """Where the last whole record of a file ends; a committed length is the end of one."""
    end = committed if committed <= warc.stat().st_size else 0
    with suppress(BadRecord):
        for offset, length, _ in walk(warc, end):
            end = offset + length
    return end


def open_state(settings: Any, directory: Path, crawl: str, spelling: str, software: str,
               works: bool = True) -> State:
    """Opens the state as STORAGE says; a process that does not work on the crawl takes no worker's name."""
    where = str(settings.get("STORAGE") or "")
    shared = shared_state(directory)
    if not where and shared is not None:
        raise StorageError(f"{directory} belongs to a crawl whose state is in Redis: give -s STORAGE="
                           f"{shared['storage'] or 'redis'}, or use `scrapy fleet run`")
    if where and (directory / "FORMAT").exists():
        raise StorageError(f"{directory} holds a crawl that keeps its state there: leave STORAGE empty to go "
                           "on with it, or choose another CRAWL_DIR")
    if not where:
        if settings.get("REDIS_URL"):
            logger.info("REDIS_URL is set but STORAGE is not: the state is kept in %s", directory)
        seed = check_format(directory, spelling, software)
        storage = open_storage(directory / "state", sync=settings.getbool("COMMIT_SYNC", True), patience=2.0)
        return State(storage, seed, directory)
    if where != "redis" and not where.startswith(_SCHEMES):
        raise StorageError(f"STORAGE {where!r} is not known: leave it empty for the embedded engine, or give "
                           "redis://host:port/0, rediss://…, unix:///path, or redis to use REDIS_URL")
    if settings.get("POLITENESS_GROUP") == "ip":
        raise StorageError("POLITENESS_GROUP = ip works with one worker only (an address is known after the "
                           "host has been given to a worker): use host, domain or a file of named groups")
    return _open_shared(settings, "" if where == "redis" else where, directory, crawl, spelling, software,
                        works)


def _open_shared(settings: Any, url: str, directory: Path, crawl: str, spelling: str, software: str,
                 works: bool) -> State:
    try:
        client = connect(settings, url)
    except ValueError as error:
        raise StorageError(f"STORAGE {url or settings.get('REDIS_URL')!r} cannot be used ({error}): give "
                           "redis://host:port/0, rediss://… or unix:///path") from error
    if works and shared_state(directory) is not None:
        # It has been there before, so it will come back: a worker started again meanwhile waits for it.
        await_server(client, _AWAY_SECONDS, logger.warning)
    wanted = settings.getint("PARTITIONS", 64)
    table = settings.get("PARTITION_FUNCTION") or ""
    regions = Regions(table, wanted) if table else None
    seed, partitions, slices = agree(
        client, crawl, spelling=spelling, software=software, partitions=wanted,
        table_slices=settings.getint("TABLE_SLICES", 4), regions=regions.rule if regions else "")
    if regions is not None and partitions != wanted:
        regions = Regions(table, partitions)
    region = str(settings.get("WORKER_REGION") or "")
    if region and regions is None:
        raise StorageError("WORKER_REGION needs PARTITION_FUNCTION, the file that says which hosts are where")
    name = WorkerName(directory) if works else None
    try:
        storage = open_redis(
            client, crawl, name.name if name else VISITOR, partitions=partitions, table_slices=slices,
            partition_of=regions.partition_of if regions else None, own_tables=_OF_HOSTS,
            ranks=settings.getint("FRONT_QUEUES", 8), ttl=settings.getfloat("LEASE_SECONDS", 10),
            margin=settings.getfloat("LEASE_MARGIN", 1), timeout=settings.getfloat("REDIS_TIMEOUT", 5),
            grace=0.0 if never_restarted(client, crawl) else None,
            start_urls=_start_urls_key(settings, crawl),
        )
    except BaseException:
        if name is not None:
            name.close()
        raise
    if works:
        _remember(directory, crawl, url)
    else:
        storage.sees_all = True
    eligible = regions.of(region) if regions is not None and region else range(partitions)
    return State(storage, seed, directory, storage.worker, name.number if name else 0, storage, eligible,
                 region, name, _skew(storage))


def _skew(storage: RedisStorage) -> float:
    """How far the server's clock is ahead; 0 if they may be the same, as on one machine they are."""
    before = time.time()
    server = storage.server_time()
    after = time.time()
    if before - _CLOCK_STEP <= server <= after + _CLOCK_STEP:
        return 0.0
    return server - (before + after) / 2


def _start_urls_key(settings: Any, crawl: str) -> str:
    """As scrapy-redis names it: `web:start_urls`, unless REDIS_START_URLS_KEY says otherwise."""
    given = str(settings.get("REDIS_START_URLS_KEY") or "%(name)s:start_urls")
    return given % {"name": crawl}


def shared_state(directory: Path) -> dict[str, str] | None:
    """Where the state of the crawl in a directory is (`storage`) and how it is called there (`crawl`)."""
    try:
        found: dict[str, str] = json.loads((directory / _SHARED).read_text())
        return found
    except (FileNotFoundError, NotADirectoryError):  # whoever opens the directory tells what is wrong
        return None


def _remember(directory: Path, crawl: str, url: str) -> None:
    """For the commands: they are given a directory. The URL may hold a password."""
    draft = directory / f"{_SHARED}.{os.getpid()}"
    draft.touch(mode=0o600)
    draft.write_text(json.dumps({"crawl": crawl, "storage": url}))
    draft.replace(directory / _SHARED)
