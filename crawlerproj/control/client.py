"""Asks a crawl: the running one through its socket, else the stopped one by opening its state."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrapy.settings import BaseSettings

from crawlerproj.assembly import CannotOpen, Crawl
from crawlerproj.opening import shared_state
from crawlerproj.storage.interface import StorageError

_SOCKET_NAME_MAXIMUM = 100  # the system's limit is 108 bytes
_ANSWER_SECONDS = 600.0
_OF_OWNERS = ("ban", "unban")


class NotAnswered(Exception):
    """The message says why and what to do."""


def socket_path(link: Path) -> Path:
    """Where the socket is: CRAWL_DIR/control, or in the temporary directory if that name is too long."""
    path = link.absolute()
    if len(str(path).encode()) <= _SOCKET_NAME_MAXIMUM:
        return path
    name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"crawlerproj-{name}.sock"


def ask(settings: BaseSettings, directory: Path, action: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer of a crawl, running or stopped."""
    shared = shared_state(directory) if directory.is_dir() else None
    if shared is not None:
        return _ask_fleet(settings, directory, shared, action, arguments)
    answer = ask_running(directory, action, arguments)
    if answer is None:
        if not (directory / "FORMAT").exists():
            raise NotAnswered(f"there is no crawl in {directory}: name its directory with --dir")
        answer = asyncio.run(_ask_stopped(settings, directory, action, arguments))
    return answer


def _ask_fleet(
    settings: BaseSettings, directory: Path, shared: dict[str, str], action: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    """What lies in Redis is read there; what only the owner of a host may do is asked of each worker here."""
    if action in _OF_OWNERS:
        for link in sorted(directory.glob("control*")):
            with suppress(NotAnswered):
                answer = ask_running(directory, action, arguments, link.name)
                if answer is not None:
                    return answer
    own = settings.copy()
    own.set("STORAGE", settings.get("STORAGE") or shared["storage"] or "redis", priority="cmdline")
    own.set("CRAWL_NAME", shared["crawl"], priority="cmdline")
    return asyncio.run(_ask_stopped(own, directory, action, arguments))


def ask_running(directory: Path, action: str, arguments: dict[str, Any],
                name: str = "control") -> dict[str, Any] | None:
    """The answer through the socket; None if nobody listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_SECONDS)
        try:
            connection.connect(str(socket_path(directory / name)))
        except OSError:
            return None
        try:
            connection.sendall(json.dumps({"action": action, "arguments": arguments}).encode() + b"\n")
            with connection.makefile("rb") as stream:
                line = stream.readline()
            reply: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):
            raise NotAnswered(f"the crawl in {directory} ended before it answered: ask again") from None
    if "error" in reply:
        raise NotAnswered(str(reply["error"]))
    answer: dict[str, Any] = reply["answer"]
    return answer


async def _ask_stopped(
    settings: BaseSettings, directory: Path, action: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    from crawlerproj.control.actions import Refused, act

    own = settings.copy()
    own.set("CRAWL_DIR", str(directory), priority="cmdline")
    crawl = Crawl(own, directory.name, lambda stat, by=1: None)
    try:
        crawl.open({}, archive=False)
    except CannotOpen as error:
        raise NotAnswered(str(error)) from error
    try:
        return {"running": False, **await act(crawl, action, arguments)}
    except (Refused, StorageError) as error:
        raise NotAnswered(str(error)) from error
    finally:
        await crawl.close()
        if crawl.failure:
            raise NotAnswered(crawl.failure)
