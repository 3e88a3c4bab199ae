"""A graph in the compact format, mapped into memory: any row, many rows, or all of them in order."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

import numpy as np

from crawlerproj.graph.compact import HEADER, MAGIC, SPARE
from crawlerproj.graph.compact_decode import decode_blocks, decode_some, make_hints, read_rice
from crawlerproj.graph.damage import REMEDY, DamagedGraph
from crawlerproj.graph.jit import DAMAGED, NO_ROOM, Bytes, Ints
from crawlerproj.graph.model import Model
from crawlerproj.graph.page_checks import CHECK_BYTES, checked, pages_of
from crawlerproj.graph.rans import alias_tables
from crawlerproj.graph.references import MOST_ROWS
from crawlerproj.graph.rows import Rows, Targets


class CompactGraph:
    """Reads one file. Safe in several threads; nothing is read ahead."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing: {REMEDY}")
        data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
        head = data[: HEADER.size].tobytes()
        if len(head) < HEADER.size or head[:8] != MAGIC:
            raise DamagedGraph(f"{path} is no compact graph (or cut short): {REMEDY}")
        _, self.nodes, self.arcs, bits, blocks, model, offsets, check, _ = HEADER.unpack(head)
        size = (bits + 7) // 8 + SPARE
        checks = HEADER.size + model + offsets
        body = checks + CHECK_BYTES * pages_of(size)
        if len(data) != body + size:
            raise DamagedGraph(f"{path} is {len(data)} bytes long, which is not what it says: {REMEDY}")
        model_bytes = data[HEADER.size : HEADER.size + model].tobytes()
        offset_bytes, check_bytes = data[HEADER.size + model : checks].tobytes(), data[checks:body].tobytes()
        found = zlib.crc32(offset_bytes, zlib.crc32(model_bytes, zlib.crc32(head[:48])))
        if zlib.crc32(check_bytes, found) != check:
            raise DamagedGraph(f"the head of {path} is damaged: {REMEDY}")
        fitted = Model.from_bytes(model_bytes)
        self._clusters, self._tables = fitted.clusters, alias_tables(fitted.frequencies)
        packed = np.frombuffer(offset_bytes, np.uint8)
        fewer, end = read_rice(packed, 1, blocks)
        self._blocks: Ints = np.arange(blocks + 1) * int(packed[0] if len(packed) else 0) - fewer
        self._offsets, end = read_rice(packed, max(end, 0), blocks)
        rows = np.diff(self._blocks)
        sound = end == offsets and self._blocks[-1] == self.nodes and self._offsets[-1] == bits
        if not sound or (blocks and not (rows.min() >= 1 and rows.max() <= MOST_ROWS)):
            raise DamagedGraph(f"the offsets of {path} are damaged: {REMEDY}")
        self._hints = make_hints(self._blocks)
        # A plain array over the map: kernels are compiled for arrays.
        stream: Bytes = np.asarray(data[body:]).view(np.ndarray)
        self._stream = checked(stream, np.frombuffer(check_bytes, np.uint32))
        self._lock = Lock()
        self._scratch: Targets = np.empty(1 << 14, np.uint32)
        self._most_notes = 4 * self.arcs + 2_048  # of a block, whatever it holds
        self._notes: Ints = np.empty(1 << 14, np.int64)

    @property
    def bits_per_link(self) -> float:
        size: int = self.path.stat().st_size
        return 8 * size / max(int(self.arcs), 1)

    def row(self, node: int) -> Targets:
        """The successors of one node, ascending."""
        return self.rows(np.array([node])).targets

    def rows(self, nodes: Ints) -> Rows:
        """The rows of these nodes, in this order: row i of the answer is that of nodes[i]."""
        wanted = np.ascontiguousarray(nodes, np.int64)
        if len(wanted) and not (wanted.min() >= 0 and wanted.max() < self.nodes):
            raise IndexError(f"nodes of this graph are 0 to {self.nodes - 1}")
        out: Targets = np.empty(max(1024, 16 * len(wanted)), np.uint32)
        starts = np.zeros(len(wanted) + 1, np.int64)
        done = 0
        with self._lock:
            while done < len(wanted):
                done, trouble = decode_some(
                    self._stream, self._offsets, self._blocks, self._hints, self._clusters, self._tables,
                    wanted, done, out, starts[1:], self._scratch, self._notes,
                )  # fmt: skip
                if trouble == DAMAGED:
                    raise DamagedGraph(f"{self.path} is damaged near row {wanted[done]}: {REMEDY}")
                if trouble == NO_ROOM:
                    self._grow(int(wanted[done]))
                if trouble > 0:
                    out = np.concatenate([out, np.empty(max(len(out), trouble), np.uint32)])
        return Rows(starts, out[: starts[-1]].copy())

    def scan(self, links_at_once: int = 1 << 24) -> Iterator[tuple[int, Rows]]:
        """Every row, in chunks of whole blocks: (first node, rows). The arrays are used again."""
        blocks = len(self._offsets) - 1
        step = max(1, min(blocks, int(links_at_once * blocks / max(self.arcs, 1))))
        out: Targets = np.empty(min(self.arcs, 2 * links_at_once) + 1024, np.uint32)
        widest = int((self._blocks[step:] - self._blocks[: len(self._blocks) - step]).max(initial=0))
        starts = np.zeros(widest + 1, np.int64)
        notes = np.empty(1 << 14, np.int64)
        block = 0
        while block < blocks:
            last = min(block + step, blocks)
            filled = decode_blocks(
                self._stream, self._offsets, self._blocks, self._clusters, self._tables,
                block, last, out, starts, notes,
            )  # fmt: skip
            first = int(self._blocks[block])
            full = len(out) > self.arcs and len(notes) > self._most_notes
            if filled == NO_ROOM and (last - block > 1 or not full):
                if last - block > 1:
                    step = max(1, (last - block) // 2)
                elif len(out) <= self.arcs:
                    out = np.empty(2 * len(out), np.uint32)
                if len(notes) <= self._most_notes:
                    notes = np.empty(4 * len(notes), np.int64)
                continue
            if filled < 0:
                raise DamagedGraph(f"{self.path} is damaged in the rows from {first} on: {REMEDY}")
            rows = int(self._blocks[last]) - first
            yield first, Rows(starts[: rows + 1], out[:filled])
            block = last

    def all_rows(self) -> Rows:
        """The whole graph in memory."""
        starts = np.zeros(self.nodes + 1, np.int64)
        targets: Targets = np.empty(self.arcs, np.uint32)
        filled = 0
        for first, chunk in self.scan():
            if filled + chunk.arcs > self.arcs:
                raise DamagedGraph(f"{self.path} has more links than it says: {REMEDY}")
            starts[first : first + chunk.nodes + 1] = chunk.starts + filled
            targets[filled : filled + chunk.arcs] = chunk.targets
            filled += chunk.arcs
        if filled != self.arcs:
            raise DamagedGraph(f"{self.path} has fewer links than it says: {REMEDY}")
        return Rows(starts, targets)

    def _grow(self, node: int) -> None:
        if len(self._scratch) > self.arcs and len(self._notes) > self._most_notes:
            raise DamagedGraph(f"{self.path} is damaged near row {node}: {REMEDY}")
        self._scratch = np.empty(4 * len(self._scratch), np.uint32)
        self._notes = np.empty(4 * len(self._notes), np.int64)
