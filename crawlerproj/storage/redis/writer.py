"""Writes groups, in the commit thread and over its own line; does not give up while Redis is away.

Commits are idempotent (a partition knows the last group number of each worker, offers pass the seen
test), so after trouble a group is simply sent again, and after a restart of the server so are the
groups of the last seconds, which it may have lost.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgpack
from redis.exceptions import ResponseError

from crawlerproj.storage.interface import Pause
from crawlerproj.storage.redis.cluster import line_to
from crawlerproj.storage.redis.groups import Group
from crawlerproj.storage.redis.leases import Leases
from crawlerproj.storage.redis.line import RETRY_SECONDS
from crawlerproj.storage.redis.scripts import DIGESTS

RESEND_SECONDS = 10.0  # well above what `appendfsync everysec` can lose


class Writer:
    def __init__(self, client: Any, leases: Leases, worker: str, ranks: int,
                 place: Callable[[int], bytes], **line: Any) -> None:
        self._line = line_to(client, restarted=self.resend, **line)
        self._leases, self._worker, self._ranks, self._place = leases, worker, ranks, place
        self._recent: deque[tuple[float, Group]] = deque()
        self._resend = False
        self._closing = threading.Event()

    @property
    def trouble(self) -> str:
        return self._line.trouble

    @property
    def owes(self) -> bool:
        """The server was restarted: the groups of the last seconds are to be sent again."""
        return self._resend and bool(self._recent)

    def resend(self) -> None:
        self._resend = True

    def write(self, group: Group) -> None:
        while True:
            try:
                self._line.connect()
                if self._resend:
                    self._send_again()
                group.answered(self._apply(group))
                break
            except Pause:
                if self._closing.wait(RETRY_SECONDS):
                    raise
        now = time.monotonic()
        self._recent.append((now, group))
        while self._recent[0][0] < now - RESEND_SECONDS:
            self._recent.popleft()

    def _send_again(self) -> None:
        self._resend = False
        try:
            self._leases.renew(self._line)  # the server may have forgotten them too
            for _, earlier in list(self._recent):
                self._apply(earlier)
        except Pause:
            self._resend = True
            raise

    def _apply(self, group: Group) -> list[bytes]:
        line = self._line
        answers = line.calls(group.offer_calls) if group.offer_calls else []
        lengths = b"" if group.lengths is None else msgpack.packb(group.lengths)
        commands = [("EVALSHA", DIGESTS["commit"], 1, self._place(partition), fence, self._worker,
                     group.number, self._ranks, operations, lengths)
                    for partition, (fence, operations) in group.commits.items()]
        done = line.answers(commands) if commands else []
        for (partition, (fence, _)), answer in zip(group.commits.items(), done, strict=True):
            if isinstance(answer, ResponseError) and "FENCED" in str(answer):
                self._leases.lose(partition, fence)  # its URLs are still queued, for whoever owns it now
            elif isinstance(answer, Exception):
                raise answer
        # Fingerprints of content after the pages they are of: a race may follow twice, never not at all.
        if group.row_calls:
            line.calls(group.row_calls)
        return answers

    def close(self) -> None:
        self._closing.set()
        self._line.close()
