"""A redis-server of the crawl's own, on a socket in CRAWL_DIR: for fleets on one machine.

It keeps a log (`appendfsync everysec`) under CRAWL_DIR/redis and outlives whoever started it: a fleet that
is started again uses it. It is stopped when the last worker has gone; that it was stopped in order is
noted, so that leases need not be waited for when it starts again.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import redis

from crawlerproj.storage.interface import StorageError

_SOCKET_NAME_MAXIMUM = 100  # the system's limit is 108 bytes
_START_SECONDS = 60.0  # a large log takes its time to be read
_STEP_SECONDS = 0.02


def socket_of(directory: Path) -> Path:
    """Where the crawl's own server listens."""
    path = (directory / "redis.sock").absolute()
    if len(str(path).encode()) <= _SOCKET_NAME_MAXIMUM:
        return path
    return Path(tempfile.gettempdir()) / f"crawlerproj-{hashlib.sha256(bytes(path)).hexdigest()[:16]}.redis"


class PrivateServer:
    """Uses the server that runs, or starts one."""

    def __init__(self, directory: Path, crawl: str) -> None:
        self._socket, self._format = socket_of(directory), f"{crawl}:format"
        self._place = directory.absolute() / "redis"
        self.url = f"unix://{self._socket}"
        self.started = False
        if not self._answers():
            self._start()
            self.started = True

    def _client(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self._socket), socket_timeout=5.0)

    def _answers(self) -> bool:
        with self._client() as client:
            try:
                return bool(client.ping())
            except redis.exceptions.BusyLoadingError:
                return False
            except redis.exceptions.RedisError:
                return False

    def _start(self) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if program is None:
            raise StorageError("redis-server is not installed: apt-get install redis-server (or valkey), or "
                               "name a server that runs elsewhere: -s STORAGE=redis://host:6379/0")
        self._place.mkdir(parents=True, exist_ok=True)
        self._socket.unlink(missing_ok=True)
        with (self._place / "redis.log").open("ab") as log:
            process = subprocess.Popen(
                [program, "--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700",
                 "--dir", str(self._place), "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
                 # Rows of pages are longer than Redis expects in a small hash; packed they take less memory.
                 "--hash-max-listpack-value", "1024", "--daemonize", "no"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise StorageError(f"{program} did not start: see {self._place / 'redis.log'}")
            time.sleep(_STEP_SECONDS)
        with self._client() as client:
            if client.hdel(self._format, "stopped"):
                # Stopped in order, all leases given back: nothing was forgotten.
                client.hset(self._format, "run_id", client.info("server")["run_id"])

    def stop(self) -> None:
        """When nobody works any more."""
        with self._client() as client:
            try:
                client.hset(self._format, "stopped", 1)
                client.shutdown()
            except redis.exceptions.RedisError:
                return  # gone already
