"""Bind the ports of a demo web and serve it until a signal or the death of the parent process.

Only loopback addresses are bound: each host's own for HTTP, 127.0.0.1 for DNS.
"""

import asyncio
import ctypes
import errno
import os
import resource
import signal
import socket
import ssl
from dataclasses import dataclass
from functools import partial

from crawlerproj.demoweb.access_log import AccessLog
from crawlerproj.demoweb.dns import NameServer
from crawlerproj.demoweb.server import Site
from crawlerproj.demoweb.tls import server_context
from crawlerproj.demoweb.world import World

DNS_ADDRESS = "127.0.0.1"
_BACKLOG = 1024
_EPHEMERAL_TRIES = 20
_SPARE_FILES = 2000
_PR_SET_PDEATHSIG = 1


class CannotServe(Exception):
    """The text says why and what to do about it."""


@dataclass(slots=True)
class Ports:
    """Sockets that listen: one for each address, in the order given, and one for DNS."""

    http: list[socket.socket]
    dns: socket.socket

    @property
    def http_port(self) -> int:
        return int(self.http[0].getsockname()[1])

    @property
    def dns_port(self) -> int:
        return int(self.dns.getsockname()[1])


def bind(addresses: list[str], http_port: int, dns_port: int) -> Ports:
    """A port of 0 is any free one."""
    _allow_open_files(len(addresses) + _SPARE_FILES)
    return Ports(_bind_http(addresses, http_port), _bind_dns(dns_port))


def _bind_http(addresses: list[str], port: int) -> list[socket.socket]:
    for tries_left in reversed(range(1 if port else _EPHEMERAL_TRIES)):
        bound: list[socket.socket] = []
        try:
            for address in addresses:
                bound.append(_listen(address, port or (bound[0].getsockname()[1] if bound else 0)))
            return bound
        except OSError as error:
            for listener in bound:
                listener.close()
            # A port that is free on the first address may be taken on a later one: try another.
            if error.errno != errno.EADDRINUSE or tries_left == 0:
                raise CannotServe(_why(error, "HTTP", port, "--port")) from error
    raise AssertionError("the last try returns or raises")


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _bind_dns(port: int) -> socket.socket:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        server.bind((DNS_ADDRESS, port))
    except OSError as error:
        server.close()
        raise CannotServe(_why(error, "DNS", port, "--dns-port")) from error
    server.setblocking(False)
    return server


def _why(error: OSError, what: str, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        remedy = f"end the process that has it, or give another with {option} (0: any free port)"
        return f"{what} port {port} is taken: {remedy}"
    if error.errno == errno.EMFILE:
        return "too many open files: give fewer --hosts, or raise the limit (ulimit -n)"
    return f"cannot bind {what} port {port}: {error}; give another with {option}"


def _allow_open_files(needed: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))


async def serve(world: World, ports: Ports, log_path: str | None, parent: int) -> None:
    """Print the ready line, then serve until SIGTERM, SIGINT or the end of process `parent`."""
    loop = asyncio.get_running_loop()
    log = AccessLog(log_path)
    site = Site(world, log)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    servers = [
        await loop.create_server(
            partial(site.connection, host, address), sock=listener, ssl=_tls(world, host)
        )
        for listener, (address, host) in zip(ports.http, world.endpoints(), strict=True)
    ]
    names, _ = await loop.create_datagram_endpoint(lambda: NameServer(world.lookup), sock=ports.dns)
    _stop_with_parent(loop, stop, parent)
    world.answer(0, "/")  # makes the pools of text before the first request
    site.pulse.start()
    dns = f"{DNS_ADDRESS}:{ports.dns_port}"
    print(f"demoweb ready http_port={ports.http_port} dns={dns} seeds={len(world.seeds())}", flush=True)
    await stop.wait()
    for server in servers:
        server.close()
    names.close()
    site.close()
    while site.connections:
        await asyncio.sleep(0)
    log.close()


def _tls(world: World, host: int) -> ssl.SSLContext | None:
    kind = world.certificate(host)
    return None if kind is None else server_context(world.layout.seed, world.layout.names[host], kind)


def _stop_with_parent(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, parent: int) -> None:
    def check() -> None:
        # The kernel also sends the signal when only the thread that started us has ended.
        if os.getppid() != parent:
            stop.set()

    loop.add_signal_handler(signal.SIGUSR1, check)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)
    check()  # the parent may have died before the line above
