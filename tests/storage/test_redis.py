"""The Redis engine keeps the contract, against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawlerproj.storage.redis import RedisStorage

from .contract import StorageContract
from .redis_server import Server, redis_server

__all__ = ["redis_server"]


class RedisEngine:
    tells_outcomes = False  # a fingerprint says that a URL is known, no more
    tells_newness_at_once = False
    keeps_front_marks = False
    key_bytes = 8

    def __init__(self, server: Server) -> None:
        self.server = server
        with server.client() as client:
            client.flushall()
        self.child_open = (
            "import redis\n"
            "from crawlerproj.storage.redis import RedisStorage\n"
            f"client = redis.Redis.from_url({server.url!r})\n"
            "storage = RedisStorage(client, 'web', 'w1', partitions=1, ranks=16, grace=0)\n"
            "assert storage.claim(0)"
        )
        self._opened: list[RedisStorage] = []

    def open(self) -> RedisStorage:
        storage = RedisStorage(self.server.client(), "web", "w1", partitions=1, ranks=16, grace=0,
                               hosts_cached=64, recent_keys=64)
        assert storage.claim(0)
        self._opened.append(storage)
        return storage

    def crash(self, storage: RedisStorage) -> None:
        self._opened.remove(storage)
        storage.close()

    def end(self) -> None:
        while self._opened:
            self._opened.pop().close()


@pytest.fixture
def engine(redis_server: Server) -> Iterator[RedisEngine]:
    engine = RedisEngine(redis_server)
    yield engine
    engine.end()


class TestRedis(StorageContract):
    pass
