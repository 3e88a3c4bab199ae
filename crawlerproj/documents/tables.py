"""Small tables in storage, as this room needs them. Reads see what uncommitted groups have written:
two copies fetched within a tenth of a second are copies too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Tables(Protocol):
    """What is asked of storage. Writes belong to the open commit group."""

    def get(self, table: str, key: bytes) -> bytes | None: ...

    def get_many(self, wanted: Sequence[tuple[str, bytes]]) -> list[bytes | None]: ...

    def put(self, table: str, key: bytes, value: bytes) -> None: ...

    def delete(self, table: str, key: bytes) -> None: ...


class MemoryTables:
    """Tables in a dictionary, for offline work."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, bytes], bytes] = {}

    def get(self, table: str, key: bytes) -> bytes | None:
        return self.rows.get((table, key))

    def get_many(self, wanted: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        return [self.rows.get(row) for row in wanted]

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.rows[table, key] = value

    def delete(self, table: str, key: bytes) -> None:
        self.rows.pop((table, key), None)
