"""Documents other than HTML as text, made in a process of their own.

A hostile file costs one document, never the crawl: the worker has limits of time, memory and output, and
is killed and replaced when it breaks one. `malformed` then says which: `timeout`, `crashed`, `memory`,
`truncated` (output), `too_large` (input), `unsupported`, `unreadable`, `encrypted`.
The worker is a plain child process on a socket pair, so any asyncio loop will do, with any reactor
around it. It is started with the first document and replaced after many, so that leaks are bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import msgpack

from crawlerproj.parse.convert_worker import HEADER
from crawlerproj.parse.formats import Converted, converter_of


class Converter:
    """Converts documents, one at a time in each of its workers; `close` ends them.

    `modules` are names of modules that register further formats.
    """

    def __init__(
        self,
        *,
        seconds: float = 20.0,
        memory_bytes: int = 512 << 20,
        max_input: int = 32 << 20,
        max_text: int = 2_000_000,
        workers: int = 1,
        documents_per_worker: int = 500,
        modules: Sequence[str] = (),
    ) -> None:
        self._seconds = seconds
        self._max_input = max_input
        # A character takes at most four bytes; title and links are bounded by the formats' functions.
        self._max_reply = 4 * max_text + (64 << 20)
        self._arguments = [str(memory_bytes), str(max_text), str(seconds), *modules]
        self._documents_per_worker = documents_per_worker
        self._free: list[_Worker] = []
        self._turns = asyncio.Semaphore(workers)
        for module in modules:
            importlib.import_module(module)

    @staticmethod
    def supports(content_type: str) -> bool:
        return converter_of(content_type) is not None

    async def convert(self, content_type: str, body: bytes) -> Converted:
        """The text of a document. Never raises for what is in it."""
        if not self.supports(content_type):
            return Converted(malformed="unsupported")
        if len(body) > self._max_input:
            return Converted(malformed="too_large")
        async with self._turns:
            worker = self._free.pop() if self._free else _Worker(self._arguments, self._max_reply)
            try:
                converted = await asyncio.wait_for(worker.ask(content_type, body), self._seconds)
            except TimeoutError:
                worker.kill()
                return Converted(malformed="timeout")
            except (OSError, ValueError, TypeError):
                worker.kill()
                return Converted(malformed="crashed")
            except BaseException:
                # Cancelled in the middle of an answer: the next question would get the rest of it.
                worker.kill()
                raise
            if worker.documents < self._documents_per_worker:
                self._free.append(worker)
            else:
                worker.kill()
            return converted

    def close(self) -> None:
        """Ends the workers that are free; those at work end with their document."""
        while self._free:
            self._free.pop().kill()
        self._documents_per_worker = 0


class _Worker:
    """One child process and our end of its socket."""

    def __init__(self, arguments: list[str], max_reply: int) -> None:
        self.documents = 0
        self._max_reply = max_reply
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "crawlerproj.parse.convert_worker", str(theirs.fileno()), *arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # A project's own modules are found there as they are found here.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )

    async def ask(self, content_type: str, body: bytes) -> Converted:
        self.documents += 1
        loop = asyncio.get_running_loop()
        request: bytes = msgpack.packb([content_type, body])
        await loop.sock_sendall(self._socket, HEADER.pack(len(request)) + request)
        length = HEADER.unpack(await self._receive(HEADER.size))[0]
        if length > self._max_reply:
            raise ValueError("the worker's answer is longer than any document's")
        text, title, links, malformed = msgpack.unpackb(await self._receive(length))
        return Converted(text, title, links, malformed)

    async def _receive(self, length: int) -> bytes:
        loop = asyncio.get_running_loop()
        received = bytearray()
        while len(received) < length:
            part = await loop.sock_recv(self._socket, min(1 << 20, length - len(received)))
            if not part:
                raise ConnectionResetError("the worker has died")
            received += part
        return bytes(received)

    def kill(self) -> None:
        self._socket.close()
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
