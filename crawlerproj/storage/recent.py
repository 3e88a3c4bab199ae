"""What was met lately, in two generations: when the young one is full it becomes the old one, and the old
one is forgotten. Nothing is moved on a hit but from the old generation to the young one, so that a hit costs
one look into a dict; an LRU's linked list costs as much again, in memory that nobody else has touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class RecentKeys:
    """Keys of URLs seen lately: most links of a page are known, and most of those were met minutes ago.

    All loops run inside the interpreter's set operations.
    """

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


class RecentRows(Generic[_Value]):
    """The rows that were read or changed lately, None for one that is known not to be there."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._young: dict[bytes, _Value | None] = {}
        self._old: dict[bytes, _Value | None] = {}

    def get(self, key: bytes, default: _Value) -> _Value | None:
        """`default` tells what is not in here from what is not there."""
        found = self._young.get(key, default)
        if found is default and key in self._old:
            found = self._old.pop(key)
            self.put(key, found)
        return found

    def put(self, key: bytes, row: _Value | None) -> None:
        self._young[key] = row
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}

    def __contains__(self, key: object) -> bool:
        return key in self._young or key in self._old
