"""A crawl as it looks from outside: its workers, its counts, and orders for the workers."""

from __future__ import annotations

from typing import Any

from crawlerproj.storage.interface import Pause, StorageError
from crawlerproj.storage.redis import listing
from crawlerproj.storage.redis.cluster import line_to
from crawlerproj.storage.redis.engine import RedisStorage
from crawlerproj.storage.redis.opening import connect
from crawlerproj.storage.redis.roster import Status


class View:
    def __init__(self, settings: Any, url: str, crawl: str) -> None:
        """Opens nothing: the crawl may not have begun."""
        self.crawl = crawl
        self._client = connect(settings, url)
        self._storage: RedisStorage | None = None

    def _opened(self) -> RedisStorage | None:
        """None while the crawl has not begun."""
        if self._storage is None:
            line = line_to(self._client)
            try:
                [found] = line.commands(("HMGET", f"{self.crawl}:format", "partitions", "table_slices"))
            except Pause as error:
                raise StorageError(str(error)) from error
            finally:
                line.close()
            if found[0] is None:
                return None
            self._storage = RedisStorage(self._client, self.crawl, "visitor", partitions=int(found[0]),
                                         table_slices=int(found[1]))
        return self._storage

    def workers(self) -> dict[str, Status]:
        try:
            storage = self._opened()
            return storage.roster.present() if storage is not None else {}
        except Pause as error:
            raise StorageError(str(error)) from error

    def counts(self) -> dict[str, int]:
        """offered, done, parked and queued, of the whole crawl."""
        try:
            storage = self._opened()
            found = listing.counts(storage) if storage is not None else {}
        except Pause as error:
            raise StorageError(str(error)) from error
        offered, done, parked = (found.get(name, 0) for name in ("offered", "done", "parked"))
        return {"offered": offered, "done": done, "parked": parked, "queued": offered - done - parked}

    def order(self, workers: list[str], what: str) -> None:
        try:
            storage = self._opened()
            if storage is not None:
                storage.roster.order(workers, what)
        except Pause as error:
            raise StorageError(str(error)) from error

    def close(self) -> None:
        if self._storage is not None:
            self._storage.close()
