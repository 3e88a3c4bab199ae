"""Is the frontier whole? Proves that what is committed agrees with itself.

Every seen URL is in exactly one of queued, done and parked; a queued one is in exactly one run
entry, any other in none. Runs agree with the host records (level counts, low marks), host records
with front entries and parked table, front marks with front entries, all with the counters.

Families are streamed in the order of their keys. Where the orders differ (URL keys and runs, hosts
and front entries) counts and sums of digests are compared first: equal sums mean equal sets. Only
if they differ are the families read again, a part of them at a time, to name the differences.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby, islice, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple
from zlib import crc32

from crawlerproj.items import Candidate
from crawlerproj.storage.interface import HostRecord, Storage

_NAMED = 10  # faults of one kind that are told one by one
_PIECE = 1_000  # URLs asked for at a time
_PART = 500_000  # things of one family held in memory at a time

Levels = dict[int, tuple[int, int]]  # rank -> number of entries, the first one's place
KeyOf = Callable[[Candidate], bytes]


class Findings(NamedTuple):
    faults: list[str]
    counts: dict[str, int]


class _Faults:
    """Collects faults; of each kind the first few in full, the rest as a number."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._kinds: Counter[str] = Counter()

    def add(self, kind: str, detail: str) -> None:
        self._kinds[kind] += 1
        if self._kinds[kind] <= _NAMED:
            self._lines.append(f"{kind}: {detail}")

    def lines(self) -> list[str]:
        more = [f"{kind}: {n - _NAMED} more" for kind, n in self._kinds.items() if n > _NAMED]
        return self._lines + more


def check(storage: Storage, queues: int, key_of: KeyOf) -> Findings:
    """Reads all that is committed; no group may be written meanwhile. `queues` is FRONT_QUEUES."""
    faults = _Faults()
    counts: Counter[str] = Counter(queued=0, done=0, parked=0, hosts=0, waiting_hosts=0, parked_hosts=0)
    shared = _tells_no_outcomes(storage)
    if not shared:
        _check_states(storage, faults, counts)
    _check_hosts(storage, queues, faults, counts)
    _check_front(storage, queues, faults, counts)
    for token, difference in _differences(lambda: _parked_of_hosts(storage), lambda: _parked_rows(storage)):
        _, host = token
        what = "parked, but not in the table" if difference > 0 else "in the table, but not parked till then"
        faults.add("parked table", f"host {_name(storage, host)} is {what}")
    counters = dict(storage.items("meta")).get("counts", {})
    if shared:
        _check_fingerprints(storage, key_of, counters, faults, counts)
    else:
        _check_urls(storage, key_of, faults)
    for name, found in (("done", counts["done"]), ("parked", counts["parked"]),
                        ("offered", counts["queued"] + counts["done"] + counts["parked"])):
        if counters.get(name, 0) != found:
            faults.add("counter", f"{name} is {counters.get(name, 0)}, found {found}")
    return Findings(faults.lines(), dict(counts))


# --- URLs -------------------------------------------------------------------------------------


def _check_states(storage: Storage, faults: _Faults, counts: Counter[str]) -> None:
    names = {b"q": "queued", b"d:": "done", b"p:": "parked"}
    for key, state in storage.items("seen"):
        name = names.get(state[:2])
        if name is None:
            faults.add("state", f"URL key {key.hex()} is in no known state: {state!r}")
        else:
            counts[name] += 1


def _check_urls(storage: Storage, key_of: KeyOf, faults: _Faults) -> None:
    def queued() -> Iterator[bytes]:
        return (key for key, state in storage.items("seen") if state == b"q")

    def in_runs() -> Iterator[bytes]:
        return (key_of(Candidate.decode(candidate)) for _, candidate in storage.items("run"))

    wrong = dict(_differences(queued, in_runs))
    if not wrong:
        return
    entries: dict[bytes, list[str]] = {key: [] for key in wrong}
    for _, data in storage.items("run"):
        candidate = Candidate.decode(data)
        found = entries.get(key_of(candidate))
        if found is not None:
            found.append(candidate.url)
    for key, urls in entries.items():
        state = storage.known(key)
        if not urls:
            faults.add("lost", f"URL key {key.hex()} is queued, but in no run")
        elif state != b"q":
            what = state.decode() if state else "never seen"
            faults.add("not queued", f"{urls[0]} is in a run, but {what}")
        else:
            faults.add("repeated", f"{urls[0]} is in {len(urls)} run entries")


# --- URLs of which only a fingerprint is kept ---------------------------------------------------


def _tells_no_outcomes(storage: Storage) -> bool:
    """Does the seen test keep fingerprints alone? They do not say what is queued and what is done."""
    return any(state == b"s" for _, state in islice(storage.items("seen"), 1))


def _check_fingerprints(storage: Storage, key_of: KeyOf, counters: dict[str, int], faults: _Faults,
                        counts: Counter[str]) -> None:
    """Each queued URL has been offered and is in one run entry; the others are done or parked."""
    seen = sum(1 for _ in storage.items("seen"))
    entries = ((key_of(Candidate.decode(data)), host, data) for (host, _, _), data in storage.items("run"))
    met: set[bytes] = set()
    while piece := list(islice(entries, _PIECE)):
        counts["queued"] += len(piece)
        unknown = storage.unknown([(key, host) for key, host, _ in piece])
        for key, _, data in piece:
            if key in unknown:
                faults.add("not queued", f"{Candidate.decode(data).url} is in a run, but never seen")
            if key[:8] in met:
                faults.add("repeated", f"{Candidate.decode(data).url} is in several run entries")
            met.add(key[:8])
    counts["parked"] = counters.get("parked", 0)
    counts["done"] = seen - counts["queued"] - counts["parked"]


