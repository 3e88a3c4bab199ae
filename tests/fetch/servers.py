"""A raw TCP server and a DNS server for the tests, in the test's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.test import get_crawler

from crawlerproj.fetch.curl_handler import CurlDownloadHandler

Conversation = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Any]:
    """Run a coroutine test on the reactor's asyncio loop."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        return deferred_from_coro(test(*args, **kwargs))

    return run


@contextlib.asynccontextmanager
async def raw_server(
    converse: Conversation, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> AsyncIterator[int]:
    """A TCP server on an ephemeral port that talks as `converse` does."""

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await converse(reader, writer)
        writer.close()

    server = await asyncio.start_server(guarded, address, 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@contextlib.asynccontextmanager
async def downloading(**settings: Any) -> AsyncIterator[CurlDownloadHandler]:
    """A handler that may contact loopback unless told otherwise."""
    settings.setdefault("FETCH_PRIVATE_ADDRESSES", True)
    handler = CurlDownloadHandler.from_crawler(get_crawler(settings_dict=settings))
    try:
        yield handler
    finally:
        await handler.close()


async def fails(handler: CurlDownloadHandler, request: Request, error: type[Exception]) -> Exception:
    """The error of exactly this class that the fetch ends in."""
    with pytest.raises(error) as caught:
        await handler.download_request(request)
    assert type(caught.value) is error
    return caught.value


def answering(answer: bytes, seen: list[bytes] | None = None) -> Conversation:
    """Answer each request head with the same bytes; `seen` collects the heads."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if seen is not None:
                seen.append(head)
            writer.write(answer)
            await writer.drain()
            if b"Connection: close" in answer or b"Content-Length" not in answer:
                return

    return converse


def page(body: bytes = b"<p>hello", status: str = "200 OK", *fields: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *(fields or ("Content-Type: text/html",))]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def unused_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class DnsServer(asyncio.DatagramProtocol):
    """Answers A and AAAA from a table; a name that is not in it does not exist."""

    def __init__(self, table: dict[str, list[str]], ttl: int = 120) -> None:
        self.table = table
        self.ttl = ttl
        self.asked: list[tuple[str, int]] = []
        # How many questions to leave without an answer, and to answer with a server failure.
        self.silent = 0
        self.failing = 0
        self.delays: dict[str, float] = {}

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        kind = struct.unpack("!H", data[at + 1 : at + 3])[0]
        name = ".".join(labels).lower()
        self.asked.append((name, kind))
        if self.silent:
            self.silent -= 1
            return
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        wanted = [a for a in self.table.get(name, []) if (":" in a) == (kind == 28)] if family else []
        records = b""
        for value in wanted:
            packed = socket.inet_pton(family, value)
            records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, self.ttl, len(packed)) + packed
        flags = 0x8180 if name in self.table else 0x8183
        if self.failing:
            self.failing -= 1
            flags, wanted, records = 0x8182, [], b""
        header = data[:2] + struct.pack("!HHHHH", flags, 1, len(wanted), 0, 0)
        answer = header + data[12 : at + 5] + records
        asyncio.get_running_loop().call_later(
            self.delays.get(name, 0), self.transport.sendto, answer, address
        )


@contextlib.asynccontextmanager
async def dns_server(table: dict[str, list[str]], ttl: int = 120) -> AsyncIterator[tuple[DnsServer, str]]:
    """The server and its `address:port`."""
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: DnsServer(table, ttl), local_addr=("127.0.0.1", 0)
    )
    try:
        yield server, f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"
    finally:
        transport.close()
