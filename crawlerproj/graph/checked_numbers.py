"""A file of plain numbers that are read as a whole: little-endian, then their CRC-32 (4 bytes) and "CPN1"."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np

from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.jit import Floats

_TAIL = struct.Struct("<I4s")
_MAGIC = b"CPN1"


def write_floats(path: Path, values: Floats) -> None:
    """Replaces the file in one step."""
    data = np.ascontiguousarray(values, "<f8").tobytes()
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        file.write(data + _TAIL.pack(zlib.crc32(data), _MAGIC))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def read_floats(path: Path, remedy: str) -> Floats:
    data = path.read_bytes()
    tail = data[-_TAIL.size :]
    if len(tail) < _TAIL.size or tail != _TAIL.pack(zlib.crc32(data[: -_TAIL.size]), _MAGIC):
        raise DamagedGraph(f"{path} is damaged or cut short: {remedy}")
    if len(data) % 8:
        raise DamagedGraph(f"{path} holds no whole numbers: {remedy}")
    return np.frombuffer(data, "<f8", (len(data) - _TAIL.size) // 8).astype(np.float64)
