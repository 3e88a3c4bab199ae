"""The embedded engine keeps the contract, and its directory belongs to one process."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawlerproj.storage.embedded import EmbeddedStorage, open_storage
from crawlerproj.storage.interface import HostRecord, StorageError

from .contract import PROJECT, StorageContract, commit, front, group_of, offered, run, settle


class EmbeddedEngine:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.child_open = (
            "from pathlib import Path\n"
            "from crawlerproj.storage.embedded import EmbeddedStorage\n"
            f"storage = EmbeddedStorage(Path({str(directory)!r}))"
        )
        self._opened: list[EmbeddedStorage] = []

    def open(self) -> EmbeddedStorage:
        storage = EmbeddedStorage(self.directory, sync=False, hosts_cached=64, recent_keys=64)
        self._opened.append(storage)
        return storage

    def crash(self, storage: EmbeddedStorage) -> None:
        self._opened.remove(storage)
        storage.close()

    def end(self) -> None:
        while self._opened:
            self._opened.pop().close()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    engine = EmbeddedEngine(tmp_path / "state")
    yield engine
    engine.end()


class TestEmbedded(StorageContract):
    pass


def test_a_second_process_is_told_what_to_do(engine: EmbeddedEngine) -> None:
    engine.open()
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from crawlerproj.storage.embedded import StorageError, open_storage\n"
        "try:\n    open_storage(Path(sys.argv[1]))\n"
        "except StorageError as error:\n    print(error)\n"
    )
    child = subprocess.run([sys.executable, "-c", script, str(engine.directory)], capture_output=True,
                           text=True, timeout=60, cwd=PROJECT, check=True)
    assert child.stdout == (
        f"another process is using {engine.directory}: stop it first, or crawl into another CRAWL_DIR\n"
    )


def test_the_directory_is_free_again_after_closing(engine: EmbeddedEngine) -> None:
    storage = engine.open()
    storage.offer([offered("a", "1")])
    commit(storage)
    list(storage.items("seen"))
    assert run(storage, "a") == ["1"]
    with pytest.raises(StorageError, match="another process"):
        open_storage(engine.directory)
    engine.crash(storage)
    again = open_storage(engine.directory, sync=False)
    assert run(again, "a") == ["1"]
    again.close()


def test_a_directory_that_is_none_is_an_error_that_names_it(tmp_path: Path) -> None:
    place = tmp_path / "state"
    place.mkdir()
    (place / "CURRENT").write_text("not a manifest\n")
    with pytest.raises(StorageError, match=str(place)):
        open_storage(place)


def test_a_record_evicted_from_the_cache_while_its_group_lands_is_the_same_record(tmp_path: Path) -> None:
    storage = EmbeddedStorage(tmp_path / "state", sync=False, hosts_cached=1)
    storage.offer([offered("a", "1")])
    group = storage.seal()
    for n in range(5):
        storage.host(group_of(f"other{n}"))
    storage.offer([offered("a", "2")])
    assert group is not None
    storage.write(group, lambda: None)
    storage.landed(group)
    for n in range(5):
        storage.host(group_of(f"other{n}"))
    storage.offer([offered("a", "3")])
    assert storage.host(group_of("a")).queued == 3
    commit(storage)
    for n in range(5):
        storage.host(group_of(f"other{n}"))
    record = storage.host(group_of("a"))
    assert record == HostRecord("a", record.front, 0.0, "", {3: [3, record.levels[3][1]]})
    storage.close()


def test_reading_an_emptied_front_queue_again_does_not_lose_what_arrives(engine: EmbeddedEngine) -> None:
    storage = engine.open()
    storage.offer([offered(f"h{n}", "1", 5) for n in range(50)])
    commit(storage)
    for n in range(50):
        settle(storage, f"h{n}")
    commit(storage)
    assert [storage.read_front(5, 0, 10) for _ in range(3)] == [[], [], []]
    storage.offer([offered("new", "1", 5)])
    commit(storage)
    assert front(storage) == [(5, group_of("new"))]
    gc.collect()
