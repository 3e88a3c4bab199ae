"""The converter's worker process: reads documents from a socket, writes their text back, one at a time.

Its limits are set before anything hostile is read: memory, processor time for each document, no files,
no core dumps. It ends when the other end of the socket is closed.
"""

from __future__ import annotations

import importlib
import math
import os
import resource
import socket
import struct
import sys
import time

import msgpack

from crawlerproj.parse.formats import Converted, converter_of

HEADER = struct.Struct(">I")


def main(arguments: list[str]) -> None:
    fd, memory_bytes, max_text = map(int, arguments[:3])
    seconds = float(arguments[3])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    for module in arguments[4:]:
        importlib.import_module(module)
    # Python and its libraries are mapped already: the limit is for what documents need beyond them.
    limit = _mapped_bytes() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with socket.socket(fileno=fd) as connection:
        while (request := _receive(connection)) is not None:
            _limit_processor_time(seconds)
            content_type, body = msgpack.unpackb(request)
            reply = msgpack.packb(list(convert(content_type, body, max_text)), unicode_errors="replace")
            connection.sendall(HEADER.pack(len(reply)) + reply)


def convert(content_type: str, body: bytes, max_text: int) -> Converted:
    """One document; whatever a format's function raises is a reason."""
    function = converter_of(content_type)
    if function is None:
        return Converted(malformed="unsupported")
    try:
        return function(body, content_type, max_text)
    except MemoryError:
        return Converted(malformed="memory")
    except Exception:
        return Converted(malformed="unreadable")


def _limit_processor_time(seconds: float) -> None:
    """A library's endless loop ends even if nobody is left to kill it."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds) + 1, hard))


def _mapped_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 1 << 30


def _receive(connection: socket.socket) -> bytes | None:
    header = _exactly(connection, HEADER.size)
    return None if header is None else _exactly(connection, HEADER.unpack(header)[0])


def _exactly(connection: socket.socket, length: int) -> bytes | None:
    received = bytearray()
    while len(received) < length:
        part = connection.recv(min(1 << 20, length - len(received)))
        if not part:
            return None
        received += part
    return bytes(received)


if __name__ == "__main__":
    main(sys.argv[1:])
