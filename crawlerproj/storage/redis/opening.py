"""Opens a crawl's shared state as the settings say, with scrapy-redis's connection settings."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

from scrapy_redis.connection import get_redis_from_settings  # type: ignore[import-untyped]

from crawlerproj.storage.interface import Pause, StorageError
from crawlerproj.storage.redis.cluster import line_to
from crawlerproj.storage.redis.engine import RedisStorage
from crawlerproj.storage.redis.line import RETRY_SECONDS

FORMAT_VERSION = 1


def connect(settings: Any, url: str = "") -> Any:
    """A client for `STORAGE` (or REDIS_URL and its kin); `REDIS_PARAMS` are respected."""
    if url:
        settings = settings.copy()
        settings.frozen = False  # a running crawler's cannot be changed, a copy may
        settings.set("REDIS_URL", url, priority="cmdline")
    return get_redis_from_settings(settings)


def agree(client: Any, crawl: str, *, spelling: str, software: str, partitions: int,
          table_slices: int = 4, regions: str = "") -> tuple[int, int, int]:
    """What all workers of a crawl must have in common: hash seed, partitions, table slices.

    The first worker decides; another that spells URLs or places hosts differently is refused.
    """
    key = f"{crawl}:format"
    line = line_to(client)
    try:
        line.connect()
        line.commands(
            ("HSETNX", key, "version", FORMAT_VERSION), ("HSETNX", key, "spelling", spelling),
            ("HSETNX", key, "hash_seed", secrets.randbits(63)), ("HSETNX", key, "partitions", partitions),
            ("HSETNX", key, "table_slices", table_slices), ("HSETNX", key, "software", software),
            ("HSETNX", key, "regions", regions), ("HSETNX", key, "run_id", line.run_id),
        )
        [found] = line.commands(
            ("HMGET", key, "version", "spelling", "hash_seed", "partitions", "table_slices", "regions"))
    except Pause as error:
        raise _cannot_open(error) from error
    finally:
        line.close()
    if int(found[0]) != FORMAT_VERSION:
        raise StorageError(f"crawl {crawl!r} in Redis has format {int(found[0])}, this is {software} with "
                           f"format {FORMAT_VERSION}: use the version that made it, or another CRAWL_NAME")
    if found[1].decode() != spelling:
        raise StorageError(f"crawl {crawl!r} in Redis was begun with other URL rules (URL_STRIP_PARAMETERS, "
                           "URL_SORT_QUERY): set them as they were, or give another CRAWL_NAME")
    if (found[5] or b"").decode() != regions:
        raise StorageError(f"crawl {crawl!r} in Redis was begun with another PARTITION_FUNCTION table: hosts "
                           "would change their partitions. Use the same table, or give another CRAWL_NAME")
    return int(found[2]), int(found[3]), int(found[4])


def never_restarted(client: Any, crawl: str) -> bool:
    """Has the server run since the crawl began? Then it has forgotten no lease: no need to wait."""
    line = line_to(client)
    try:
        line.connect()
        [known] = line.commands(("HGET", f"{crawl}:format", "run_id"))
    except Pause as error:
        raise _cannot_open(error) from error
    finally:
        line.close()
    return known is not None and bytes(known) == line.run_id


def open_redis(client: Any, crawl: str, worker: str, *, partitions: int, table_slices: int = 4,
               partition_of: Callable[[bytes, str], int] | None = None, **options: Any) -> RedisStorage:
    """Opens the shared state for one worker; `worker` names it for good, its restarts included."""
    try:
        return RedisStorage(client, crawl, worker, partitions=partitions, table_slices=table_slices,
                            partition_of=partition_of, **options)
    except Pause as error:
        raise _cannot_open(error) from error


def await_server(client: Any, seconds: float, told: Callable[[str], None]) -> None:
    """Gives a server that is away, or reads its log, so much time; says once that it is waited for."""
    line, deadline, said = line_to(client), time.monotonic() + seconds, False
    while True:
        try:
            line.connect()
            break
        except Pause as pause:
            if time.monotonic() >= deadline:
                break  # whoever needs the server says what is wrong
            if not said:
                told(str(pause))
                said = True
        time.sleep(RETRY_SECONDS)
    line.close()


def _cannot_open(pause: Pause) -> StorageError:
    """Who has not begun does not wait: a wrong address is the likeliest reason."""
    what = str(pause).partition(": the crawl waits")[0]
    return StorageError(f"{what}: see that it runs and that STORAGE (or REDIS_URL) names it")
