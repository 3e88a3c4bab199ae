"""Checks of what is read out of the middle of a large file: one for each 2,048 bytes, looked at on first use.

A row is read alone, so the file cannot be read through before; and the symbols of a row that was damaged
may well tell another row. A check is the low half of `hash_bytes` of its page, seeded with the page's number,
4 bytes. That is 0.2 % of a stream, whatever the size of its blocks, and costs a reader nothing but on
the first touch of a page.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlerproj.graph.hashing import hash_bytes
from crawlerproj.graph.jit import Bytes, kernel, uint64

PAGE = 1 << 11
CHECK_BYTES = 4
_BIT_SHIFT = 14  # from a bit to its page


class Stream(NamedTuple):
    """Bytes that are checked as they are read."""

    data: Bytes
    checks: NDArray[np.uint32]
    sound: NDArray[np.uint8]  # of each page, 1 once it has been found to be what was written


def pages_of(size: int) -> int:
    return -(-size // PAGE)


def checked(data: Bytes, checks: NDArray[np.uint32]) -> Stream:
    return Stream(data, checks, np.zeros(len(checks), np.uint8))


@kernel
def checks_of(data: Bytes, first_page: int) -> NDArray[np.uint32]:
    """The checks of a part of a stream that begins with a page."""
    checks = np.empty((len(data) + PAGE - 1) // PAGE, np.uint32)
    for page in range(len(checks)):
        checks[page] = _check(data, page * PAGE, first_page + page)
    return checks


@kernel
def bits_are_sound(stream: Stream, start: int, end: int) -> bool:
    """Are the pages that hold these bits what was written? Threads may both look: they find the same."""
    for page in range(start >> _BIT_SHIFT, (end + (1 << _BIT_SHIFT) - 1) >> _BIT_SHIFT):
        if stream.sound[uint64(page)] == 0:
            if _check(stream.data, page * PAGE, page) != stream.checks[uint64(page)]:
                return False
            stream.sound[uint64(page)] = 1
    return True


@kernel
def _check(data: Bytes, start: int, page: int) -> Any:
    return hash_bytes(data, start, min(start + PAGE, len(data)), page) & uint64(0xFFFFFFFF)
