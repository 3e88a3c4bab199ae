"""A limit on the wait for an answer's first byte, which libcurl does not have.

The limit is one number, so the transfers wait in the order in which they must be given up,
and one timer serves them all.
"""

from __future__ import annotations

import asyncio

import pycurl

from .curl_transfer import Transfer


class FirstByteLimit:
    """Fails a transfer's future when nothing has come of it `seconds` after its start; 0 = no limit."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waiting: dict[Transfer, tuple[float, asyncio.Future[pycurl.Curl]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self, transfer: Transfer, future: asyncio.Future[pycurl.Curl]) -> None:
        if self.seconds <= 0:
            return
        loop = future.get_loop()
        self._waiting[transfer] = (loop.time() + self.seconds, future)
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._sweep, loop)

    def end(self, transfer: Transfer) -> None:
        self._waiting.pop(transfer, None)

    def close(self) -> None:
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for transfer, (deadline, future) in list(self._waiting.items()):
            if deadline > now:
                self._timer = loop.call_at(deadline, self._sweep, loop)
                return
            # Judged once: what has begun is from here on a matter of the other limits.
            del self._waiting[transfer]
            if not transfer.lines and not future.done():
                transfer.reusable = False
                text = f"no answer within {self.seconds:g} s (FETCH_FIRST_BYTE_TIMEOUT)"
                future.set_exception(pycurl.error(pycurl.E_OPERATION_TIMEDOUT, text))
