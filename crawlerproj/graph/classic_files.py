"""The three files of a graph in WebGraph's format: `.graph`, `.offsets`, `.properties`.

Java WebGraph reads them as they stand, webgraph-rs after its `build ef`, which takes whole words only: so
streams end with zero bytes, as those of most official files do. Readers must not mind if they do not.

The format has no checks, and a damaged row may well tell another one. So `.properties` also holds the CRC-32
of the other two and of its own other lines, under names of our own that Java and Rust pass over
(`crc32.graph`, `crc32.offsets`, `crc32.properties`); they are looked at when the files are opened. What
others wrote has none: there, damage that still tells a row is not noticed.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from crawlerproj.graph.bit_file import BitFile
from crawlerproj.graph.bits import gamma_length, write_gamma
from crawlerproj.graph.classic import Encoder, Shape
from crawlerproj.graph.classic_decode import decode, decode_row, read_offsets
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.jit import Bytes, Ints, kernel
from crawlerproj.graph.rows import Rows, Targets

_WORD = 8  # bytes: streams are padded to a multiple
_STREAMS = (".graph", ".offsets")
_OWN_CHECK = "crc32.properties"
_AT_ONCE = 1 << 22  # bytes checked at a time
_CLASS = "it.unimi.dsi.webgraph.BVGraph"


def write_classic(chunks: Iterable[Rows], basename: Path, shape: Shape | None = None) -> dict[str, str]:
    """Writes the three files of a graph that is told in order; gives the properties.

    The `.properties` file comes last: it is the door.
    """
    shape = shape or Shape()
    with _writing(basename, ".graph") as stream, _writing(basename, ".offsets") as offset_file:
        encoder, offsets = Encoder(stream, shape), BitFile(offset_file)
        append_gammas(np.zeros(1, np.int64), offsets)
        for chunk in chunks:
            append_gammas(encoder.add(chunk), offsets)
        encoder.finish()
        offsets.finish()
    properties = {
        "graphclass": _CLASS,
        "version": "0",
        "nodes": str(encoder.nodes),
        "arcs": str(encoder.arcs),
        "windowsize": str(shape.window),
        "maxrefcount": str(shape.chain),
        "minintervallength": str(shape.min_interval),
        "zetak": str(shape.zeta_k),
        "compressionflags": "",
        "endianness": "big",
        "bitsperlink": f"{encoder.bits / max(encoder.arcs, 1):.3f}",
        "bitspernode": f"{encoder.bits / max(encoder.nodes, 1):.3f}",
    }
    for ending in _STREAMS:
        properties[f"crc32{ending}"] = _check_of_stream(_mapped(_part(basename, ending)))
    properties[_OWN_CHECK] = _check_of(properties)
    with _writing(basename, ".properties") as file:
        file.write(b"#BVGraph properties\n")
        file.writelines(f"{name}={value}\n".encode("latin-1") for name, value in properties.items())
    return properties


def read_classic(basename: Path) -> Rows:
    """Every row of a graph in WebGraph's format."""
    nodes, arcs, shape, checks = read_properties(basename)
    return decode(_stream(basename, ".graph", checks), nodes, arcs, shape)


class ClassicGraph:
    """A graph in WebGraph's format, mapped into memory, any row at a time."""

    def __init__(self, basename: Path) -> None:
        self.nodes, self.arcs, self._shape, checks = read_properties(basename)
        self._stream = _stream(basename, ".graph", checks)
        packed = _stream(basename, ".offsets", checks)
        if self.nodes >= 8 * len(packed) + 8:
            raise DamagedGraph(f"{basename}.offsets is cut short: copy it again from where it came")
        self._offsets = read_offsets(packed, self.nodes + 1)
        if self._offsets[0] < 0 or self._offsets[-1] > 8 * len(self._stream):
            raise DamagedGraph(f"{basename}.offsets is damaged: copy it again from where it came")

    def row(self, node: int) -> Targets:
        if not 0 <= node < self.nodes:
            raise IndexError(f"node {node} of a graph with {self.nodes} nodes")
        return decode_row(self._stream, self._offsets, node, self._shape)


