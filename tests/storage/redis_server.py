"""A private redis-server on a socket in a directory of its own."""

from __future__ import annotations

import shutil
import socket
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


class Cluster:
    """Three nodes with a third of the slots each, without replicas."""

    def __init__(self) -> None:
        self._ports, self.nodes = [], []
        thirds = ((0, 5460), (5461, 10922), (10923, 16383))
        for _ in thirds:
            port, bus = free_ports(2)
            self._ports.append(port)
            self.nodes.append(Server(
                "--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes",
                "--cluster-port", str(bus), "--cluster-node-timeout", "60000", "--appendonly", "yes"))
            with self.nodes[-1].client() as client:
                client.execute_command("CLUSTER SET-CONFIG-EPOCH", len(self.nodes))
                client.execute_command("CLUSTER ADDSLOTSRANGE", *thirds[len(self.nodes) - 1])
                if len(self.nodes) == 1:
                    first, its_bus = port, bus
                else:
                    client.execute_command("CLUSTER MEET", "127.0.0.1", first, its_bus)
        for node in self.nodes:
            self.wait_for(node)

    def wait_for(self, node: Server) -> None:
        """Until it knows all slots."""
        with node.client() as client:
            for _ in range(3000):
                told = client.execute_command("CLUSTER INFO")
                if "ok" in str(told["cluster_state"]) and int(told["cluster_known_nodes"]) == len(self.nodes):
                    return
                time.sleep(0.01)
        raise AssertionError(f"the cluster did not come together: {told}")

    def client(self) -> redis.Redis:
        """Of the first node, as a user would name one."""
        return redis.Redis.from_url(self.url)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._ports[0]}/0"

    def flush(self) -> None:
        for node in self.nodes:
            with node.client() as client:
                client.flushall()

    def close(self) -> None:
        for node in self.nodes:
            node.close()


def free_ports(n: int) -> list[int]:
    """A cluster's nodes tell each other their ports: they cannot be told to take any."""
    sockets = [socket.socket() for _ in range(n)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


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
