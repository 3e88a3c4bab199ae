"""A small site in the test's own event loop, and a crawl of it in the same process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from crawlerproj import settings as project_settings

Route = Callable[[int], bytes]
"""Takes the number of times the path was asked for (from 1); gives the raw answer, or b"" to hang up."""


def html(body: str, status: str = "200 OK", *fields: str) -> bytes:
    content = body.encode()
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(content)}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


class Site:
    """Answers from `routes`; what has no route is a 404. `asked` holds the paths in order."""

    def __init__(self, routes: dict[str, Route | bytes]) -> None:
        self.routes = routes
        self.asked: list[str] = []
        self.origin = ""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                self.asked.append(path)
                route = self.routes.get(path, html("none", "404 Not Found"))
                answer = route(self.asked.count(path)) if callable(route) else route
                if not answer:
                    break
                if answer == HANG:
                    await asyncio.sleep(3600)
                writer.write(answer)
                await writer.drain()
        writer.close()


HANG = b"HANG"


@contextlib.asynccontextmanager
async def serving(routes: dict[str, Route | bytes]) -> AsyncIterator[Site]:
    site = Site(routes)
    server = await asyncio.start_server(site.converse, "127.0.0.1", 0)
    site.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield site
    finally:
        server.close()


def make_crawler(spider: type[Spider], directory: Path, **more: Any) -> Crawler:
    """A crawler with the project's settings, hastened."""
    settings = Settings()
    settings.setmodule(project_settings, priority="project")
    settings.setdict(
        {
            "CRAWL_DIR": str(directory), "DELAY_MINIMUM": 0, "DELAY_FACTOR": 0, "BACKOFF_BASE": 0.01,
            "BACKOFF_MAXIMUM": 0.05, "DOWNLOAD_TIMEOUT": 0.5, "IDLE_HORIZON": 3,
            "FETCH_PRIVATE_ADDRESSES": True, "ASYNCIO_EVENT_LOOP": None, "DISK_FREE_MINIMUM": 0,
            "LOG_LEVEL": "WARNING", **more,
        },
        priority="cmdline",
    )
    return Crawler(spider, settings)
