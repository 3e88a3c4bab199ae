"""A worker's name: the same again after a restart, and no other worker's, on any machine.

`CRAWL_DIR/worker-N.lock` is locked for as long as the worker lives and holds a random word, which makes
the name unique beyond this directory. The kernel lets go of the lock when the process dies.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO

_MAXIMUM = 10_000


class WorkerName:
    """Holds the lowest free number of a directory until it is closed."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for self.number in range(_MAXIMUM):
            file = _locked(directory / f"worker-{self.number}.lock")
            if file is not None:
                self._file = file
                self.name = f"{self.number}-{_word(file)}"
                return
        raise OSError(f"{directory} has {_MAXIMUM} workers: start more in another CRAWL_DIR")

    def close(self) -> None:
        self._file.close()


def _locked(path: Path) -> IO[str] | None:
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _word(file: IO[str]) -> str:
    file.seek(0)
    word = file.read().strip()
    if not word:
        word = secrets.token_hex(4)
        file.write(f"{word}\n")
        file.flush()
        os.fsync(file.fileno())
    return word
