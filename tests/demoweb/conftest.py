"""A plain client of the demo web: names by DNS packets, pages by http.client, links by a regex."""

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urljoin, urlsplit

import pytest
from hostile_client import Curl

from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb

LINK = re.compile(r'<a href="([^"]*)">')


def ask(server: str, name: str, kind: int = 1, timeout: float = 10) -> tuple[int, list[str]]:
    """Response code and addresses."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack("!6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)
    address, _, port = server.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(timeout)
        client.sendto(query, (address, int(port)))
        answer = client.recv(512)
    identifier, flags, _, answers, _, _ = struct.unpack_from("!6H", answer)
    assert identifier == 7
    assert answer[12 : len(query)] == query[12:]
    records = [answer[len(query) + 16 * n :][:16] for n in range(answers)]
    return flags & 15, [socket.inet_ntoa(record[12:]) for record in records]


class Visitor:
    """Keeps one connection to each host."""

    def __init__(self, web: DemoWebProcess) -> None:
        self.web = web
        self.connections: dict[str, HTTPConnection] = {}

    def connection(self, name: str) -> HTTPConnection:
        if name not in self.connections:
            code, addresses = ask(self.web.dns_server, name)
            assert (code, len(addresses)) == (0, 1)
            self.connections[name] = HTTPConnection(addresses[0], self.web.http_port, timeout=10)
        return self.connections[name]

    def get(self, url: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
        parts = urlsplit(url)
        connection = self.connection(parts.hostname or "")
        connection.request(method, parts.path, headers={"Host": parts.netloc})
        response = connection.getresponse()
        return response, response.read()

    def links(self, url: str, response: HTTPResponse, body: bytes) -> list[str]:
        location = response.getheader("Location")
        if location:
            return [urljoin(url, location)]
        return [urljoin(url, href) for href in LINK.findall(body.decode())]

    def close(self) -> None:
        for connection in self.connections.values():
            with suppress(OSError):
                connection.close()


@pytest.fixture
def serve(tmp_path) -> Iterator:
    """Starts a demo web that logs to access.log and gives its visitor."""
    visitors: list[Visitor] = []

    def start(**options) -> Visitor:
        visitors.append(Visitor(start_demoweb(log=tmp_path / "access.log", **options)))
        return visitors[-1]

    def curl(**options) -> Curl:
        return Curl(start(**options).web, ask)

    start.ask = ask
    start.curl = curl
    yield start
    for visitor in visitors:
        visitor.close()
        visitor.web.stop()