def read_properties(basename: Path) -> tuple[int, int, Shape, dict[str, str]]:
    """Nodes, links, the shape of the stream, and the checks of the other files, as far as it tells them."""
    lines = _part(basename, ".properties").read_text("latin-1").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith(("#", "!")))
    properties = {name.strip(): value.strip() for name, _, value in pairs}
    if properties.get("compressionflags") or properties.get("endianness", "big") != "big":
        raise DamagedGraph(
            f"{basename}.properties asks for codes or a byte order other than WebGraph's defaults: "
            "recompress it there with the default flags"
        )
    if _OWN_CHECK in properties and properties.pop(_OWN_CHECK) != _check_of(properties):
        raise DamagedGraph(f"{basename}.properties is damaged: export it again")
    try:
        shape = Shape(
            int(properties["windowsize"]), int(properties["maxrefcount"]),
            int(properties["minintervallength"]), int(properties["zetak"]),
        )  # fmt: skip
        nodes, arcs = int(properties["nodes"]), int(properties["arcs"])
    except (KeyError, ValueError) as error:
        raise DamagedGraph(f"{basename}.properties lacks a number ({error}): is it a BVGraph?") from error
    if min(nodes, arcs, shape.window, shape.min_interval) < 0 or not 1 <= shape.zeta_k <= 16:
        raise DamagedGraph(f"{basename}.properties holds a number out of range: is it a BVGraph?")
    return nodes, arcs, shape, {ending: properties.get(f"crc32{ending}", "") for ending in _STREAMS}


def _check_of(properties: dict[str, str]) -> str:
    lines = sorted(f"{name}={value}" for name, value in properties.items())
    return f"{zlib.crc32(chr(10).join(lines).encode()):08x}"


def append_gammas(values: Ints, file: BitFile) -> None:
    """An offset file is a gamma-coded 0, then the gamma-coded length of each row."""
    stream, at = file.piece(gamma_bits(values) // 8 + 2)
    _write_gammas(values, stream, at)
    file.keep(stream, at)


@kernel
def gamma_bits(values: Ints) -> int:
    bits = 0
    for value in values:
        bits += gamma_length(value)
    return bits


@kernel
def _write_gammas(values: Ints, stream: Bytes, at: Ints) -> None:
    for value in values:
        write_gamma(stream, at, value)


def _stream(basename: Path, ending: str, checks: dict[str, str]) -> Bytes:
    """The bytes of a file, mapped into memory, if they are what the properties say."""
    path = _part(basename, ending)
    data = _mapped(path)
    if checks[ending] and checks[ending] != _check_of_stream(data):
        raise DamagedGraph(f"{path} is damaged, or not of one export with its .properties: export it again")
    return data


def _mapped(path: Path) -> Bytes:
    return np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)


def _check_of_stream(data: Bytes) -> str:
    """Of all but the zero bytes at the end: other programs pad in their own ways."""
    end = len(data)
    while end > max(0, len(data) - 2 * _WORD) and not data[end - 1]:
        end -= 1
    check = 0
    for start in range(0, end, _AT_ONCE):
        check = zlib.crc32(data[start : min(start + _AT_ONCE, end)].data, check)
    return f"{check:08x}"


def _part(basename: Path, ending: str) -> Path:
    path = basename.with_name(basename.name + ending)
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: a graph in WebGraph's format has three files")
    return path


@contextmanager
def _writing(basename: Path, ending: str) -> Iterator[BinaryIO]:
    """A file that takes its name when it is whole."""
    path = basename.with_name(basename.name + ending)
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        yield file
        file.write(bytes(-file.tell() % _WORD) if ending in _STREAMS else b"")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
