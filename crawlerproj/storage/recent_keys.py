"""Keys of URLs seen lately: most links of a page are known, and most of those were met minutes ago.

Two generations of sets: when the young one is full it becomes the old one, and the old one is forgotten.
All loops run inside the interpreter's set operations, a tenth of the price of an LRU's.
"""

from __future__ import annotations

from collections.abc import Iterable


class RecentKeys:
    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()

    def add(self, keys: Iterable[bytes]) -> None:
        self._young.update(keys)
        if len(self._young) >= self._half:
            self._old, self._young = self._young, set()

    def without(self, keys: Iterable[bytes]) -> set[bytes]:
        """Those of the keys that were not met lately."""
        return set(keys).difference(self._young).difference(self._old)

    def __contains__(self, key: object) -> bool:
        return key in self._young or key in self._old

    def clear(self) -> None:
        self._young, self._old = set(), set()
