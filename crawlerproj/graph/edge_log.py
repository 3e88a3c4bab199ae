"""Where a crawl writes down who links to whom: one log a worker, in files `edges-<worker>-00000.zst`.

A file is a row of zstd frames, so it is itself a zstd stream that any reader takes. Its text, in UTF-8:

    \\x01<source>\\t<seconds since the epoch>\\n       a page; what it said before is void
    <target>\\t<anchor text>\\t<rel>\\n                one line for each of its links, in their order

Controls and line breaks in anchors and rel become one blank, with the white space around them; a URL with
such a character is dropped with its link. A page's lines never cross a frame.

How a commit goes and which threads may do what is told in `committed_files`: log = committed pages.
`lengths()` ends the frame in hand, so a committed length is always the end of a frame.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import zstandard

from crawlerproj.committed_files import AppendFile, CommittedFiles
from crawlerproj.graph.edge_log_files import file_name, log_files, recover
from crawlerproj.items import Link

__all__ = ["EdgeLog", "recover"]

MAX_BUFFER = 8 << 20
FRAME_TEXT = 1 << 20  # a frame is ended when it holds so much text
ANCHOR_LENGTH = 500  # characters kept of an anchor: the rest says no more about the target
LEVEL = 1  # 3 saves an eighth of the bytes for twice the time

_anchor_of = itemgetter(1)
_ALL_CONTROLS = bytes(range(32)) + b"\x7f"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")
_UNPRINTED = re.compile(r"[\x00-\x1f]| {2}|^ | $")


class EdgeLog:
    """Appends pages with their links. Nothing is on the disk before `flush_and_sync`."""

    def __init__(self, directory: Path, worker: str = "0", max_bytes: int = 1 << 30) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._max_bytes = max_bytes
        self._files = CommittedFiles(
            directory, max(log_files(directory, worker), default=0),
            lambda number: AppendFile(directory / file_name(worker, number)),
        )
        self._zstd = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._text: list[bytes] = []
        self._text_length = 0

    def append(self, source_url: str, links: Sequence[Link], time: float) -> int:
        """Writes down a page and its links; what it said at an earlier time is void. Gives their number."""
        if not source_url or _CONTROL.search(source_url):
            return 0
        head = f"\x01{source_url}\t{time:.3f}\n".encode("utf-8", "replace")
        lines = _plain_lines(links)
        if lines is None:
            lines = "".join(map(_clean_line, links)).encode("utf-8", "replace")
        self._text += (head, lines)
        self._text_length += len(head) + len(lines)
        if self._text_length >= FRAME_TEXT:
            self._end_frame()
        return lines.count(b"\n")

    def lengths(self) -> dict[str, int]:
        """The length of each file written to since the last call, waiting bytes included."""
        self._end_frame()
        return self._files.lengths()

    def flush_and_sync(self, sync: bool = True) -> None:
        """Brings to the disk at least what the last `lengths()` counted. Safe in another thread.

        After an OSError (a full disk) what did not reach the file is still waiting, in order.
        """
        self._files.flush_and_sync(sync)

    def close(self) -> None:
        """Flushes, syncs and closes. The log cannot be used afterwards."""
        self._end_frame()
        self._files.close()

    def _end_frame(self) -> None:
        if not self._text:
            return
        if self._files.newest.length >= self._max_bytes:
            self._files.rotate()
        frame = self._zstd.compress(b"".join(self._text))
        self._text.clear()
        self._text_length = 0
        self._files.append(frame, MAX_BUFFER)


def _plain_lines(links: Sequence[Link]) -> bytes | None:
    """The lines of links as they are, looked at all at once; None if one of them may have to be cleaned."""
    text = "".join([f"{url}\t{anchor}\t{rel}\n" for url, anchor, rel in links])
    if not text.isascii() or max(map(len, map(_anchor_of, links)), default=0) > ANCHOR_LENGTH:
        return None
    lines, number = text.encode(), len(links)
    plain = (
        lines.count(b"\t") == 2 * number and lines.count(b"\n") == number
        and len(lines) - len(lines.translate(None, _ALL_CONTROLS)) == 3 * number
    )
    return lines if plain else None


def _clean_line(link: Link) -> str:
    """The line of a link; empty if its URL has a control in it."""
    url, anchor, rel = link
    if url and not (url.isascii() and url.isprintable()) and _CONTROL.search(url):
        return ""
    if anchor and (len(anchor) > ANCHOR_LENGTH or _UNPRINTED.search(anchor)):
        anchor = _BLANKS.sub(" ", anchor).strip()[:ANCHOR_LENGTH].rstrip()
    if rel and _UNPRINTED.search(rel):
        rel = _BLANKS.sub(" ", rel).strip()
    return f"{url}\t{anchor}\t{rel}\n"
