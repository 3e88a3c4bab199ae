"""Numbered files that only grow, and whose lengths are committed together with what they hold.

A commit is: `lengths()`, then `flush_and_sync()`, then the lengths are stored with what the files say of it.
After a crash `cut_to_committed` cuts every file to its stored length, so that nothing is there twice.

Threads: `append`, `lengths` and `rotate` belong to one thread, `flush_and_sync` may run in another meanwhile.
`swap_lock` is held only to append to or swap a buffer; `_disk_lock` for the length of a disk write. `append`
waits for the disk only when too many bytes are waiting, so memory stays bounded.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar


class AppendFile:
    """A file that grows: `waiting` is not yet being written, `leaving` is; `length` counts both."""

    __slots__ = ("descriptor", "leaving", "length", "name", "waiting")

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.length = os.fstat(self.descriptor).st_size
        self.waiting = bytearray()
        self.leaving = bytearray()

    def swap(self) -> None:
        """What waited is to leave; nothing may be leaving."""
        self.leaving, self.waiting = self.waiting, self.leaving

    def write_out(self) -> None:
        """Writes `leaving` to the file; what an OSError kept back is still there, in order."""
        while self.leaving:
            del self.leaving[: os.write(self.descriptor, self.leaving)]

    def close(self) -> None:
        os.close(self.descriptor)
        self.descriptor = -1


F = TypeVar("F", bound=AppendFile)


class CommittedFiles(Generic[F]):
    """The files of one writer in a directory. Only the newest, `newest`, is appended to."""

    def __init__(self, directory: Path, number: int, opened: Callable[[int], F],
                 retired: Callable[[F], None] = lambda file: None) -> None:
        """`opened` opens the file of a number; `retired` is told of one that is complete and on the disk."""
        self._directory, self._number, self._opened, self._tell_retired = directory, number, opened, retired
        self.swap_lock, self._disk_lock = Lock(), Lock()
        self._retired: list[F] = []
        self._touched: dict[str, int] = {}
        self._directory_changed = False
        self.newest = self._open()

    def append(self, data: bytes, most_waiting: int) -> int:
        """Gives the place of `data` in the newest file."""
        file = self.newest
        offset = file.length
        with self.swap_lock:
            file.waiting += data
            file.length += len(data)
        self._touched[file.name] = file.length
        if len(file.waiting) >= most_waiting:
            with self._disk_lock:
                self._drain(file)
        return offset

    def lengths(self) -> dict[str, int]:
        """The length of each file written to since the last call, waiting bytes included."""
        touched, self._touched = self._touched, {}
        return touched

    def flush_and_sync(self, sync: bool = True) -> None:
        """Brings to the disk at least what was appended before the call. Safe in another thread.

        After an OSError (a full disk) what did not reach the file is still waiting, in order.
        """
        with self._disk_lock:
            with self.swap_lock:
                retired = list(self._retired)
                files = [*retired, self.newest]
                directory_changed, self._directory_changed = self._directory_changed, False
            for file in files:
                self._drain(file)
                if sync:
                    os.fsync(file.descriptor)
            if sync and directory_changed:
                sync_directory(self._directory)
            for file in retired:
                self._tell_retired(file)
            with self.swap_lock:
                for file in retired:
                    self._retired.remove(file)
                    file.close()

    def rotate(self) -> None:
        """The next number's file becomes the newest."""
        self._number += 1
        fresh = self._open()
        with self.swap_lock:
            self._retired.append(self.newest)  # the next flush syncs and closes it
            self.newest = fresh

    def close(self) -> None:
        """Flushes, syncs and closes; closing again does nothing."""
        if self.newest.descriptor >= 0:
            self.flush_and_sync()
            self.newest.close()

    def _drain(self, file: F) -> None:
        """Writes out one file's buffers, under the disk lock."""
        # What a full disk refused is still leaving: the second try continues where the first stopped.
        file.write_out()
        with self.swap_lock:
            file.swap()
        file.write_out()

    def _open(self) -> F:
        file = self._opened(self._number)
        self._directory_changed = True  # after it exists, or a flush between would miss it
        return file


@dataclass(slots=True)
class Recovered:
    """What recovery did, by file name. `short` is empty unless a disk lost what it had promised."""

    cut: dict[str, int] = field(default_factory=dict)  # bytes beyond the committed length
    deleted: dict[str, int] = field(default_factory=dict)  # whole files, never committed
    short: dict[str, int] = field(default_factory=dict)  # committed bytes that are not there


def cut_to_committed(
    directory: Path, committed: Mapping[str, int], mine: Iterable[str], is_mine: Callable[[str], bool],
    whole_length: Callable[[Path], int],
) -> Recovered:
    """Cuts a writer's files (`mine` are there) to their committed lengths, deletes those never committed.

    A file shorter than committed (a power cut with sync off) is cut to its `whole_length`.
    """
    done = Recovered()
    for name in mine:
        path = directory / name
        size, wanted = path.stat().st_size, committed.get(name, 0)
        if wanted == 0:
            path.unlink()
            done.deleted[name] = size
        elif size > wanted:
            truncate(path, wanted)
            done.cut[name] = size - wanted
        elif size < wanted:
            whole = whole_length(path)
            truncate(path, whole)
            done.short[name] = wanted - whole
    for name, wanted in committed.items():
        if wanted and is_mine(name) and not (directory / name).exists():
            done.short[name] = wanted
    return done


def truncate(path: Path, length: int) -> None:
    with path.open("r+b") as file:
        file.truncate(length)
        os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_disk_full(error: BaseException) -> bool:
    """Did a write fail for want of room? Libraries that are not Python's only say so."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    return "No space left" in str(error)
