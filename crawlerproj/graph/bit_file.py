"""Bits appended to a file in pieces: the last, unfinished byte of a piece is the first of the next one."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from crawlerproj.graph.jit import Bytes, Ints


class BitFile:
    """`piece` gives zeroed room for kernels to write to, `keep` writes what they have filled of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._part, self._part_bits = 0, 0
        self.bits = 0

    def piece(self, room: int) -> tuple[Bytes, Ints]:
        """Room for so many bytes, and the place in it, in bits, where to go on."""
        stream = np.zeros(room + 1, np.uint8)
        stream[0] = self._part
        return stream, np.array([self._part_bits])

    def keep(self, stream: Bytes, at: Ints) -> None:
        self.bits += int(at[0]) - self._part_bits
        whole, self._part_bits = divmod(int(at[0]), 8)
        self._part = int(stream[whole])
        self._file.write(stream[:whole].data)

    def finish(self) -> None:
        """Writes the last byte, filled up with zeros."""
        self._file.write(bytes([self._part]) * (self._part_bits > 0))
