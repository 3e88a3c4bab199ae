"""A place in memory where possible: these tests open RocksDB often."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .crawl import Crawl


@pytest.fixture
def fast_directory(tmp_path: Path) -> Iterator[Path]:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    place = Path(tempfile.mkdtemp(prefix="frontier-", dir=memory))
    yield place
    shutil.rmtree(place)


@pytest.fixture
def crawl_with(fast_directory: Path) -> Iterator[Callable[..., Crawl]]:
    """Opens a crawl with the given limits; closes it at the end."""
    opened: list[Crawl] = []

    def make(**limits: Any) -> Crawl:
        opened.append(Crawl(fast_directory / f"state{len(opened)}", **limits))
        return opened[-1]

    yield make
    for crawl in opened:
        crawl.close()


@pytest.fixture
def crawl(crawl_with: Callable[..., Crawl]) -> Crawl:
    return crawl_with()
