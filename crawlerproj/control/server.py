"""The control socket of a running crawl: a line of JSON in, a line of JSON out, in CRAWL_DIR/control.

Whoever may write into CRAWL_DIR may order; nobody else can reach a Unix socket (mode 600).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler

from crawlerproj.assembly import Crawl
from crawlerproj.control.actions import Refused, act, check_state
from crawlerproj.control.client import socket_path
from crawlerproj.storage.interface import StorageError

logger = logging.getLogger(__name__)

_LINE_MAXIMUM = 1 << 20
_PAUSE_SECONDS = 120.0


class ControlServer:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._crawl = Crawl.of(crawler)
        self._server: asyncio.Server | None = None
        self._path: Path | None = None

    async def open(self) -> None:
        """Listens; a crawl goes on without the socket if it cannot be made."""
        link = self._link()
        path = socket_path(link)
        try:
            link.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._serve, str(path), limit=_LINE_MAXIMUM)
            os.chmod(path, 0o600)
            if path != link:
                link.write_text(str(path))
            self._path = path
        except OSError as error:
            logger.warning("no control socket at %s (%s): the commands wait until the crawl has ended",
                           path, error)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._link().unlink(missing_ok=True)

    def _link(self) -> Path:
        """`control`; of a further worker in the same directory `control-1` and so on."""
        number = self._crawl.state.number
        return (self._crawl.directory / (f"control-{number}" if number else "control")).absolute()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            if line:
                answer = await self._answer(line)
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError) as error:
            logger.debug("control socket: %s", error)
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            order = json.loads(line)
            if not self._crawl.is_open:
                raise Refused("the crawl is closing: ask again in a moment")
            if order["action"] == "check":
                return {"answer": await self._check()}
            answer = await act(self._crawl, order["action"], order.get("arguments", {}))
            self._wake()
            return {"answer": {"running": True, **answer}}
        except (Refused, OSError, StorageError) as error:
            return {"error": str(error)}
        except (KeyError, TypeError, ValueError) as error:
            return {"error": f"not understood: {error!r}"}

    async def _check(self) -> dict[str, Any]:
        """Pauses the crawl, waits until nothing is in hand or uncommitted, checks, goes on."""
        crawl, engine = self._crawl, self._crawler.engine
        engine.pause()
        try:
            deadline = time.monotonic() + _PAUSE_SECONDS
            while crawl.is_open and (crawl.frontier.in_hand or crawl.commits.pending):
                if time.monotonic() > deadline:
                    raise Refused("the crawl did not come to rest within two minutes: ask again later")
                await asyncio.sleep(0.01)
            if not crawl.is_open:
                raise Refused("the crawl has just ended: ask again")
            findings = await asyncio.get_running_loop().run_in_executor(None, check_state, crawl)
            return {"running": True, **findings}
        finally:
            engine.unpause()
            self._wake()

    def _wake(self) -> None:
        slot = self._crawler.engine._slot
        if slot is not None and slot.closing is None:
            slot.nextcall.schedule()