# --- hosts ------------------------------------------------------------------------------------


def _check_hosts(storage: Storage, queues: int, faults: _Faults, counts: Counter[str]) -> None:
    # The families tell hosts in one order, whatever it is: what waits here for its counterpart is little.
    records: dict[bytes, HostRecord] = {}
    runs: dict[bytes, Levels] = {}
    for record, run in zip_longest(_with_levels(storage, queues, faults, counts), _levels_of_runs(storage)):
        if record is not None:
            records[record[0]] = record[1]
        if run is not None:
            runs[run[0]] = run[1]
        for found in (record, run):
            if found is not None and found[0] in records and found[0] in runs:
                _check_host(records.pop(found[0]), runs.pop(found[0]), queues, faults)
    for alone in records.values():
        _check_host(alone, {}, queues, faults)
    for host, levels in runs.items():
        known = storage.host(host)
        if known is None:
            counts["hosts"] += 1
            faults.add("host record", f"host {host.hex()} has a run, but no record")
        else:
            _check_host(known, levels, queues, faults)


def _with_levels(
    storage: Storage, queues: int, faults: _Faults, counts: Counter[str]
) -> Iterator[tuple[bytes, HostRecord]]:
    """The hosts that say they have URLs; the others, such as parked ones, are checked at once."""
    for host, record in storage.items("host"):
        counts["hosts"] += 1
        counts["waiting_hosts"] += record.front is not None
        counts["parked_hosts"] += record.wake != 0
        if record.levels:
            yield host, record
        else:
            _check_host(record, {}, queues, faults)


def _levels_of_runs(storage: Storage) -> Iterator[tuple[bytes, Levels]]:
    for host, entries in groupby((place for place, _ in storage.items("run")), key=itemgetter(0)):
        levels: Levels = {}
        for _, rank, seq in entries:
            count, first = levels.get(rank, (0, seq))
            levels[rank] = (count + 1, first)
        yield host, levels


def _check_host(record: HostRecord, levels: Levels, queues: int, faults: _Faults) -> None:
    name = record.name
    if not levels and not record.wake:
        faults.add("host record", f"host {name} has a record, but no run, and is not parked")
    for rank in sorted(record.levels.keys() | levels.keys()):
        count, low = record.levels.get(rank, (0, 0))
        found, first = levels.get(rank, (0, 0))
        if count != found:
            faults.add("level", f"host {name} counts {count} URLs of rank {rank}, its run holds {found}")
        if found and low > first:
            faults.add("low mark", f"host {name} reads rank {rank} from {low}, but an entry lies at {first}")
        if rank >= queues:
            faults.add("rank", f"host {name} has URLs of rank {rank}, but there are {queues} front queues")
    if levels and not record.wake and record.front is None:
        faults.add("front entry", f"host {name} has queued URLs, but does not wait")
    if record.front is not None and (record.wake or not levels):
        faults.add("front entry", f"host {name} waits, but {'is parked' if record.wake else 'has no URLs'}")


def _check_front(storage: Storage, queues: int, faults: _Faults, counts: Counter[str]) -> None:
    def of_hosts() -> Iterator[tuple[int, int, bytes]]:
        return ((*record.front, host) for host, record in storage.items("host") if record.front is not None)

    def of_queues() -> Iterator[tuple[int, int, bytes]]:
        return ((rank, seq, host) for (rank, seq), host in storage.items("front"))

    marks = dict(storage.items("meta")).get("front_marks", {})
    for rank, seq, host in of_queues():
        if rank >= queues:
            faults.add("rank", f"host {_name(storage, host)} waits at rank {rank} of {queues} front queues")
        if seq < marks.get(rank, 0):
            waiting = f"but host {_name(storage, host)} waits at {seq}"
            faults.add("front mark", f"rank {rank} is read from {marks[rank]}, {waiting}")
    for (rank, seq, host), difference in _differences(of_hosts, of_queues):
        what = "is not there" if difference > 0 else "waits there too"
        faults.add("front entry", f"host {_name(storage, host)} {what}: rank {rank}, place {seq}")


def _parked_of_hosts(storage: Storage) -> Iterator[tuple[float, bytes]]:
    return ((record.wake, host) for host, record in storage.items("host") if record.wake)


def _parked_rows(storage: Storage) -> Iterator[tuple[float, bytes]]:
    return ((wake, host) for (wake, host), _ in storage.items("parked"))


def _name(storage: Storage, host: bytes) -> str:
    record = storage.host(host)
    return record.name if record is not None and record.name else host.hex()


# --- sets in different orders -----------------------------------------------------------------


Stream = Callable[[], Iterator[Any]]


def _differences(left: Stream, right: Stream) -> Iterator[tuple[Any, int]]:
    """What is not as often in `left` as in `right`, with the difference."""
    size, total = _digest(left())
    if (size, total) == _digest(right()):
        return
    parts = size // _PART + 1
    for part in range(parts):
        surplus: Counter[Any] = Counter()
        surplus.update(token for token in left() if crc32(repr(token).encode()) % parts == part)
        surplus.subtract(token for token in right() if crc32(repr(token).encode()) % parts == part)
        yield from ((token, difference) for token, difference in surplus.items() if difference)


def _digest(tokens: Iterator[Any]) -> tuple[int, int]:
    """How many there are, and a sum that does not depend on their order."""
    size = total = 0
    for token in tokens:
        size += 1
        total += int.from_bytes(hashlib.blake2b(repr(token).encode(), digest_size=16).digest())
    return size, total
