"""A private redis-server on a socket in a directory of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

PROGRAM = shutil.which("redis-server") or shutil.which("valkey-server")


class Server:
    def __init__(self, *options: str) -> None:
        # A short path: a socket's name may have about a hundred characters.
        self.directory = Path(tempfile.mkdtemp(prefix="redis-"))
        self.socket = self.directory / "socket"
        self._options = options
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    def start(self, *more: str) -> None:
        assert PROGRAM is not None
        self.process = subprocess.Popen(
            [PROGRAM, "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.directory),
             "--save", "", "--daemonize", "no", *self._options, *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        with self.client() as client:
            for _ in range(600):
                try:
                    client.ping()
                    return
                except redis.exceptions.ConnectionError:
                    time.sleep(0.01)  # not up yet
        raise AssertionError("redis-server did not start")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.directory)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    """One server for the tests that do not kill it."""
    if PROGRAM is None:
        pytest.skip("redis-server is missing: apt-get install redis-server (or valkey)")
    server = Server()
    yield server
    server.close()


@pytest.fixture
def durable_server() -> Iterator[Server]:
    """A server with a log, for tests that kill it."""
    if PROGRAM is None:
        pytest.skip("redis-server is missing: apt-get install redis-server (or valkey)")
    server = Server("--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.close()
