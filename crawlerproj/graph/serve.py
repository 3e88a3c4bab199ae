"""The connectivity server over HTTP: JSON on loopback, paged and limited.

    GET /stats
    GET /outlinks?url=...   /inlinks?url=...   /anchors?url=...   /degree?url=...
    GET /neighbourhood?url=...&depth=1&direction=out
    GET /path?from=...&to=...
    GET /top?by=in|out|rank

All but /anchors take `level=url|host|domain`; lists take `offset=0` and `limit=100` (at most 1,000) and
say the `total` and, if more follows, the `next` offset. Errors are {"error": ...} with what to do. HEAD is
answered too.

A build that is switched to meanwhile is taken up within a second.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore, Lock
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from crawlerproj.graph.connectivity import ConnectivityServer, UnknownNode
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.manifest import GraphError
from crawlerproj.graph.walks import WalkTooLarge, spread

LIMIT = 1_000  # entries in one answer
DEPTH = 4
WALK = 200_000  # nodes a walk may meet
AT_ONCE = 16  # questions answered at the same time
CONNECTIONS = 200  # open at the same time; one that says nothing for half a minute is closed
_LONGEST_REQUEST = 16_384
_LOOK_SECONDS = 1.0

Answer = dict[str, object]
Query = dict[str, str]


class BadQuestion(Exception):
    """The question cannot be answered as asked; the text says how to ask."""


class UnknownQuestion(BadQuestion):
    """Nothing is answered at that path."""


class Questions:
    """Answers questions over the current build of a graph."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._server = ConnectivityServer.open(directory)
        self._directory = self._server.build.parent
        self._looked = clock()

    def ask(self, path: str, query: Query) -> Answer:
        answers: dict[str, Callable[[ConnectivityServer, Query], Answer]] = {
            "/stats": self._stats, "/outlinks": self._links, "/inlinks": self._links,
            "/anchors": self._anchors, "/degree": self._degree, "/neighbourhood": self._neighbourhood,
            "/path": self._path, "/top": self._top,
        }  # fmt: skip
        if path not in answers:
            raise UnknownQuestion(f"{path} is not known: ask for one of {', '.join(answers)}")
        return answers[path](self._current(), {**query, "path": path})

    def _current(self) -> ConnectivityServer:
        with self._lock:
            if self._clock() - self._looked > _LOOK_SECONDS:
                self._looked = self._clock()
                link = self._directory / "current"
                if link.is_symlink() and os.readlink(link) != self._server.build.name:
                    self._server = ConnectivityServer.open(self._directory)
            return self._server

    def _stats(self, server: ConnectivityServer, query: Query) -> Answer:
        return {"build": server.build.name, **asdict(server.manifest)}

    def _links(self, server: ConnectivityServer, query: Query) -> Answer:
        level = server.level(_one_of(query, "level", ("url", "host", "domain"), "url"))
        direction = "out" if query["path"] == "/outlinks" else "in"
        offset, limit = _page(query)
        row = level.links(direction).row(level.number(_needed(query, "url")))
        return _paged(level.titles(row[offset : offset + limit]), offset, len(row))

    def _anchors(self, server: ConnectivityServer, query: Query) -> Answer:
        offset, limit = _page(query)
        url = _needed(query, "url")
        found = server.anchors(url, offset, limit)
        return _paged([anchor._asdict() for anchor in found], offset, server.degree(url).back)

    def _degree(self, server: ConnectivityServer, query: Query) -> Answer:
        degree = server.degree(_needed(query, "url"), query.get("level", "url"))
        return {"out": degree.out, "in": degree.back}

    def _neighbourhood(self, server: ConnectivityServer, query: Query) -> Answer:
        depth = _number(query, "depth", 1, DEPTH)
        direction = _one_of(query, "direction", ("out", "in"), "out")
        offset, limit = _page(query, WALK)
        level = server.level(query.get("level", "url"))
        number = level.number(_needed(query, "url"))
        found = spread(level.links(direction), number, depth, offset + limit + 1)
        # Names are looked up for what is shown alone.
        here = [{"url": level.title(node), "distance": far} for node, far in found[offset : offset + limit]]
        answer: Answer = {"entries": here, "offset": offset}
        if len(found) > offset + limit:
            answer["next"] = offset + limit
        return answer

    def _path(self, server: ConnectivityServer, query: Query) -> Answer:
        level = query.get("level", "url")
        return {"path": server.path(_needed(query, "from"), _needed(query, "to"), level, WALK)}

    def _top(self, server: ConnectivityServer, query: Query) -> Answer:
        by = _one_of(query, "by", ("in", "out", "rank"), "in")
        offset, limit = _page(query, 10 * LIMIT)
        level = query.get("level", "url")
        found = server.top(offset + limit, by, level)[offset:]
        entries = [{"url": name, "value": value} for name, value in found]
        return _paged(entries, offset, server.level(level).out.nodes)


