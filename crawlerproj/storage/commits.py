"""Group commit: what pages wrote becomes durable together, in a thread, while the next group collects.

    seal (main thread) -> files synced, batch written, log flushed (thread) -> landed (main thread)

A group is sealed when it holds `pages` settlements or `interval` seconds after its first write. A
commit that failed, or anything else that could not be written, is as good as a crash: nothing is
written after it, and reopening goes on from the last group that landed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from crawlerproj.storage.interface import Storage


class Files(Protocol):
    """Append-only files whose committed lengths are part of each group."""

    def lengths(self) -> dict[str, int]: ...

    def flush_and_sync(self, sync: bool = True) -> None: ...


Landed = Callable[[Iterable[tuple[bytes, int, int]], Iterable[bytes]], None]


class Commits:
    """Belongs to the event loop's thread; only the write itself runs in another."""

    def __init__(self, storage: Storage, files: Mapping[str, Files], *, interval: float, pages: int,
                 sync: bool, before: Callable[[], None], landed: Landed,
                 failed: Callable[[Exception], None]) -> None:
        self._storage, self._files = storage, files
        self._interval, self._pages, self._sync = interval, pages, sync
        self._before, self._landed, self._failed = before, landed, failed
        self._thread = ThreadPoolExecutor(1, "commit")
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self.broken: Exception | None = None
        self.groups = 0

    @property
    def full(self) -> bool:
        """Another page must wait: one group is being written and the next is full too."""
        return self.broken is not None or (
            self._task is not None and self._storage.open_pages >= self._pages
        )

    @property
    def pending(self) -> bool:
        """Something has been written that is not durable yet."""
        return self.broken is None and (self._task is not None or self._timer is not None)

    def mark(self) -> int:
        """When `groups` has reached this number, all that has been written until now is durable."""
        return self.groups + (self._task is not None) + self._storage.dirty

    def touched(self) -> None:
        """To be called after every write into the open group."""
        if self._task is not None or self.broken is not None:
            return
        if self._storage.open_pages >= self._pages:
            self._start()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self._start)

    async def room(self) -> None:
        """Waits while the groups are full: for writers that are no page, such as a seed file."""
        while self._task is not None:
            self._room.clear()
            await self._room.wait()

    async def close(self) -> None:
        """Makes everything durable, unless a commit has failed; the thread ends."""
        while self.pending or self._task is not None:
            if self._task is None:
                self._start()
            await self.room()
        self._thread.shutdown()

    def fail(self, error: Exception) -> None:
        """Something that belongs to a group, or goes before it, could not be written."""
        if self.broken is None:
            self.broken = error
            self._failed(error)

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None or self.broken is not None:
            return
        self._before()
        lengths = {f"{place}/{name}": length for place, files in self._files.items()
                   for name, length in files.lengths().items()}
        group = self._storage.seal(lengths)
        if group is None:
            self._landed((), ())  # nothing to write, but whoever waits for the groups may look again
        else:
            self._task = asyncio.get_running_loop().create_task(self._commit(group))

    async def _commit(self, group: Any) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._storage.write, group, self._sync_files)
        except Exception as error:
            self.fail(error)
        else:
            self.groups += 1
            self._landed(group.settled, self._storage.landed(group))
        finally:
            self._task = None
            self._room.set()
        if self._storage.dirty:
            self.touched()

    def _sync_files(self) -> None:
        for files in self._files.values():
            files.flush_and_sync(self._sync)
