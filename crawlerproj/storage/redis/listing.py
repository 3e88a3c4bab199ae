"""All that is committed, family by family: for checks, counts and tools. Every partition is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgpack

from crawlerproj.storage.interface import NEVER
from crawlerproj.storage.redis.hosts import RANK, read_info
from crawlerproj.storage.redis.wire import candidate_of, decode_contact, number_of, pairs, wake_of

if TYPE_CHECKING:
    from crawlerproj.storage.redis.engine import RedisStorage

_PIECE = 500


def meta(storage: RedisStorage) -> tuple[int, dict[str, int], dict[str, int]]:
    """The worker's last group number, its file lengths as of then, and the counts of the whole crawl."""
    number = 0
    lengths: dict[str, int] = {}
    commands: list[tuple[Any, ...]] = []
    for partition in range(storage.partitions):
        prefix = storage.prefix(partition)
        commands += [("HGET", prefix + b"g", storage.worker), ("HGET", prefix + b"l", storage.worker)]
    answers = storage.line.commands(*commands)
    for last, packed in zip(answers[::2], answers[1::2], strict=True):
        if last is not None and int(last) > number:
            number = int(last)
            lengths = msgpack.unpackb(packed) if packed else {}
    return number, lengths, counts(storage)


def counts(storage: RedisStorage) -> dict[str, int]:
    """The counts of the whole crawl, all workers together."""
    total: dict[str, int] = {}
    places = [storage.place(partition) for partition in range(storage.partitions)]
    for answer in storage.line.commands(*(("HGETALL", place) for place in places)):
        for field, value in pairs(answer):
            name = "offered" if field == b"seen" else field[2:].decode() if field[:2] == b"c:" else ""
            if name:
                total[name] = total.get(name, 0) + int(value)
    return total


def waiting(storage: RedisStorage) -> tuple[int, int]:
    """URLs offered so far and hosts waiting, over all partitions: twice the same, with none waiting,
    means that nothing is left to do."""
    commands: list[tuple[Any, ...]] = []
    for partition in range(storage.partitions):
        prefix = storage.prefix(partition)
        commands += [("HGET", prefix + b"m", "seen"), ("ZCARD", prefix + b"f")]
    answers = storage.line.commands(*commands)
    return sum(int(seen or 0) for seen in answers[::2]), sum(answers[1::2])


def next_wake(storage: RedisStorage) -> float:
    """When the first parked host of any partition wakes."""
    answers = storage.line.commands(*(("ZRANGE", storage.prefix(partition) + b"w", 0, 0, "WITHSCORES")
                                      for partition in range(storage.partitions)))
    return min((wake_of(score) for answer in answers for _, score in pairs(answer)), default=NEVER)


def items(storage: RedisStorage, family: str) -> Iterator[tuple[Any, Any]]:
    if family == "meta":
        yield "counts", counts(storage)
        yield "front_marks", {}
        yield "file_lengths", dict(meta(storage)[1])
    elif family == "table":
        yield from _tables(storage)
    else:
        for partition in range(storage.partitions):
            yield from _FAMILIES[family](storage, partition)


def _scan(storage: RedisStorage, command: str, *key: bytes) -> Iterator[Any]:
    """Every element once, though a scan may tell some twice."""
    cursor: Any = b"0"
    seen: set[Any] = set()
    while True:
        pattern = () if command != "SCAN" else ("MATCH", key[0])
        where = () if command == "SCAN" else key
        [(cursor, found)] = storage.line.commands((command, *where, cursor, *pattern, "COUNT", _PIECE))
        for element in (found if command in ("SCAN", "SSCAN") else pairs(found)):
            name = element[0] if isinstance(element, tuple) else element
            if name not in seen:
                seen.add(name)
                yield element
        if int(cursor) == 0:
            return


def _pattern(prefix: bytes) -> bytes:
    """A prefix as MATCH reads it."""
    return b"".join(b"\\" + bytes((c,)) if c in b"*?[]^\\" else bytes((c,)) for c in prefix) + b"*"


def _seen(storage: RedisStorage, partition: int) -> Iterator[tuple[bytes, bytes]]:
    """Fingerprints are the first 8 bytes of keys; they do not tell queued from done."""
    for key in _scan(storage, "SCAN", _pattern(storage.prefix(partition) + b"s")):
        for member in _scan(storage, "SSCAN", key):
            yield int(member).to_bytes(8, "big", signed=True), b"s"


def _runs(storage: RedisStorage, partition: int) -> Iterator[tuple[tuple[bytes, int, int], bytes]]:
    prefix = storage.prefix(partition) + b"r"
    for key in sorted(_scan(storage, "SCAN", _pattern(prefix))):
        host, rank = key[len(prefix):-1], key[-1]
        name = b""
        start = 0
        while True:
            [entries] = storage.line.commands(("LRANGE", key, start, start + _PIECE - 1))
            for place, entry in enumerate(entries):
                if start + place == 0:
                    name = entry[1:]
                else:
                    yield (host, rank, number_of(entry)), candidate_of(entry, name)
            if len(entries) < _PIECE:
                break
            start += _PIECE


def _fronts(storage: RedisStorage, partition: int) -> Iterator[tuple[tuple[int, int], bytes]]:
    for host, score in _scan(storage, "ZSCAN", storage.prefix(partition) + b"f"):
        yield divmod(int(float(score)), RANK), host


def _hosts(storage: RedisStorage, partition: int) -> Iterator[tuple[bytes, Any]]:
    prefix = storage.prefix(partition)
    hosts = {key[len(prefix) + 1:-1] for key in _scan(storage, "SCAN", _pattern(prefix + b"r"))}
    hosts.update(host for host, _ in _scan(storage, "ZSCAN", prefix + b"w"))
    for host in sorted(hosts):
        answer = storage.line.call("hosts", storage.place(partition), storage.ranks, 0, host)
        yield host, read_info(partition, msgpack.unpackb(answer, raw=True)[0]).record


def _parked(storage: RedisStorage, partition: int) -> Iterator[tuple[tuple[float, bytes], str]]:
    prefix = storage.prefix(partition)
    rows = sorted((wake_of(score), host) for host, score in _scan(storage, "ZSCAN", prefix + b"w"))
    for wake, host in rows:
        [packed] = storage.line.commands(("HGET", prefix + b"x", host))
        yield (wake, host), msgpack.unpackb(packed, raw=True)[0].decode() if packed else ""


def _contacts(storage: RedisStorage, partition: int) -> Iterator[tuple[bytes, Any]]:
    for host, data in _scan(storage, "HSCAN", storage.prefix(partition) + b"c"):
        yield host, decode_contact(data)


def _tables(storage: RedisStorage) -> Iterator[tuple[tuple[str, bytes], bytes]]:
    for number in range(storage.tables.slices):
        prefix = storage.tables.place_of(number)[:-1]
        for key in _scan(storage, "SCAN", _pattern(prefix)):
            if key != prefix + b"m":
                table = key[len(prefix):].rpartition(b":")[0].decode()
                for row, value in _scan(storage, "HSCAN", key):
                    yield (table, row), value


_FAMILIES = {"seen": _seen, "run": _runs, "front": _fronts, "host": _hosts, "parked": _parked,
             "contact": _contacts}