def _needed(query: Query, name: str) -> str:
    if not query.get(name):
        raise BadQuestion(f"`{name}` is missing: add ?{name}=...")
    return query[name]


def _number(query: Query, name: str, default: int, most: int) -> int:
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= most):
        raise BadQuestion(f"{name}={text}: give a whole number from 0 to {most}")
    return int(text)


def _one_of(query: Query, name: str, values: tuple[str, ...], default: str) -> str:
    value = query.get(name, default)
    if value not in values:
        raise BadQuestion(f"{name}={value}: give one of {', '.join(values)}")
    return value


def _page(query: Query, farthest: int = 1 << 32) -> tuple[int, int]:
    return _number(query, "offset", 0, farthest), _number(query, "limit", 100, LIMIT)


def _paged(entries: Sequence[object], offset: int, total: int) -> Answer:
    answer: Answer = {"entries": entries, "offset": offset, "total": total}
    if offset + len(entries) < total and entries:
        answer["next"] = offset + len(entries)
    return answer


class GraphHttpServer(ThreadingHTTPServer):
    """Serves until `shutdown`. Port 0 takes any free port: see `server_port`."""

    daemon_threads = True

    def __init__(self, directory: Path, address: str = "127.0.0.1", port: int = 0) -> None:
        self.questions = Questions(directory)
        self.places = BoundedSemaphore(AT_ONCE)
        self._connections = BoundedSemaphore(CONNECTIONS)
        super().__init__((address, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that left is no error
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = default_request_version = "HTTP/1.1"
    server_version, sys_version = "crawlerproj", ""
    timeout = 30
    server: GraphHttpServer

    def do_GET(self) -> None:
        if len(self.path) > _LONGEST_REQUEST:
            self._send(414, {"error": f"give a request of at most {_LONGEST_REQUEST} bytes"})
            return
        if not self.server.places.acquire(blocking=False):
            self._send(503, {"error": f"{AT_ONCE} questions are being answered: ask again in a moment"})
            return
        try:
            status, answer = self._answer()
        finally:
            self.server.places.release()
        self._send(status, answer)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.close_connection = True  # what else was sent is not read
        self._send(405, {"error": f"{self.command} is not answered: ask with GET"}, {"Allow": "GET, HEAD"})

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Of what is no HTTP at all."""
        self.close_connection = True
        self._send(code, {"error": message or HTTPStatus(code).phrase})

    def _answer(self) -> tuple[int, Answer]:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        try:
            return 200, self.server.questions.ask(parts.path, query)
        except (UnknownNode, UnknownQuestion) as error:
            return 404, {"error": str(error)}
        except (BadQuestion, ValueError, WalkTooLarge) as error:
            return 400, {"error": str(error)}
        except (GraphError, DamagedGraph, OSError) as error:
            return 500, {"error": str(error)}

    def _send(self, status: int, answer: Answer, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        body = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Questions are not logged: there may be thousands a second."""
