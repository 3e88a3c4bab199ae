"""The demo web over HTTP/1.1 (RFC 9112): keep-alive, Content-Length or chunks, GET and HEAD.

A connection answers its requests one after the other; a request that waits on a slow host is `pending`
and the requests behind it stay in the buffer. The host is chosen by the Host header alone.
"""

import asyncio
import os
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import cast

from crawlerproj.demoweb.access_log import AccessLog, Entry
from crawlerproj.demoweb.answers import PLAIN, Response, Wire
from crawlerproj.demoweb.message import is_unchanged, response_body, response_head
from crawlerproj.demoweb.pulse import Pulse
from crawlerproj.demoweb.world import World

MAXIMUM_HEAD_BYTES = 65536
_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r\n:]*)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close", re.IGNORECASE)
_GZIP = re.compile(rb"\r\naccept-encoding:[^\r\n]*\bgzip\b", re.IGNORECASE)
_FLUSH_SECONDS = 0.02
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_CLIENT_IS_GONE = (7, 8)  # TCP_CLOSE, TCP_CLOSE_WAIT


class Site:
    """What the connections share: the world, the log, the attempts made for each URL."""

    def __init__(self, world: World, log: AccessLog) -> None:
        self.world = world
        self.log = log
        self.pulse = Pulse()
        self.attempts: Counter[tuple[int, str]] = Counter()
        self.connections: set[Connection] = set()
        self._process = os.getpid()
        self._numbers = count(1)

    def connection(self, host: int, address: str) -> "Connection":
        """For a connection to this address of the host."""
        name = f"{self._process}-{next(self._numbers)}"
        return Connection(self, self.world.layout.names[host], address, name)

    def origin(self, name: str) -> str:
        host = self.world.layout.numbers.get(name)
        return f"http://{name}" if host is None else self.world.layout.origins[host]

    def answer(self, method: str, name: str, path: str, now: float) -> tuple[Response, float | None]:
        """The response and the crawl-delay of the host."""
        host = self.world.layout.numbers.get(name)
        if host is None:
            return Response(421, f"no host {name} here\n".encode(), PLAIN), None
        if method not in ("GET", "HEAD"):
            return Response(405, b"GET or HEAD\n", PLAIN), self.world.crawl_delay(host)
        key = host, path
        self.attempts[key] += 1
        reads = self.attempts[host, "/robots.txt"]
        return self.world.answer(host, path, self.attempts[key], now, reads), self.world.crawl_delay(host)

    def close(self) -> None:
        for connection in list(self.connections):
            connection.abort()


class Connection(asyncio.Protocol):
    """One accepted connection to the host `owner`."""

    def __init__(self, site: Site, owner: str, address: str, name: str) -> None:
        self._site = site
        self._owner = owner
        self._address = address
        self._name = name
        self._opened = time.time()
        self._buffer = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._pending: Entry | None = None
        self._closing = False
        self._is_asked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is no asyncio.Transport by inheritance.
        self._transport = cast(asyncio.Transport, transport)
        self._site.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._serve()

    def connection_lost(self, reason: Exception | None) -> None:
        now = time.time()
        if self._timer is not None:
            self._timer.cancel()
        if self._pending is not None:
            self._pending.end = now
            self._site.log.request(self._pending)
            self._pending = None
        # Nobody closes what has not been opened yet.
        since = max(self._opened, self._site.pulse.since)
        if self._is_asked:
            self._site.log.closed(self._name, now, since)
        else:
            self._site.log.closed(self._name, now, since, opened=self._opened, host=self._owner,
                                  address=self._address)
        self._site.connections.discard(self)

    def abort(self) -> None:
        self._transport.abort()

    def _serve(self) -> None:
        while self._pending is None and not self._closing:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > MAXIMUM_HEAD_BYTES:
                    self.abort()
                return
            head = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            self._request(head)

    def _request(self, head: bytes) -> None:
        start = time.time()
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        host = _HOST.search(head)
        if len(words) != 3 or host is None:
            self.abort()
            return
        self._is_asked = True
        method, path, version = words
        name = host[1].decode("latin-1").strip().lower()
        response, crawl_delay = self._site.answer(method, name, path, start)
        if is_unchanged(response, head):
            response = Response(304, b"", etag=response.etag, last_modified=response.last_modified)
        if version != "HTTP/1.1" and response.chunked:
            response = replace(response, chunked=False)
        # The body of a request is not read, so what follows one could not be told from it.
        close = version != "HTTP/1.1" or response.status == 405 or _CLOSE.search(head) is not None
        packed = response.gzip is not None and _GZIP.search(head) is not None
        body = b"" if method == "HEAD" else response_body(response, packed)
        data = body if response.wire is not None else response_head(response, packed, close) + body
        entry = Entry(
            host=name,
            address=self._address,
            connection=self._name,
            opened=self._opened,
            start=start,
            end=start,
            method=method,
            url=self._site.origin(name) + path,
            status=response.status,
            bytes=len(body),
            retry_after=response.retry_after,
            crawl_delay=crawl_delay,
            forbidden=response.forbidden,
        )
        if response.delay_seconds:
            self._pending = entry
            self._later(response.delay_seconds, self._answer_late, entry, data, close, response.wire)
        else:
            self._answer(entry, data, close, response.wire)

    def _later(self, seconds: float, action: Callable[..., None], *arguments: object) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, action, *arguments)

    def _answer_late(self, entry: Entry, data: bytes, close: bool, wire: Wire | None) -> None:
        self._pending = None
        self._answer(entry, data, close, wire)
        self._serve()

    def _answer(self, entry: Entry, data: bytes, close: bool, wire: Wire | None) -> None:
        if wire is not None and wire.then in ("hang", "drip"):
            # The client ends it; until then the request is not over.
            self._pending = entry
            self._transport.write(data)
            if wire.then == "drip":
                self._later(wire.interval, self._drip, wire, 0)
            return
        if wire is not None and wire.then == "reset":
            if self._is_over(entry):
                return
            entry.end = time.time()
            self._site.log.request(entry)
            self._reset(data)
        else:
            self._finish(entry, data, close or wire is not None)

    def _drip(self, wire: Wire, done: int) -> None:
        if self._pending is None:
            return
        # Without a look at the buffer, a client that reads slowly would fill our memory.
        if self._transport.get_write_buffer_size() < len(wire.drip):
            done += 1
            self._pending.bytes += len(wire.drip)
            if done == wire.drips:
                entry, self._pending = self._pending, None
                self._finish(entry, wire.drip, True)
                return
            self._transport.write(wire.drip)
        self._later(wire.interval, self._drip, wire, done)

    def _is_over(self, entry: Entry) -> bool:
        """Has the client hung up already, before a server without a processor came to answer it?

        Then its request ended when it did: `connection_lost`, which comes next, writes it down.
        """
        if not self._site.pulse.was_late:
            return False  # it would have been noticed
        raw = self._transport.get_extra_info("socket")
        # The first byte of Linux's tcp_info is the state.
        if raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] not in _CLIENT_IS_GONE:
            return False
        self._pending = entry
        return True

    def _finish(self, entry: Entry, data: bytes, close: bool) -> None:
        if self._is_over(entry):
            return
        entry.end = time.time()
        self._site.log.request(entry)
        self._transport.write(data)
        if close:
            self._closing = True
            self._transport.close()

    def _reset(self, data: bytes) -> None:
        self._closing = True
        self._transport.write(data)
        raw = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        # What was written leaves with the next turn of the loop; a reset overtakes nothing after that.
        self._later(_FLUSH_SECONDS if data else 0.0, self._transport.abort)
