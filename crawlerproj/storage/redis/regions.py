"""Crawls near their hosts: a table says which hosts belong to which region, each with its own partitions.

The file of PARTITION_FUNCTION has lines `suffix<TAB>region` (`de<TAB>europe`, `example.com<TAB>america`);
the longest suffix counts, and what matches none belongs to the region `other`. Region i of R has the
partitions i, i + R, i + 2R …; a worker with WORKER_REGION claims only those.
"""

from __future__ import annotations

from pathlib import Path

from crawlerproj.storage.interface import StorageError

OTHER = "other"


class Regions:
    def __init__(self, path: str, partitions: int) -> None:
        self._suffixes = _read(path)
        self.names = sorted({OTHER, *self._suffixes.values()})
        if len(self.names) > partitions:
            raise StorageError(f"PARTITION_FUNCTION {path} names {len(self.names)} regions for {partitions} "
                               "partitions: begin the crawl with more PARTITIONS")
        self._partitions = partitions

    @property
    def rule(self) -> str:
        """The whole table in one line: all workers must have the same."""
        return ",".join(f"{suffix}={region}" for suffix, region in sorted(self._suffixes.items()))

    def partition_of(self, host: bytes, name: str) -> int:
        mine = self.of(self._region(name))
        return mine[int.from_bytes(host, "big") % len(mine)]

    def of(self, region: str) -> range:
        """The partitions of a region."""
        if region not in self.names:
            raise StorageError(f"WORKER_REGION {region!r} is not in the table of PARTITION_FUNCTION: give "
                               f"one of {', '.join(self.names)}")
        return range(self.names.index(region), self._partitions, len(self.names))

    def _region(self, name: str) -> str:
        labels = name.rpartition("@")[2].partition(":")[0].split(".")
        for start in range(len(labels)):
            region = self._suffixes.get(".".join(labels[start:]))
            if region is not None:
                return region
        return OTHER


def _read(path: str) -> dict[str, str]:
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise StorageError(f"PARTITION_FUNCTION is {path!r}, which is no readable file ({error.strerror}): "
                           "leave it empty, or give a file of lines suffix<TAB>region") from error
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        suffix, region = (part.strip() for part in line.partition("\t")[::2])
        if not suffix or not region:
            raise StorageError(f"{path}, line {number}: write suffix<TAB>region, such as de<TAB>europe")
        found[suffix.lstrip(".").lower()] = region
    return found
