"""CPU of one fetch: the whole Scrapy engine with our handler and settings against Scrapy's defaults.

Both fetch the same 15 kB page from the same loopback server in the same run, each in a process of
its own, in turns; the figure is the crawler process's CPU from the first request to the last
response, the median of the rounds, and a ratio is the median of the rounds' own ratios.
`new_connection`: the server closes after each answer; `tls`: the same over TLS (ECDSA, whole
handshakes, nobody verifies); `keepalive`: connections stay open. The spider does nothing with a page.
Both engines are fed by the same list in place of a scheduler: what is compared is the way from the
engine through middlewares, downloader and handler and back to the spider.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

ADDRESSES = [f"127.0.0.{n}" for n in range(1, 17)]
BODY = (b"<html><head><title>page</title></head><body>" + b"<p>words and <a href=/x>links</a></p>" * 400)[
    :15_000
]
HEADERS = {
    "User-Agent": "crawlerproj/0.1 (+http://contact.test)",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en",
}
MODES = ("new_connection", "tls", "keepalive")


def server(pem: str) -> None:
    """Serve plain, closing; TLS, closing; and plain, open. Prints its three ports."""
    import uvloop

    def answer(*fields: bytes) -> bytes:
        head = (b"HTTP/1.1 200 OK", b"Content-Type: text/html; charset=utf-8", *fields)
        return b"\r\n".join((*head, b"Content-Length: %d" % len(BODY), b"", BODY))

    class Web(asyncio.Protocol):
        def __init__(self, close: bool) -> None:
            self.close = close
            self.answer = answer(b"Connection: close") if close else answer()
            self.head = b""

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.head += data
            if self.head.endswith(b"\r\n\r\n"):
                self.head = b""
                self.transport.write(self.answer)
                if self.close:
                    self.transport.close()

    async def main() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        # No session tickets: every handshake is a whole one, for both.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
        loop = asyncio.get_running_loop()
        ports = []
        for close, tls in ((True, None), (True, context), (False, None)):
            port = 0
            for address in ADDRESSES:
                made = await loop.create_server(
                    lambda close=close: Web(close), address, port, ssl=tls, backlog=512
                )
                port = made.sockets[0].getsockname()[1]
            ports.append(port)
        print(json.dumps(ports), flush=True)
        # The pipe's other end is the benchmark: when that dies, so does this.
        await loop.run_in_executor(None, sys.stdin.read)

    uvloop.run(main())


def crawl(ours: bool, scheme: str, port: int, requests: int) -> None:
    """Fetch and print the CPU microseconds a request."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    class Fetching(scrapy.Spider):
        name = "fetching"
        got = 0
        cpu = 0.0

        async def start(self) -> AsyncIterator[Any]:
            for nothing in ():
                yield nothing

        def parse(self, response: Any) -> None:
            if response.body == BODY:
                self.got += 1
            if self.got == requests:
                self.cpu = time.process_time() - self.cpu

    class ListScheduler:
        """Hands out the requests one by one."""

        def open(self, spider: Fetching) -> None:
            spider.cpu = time.process_time()
            self.left = requests

        def close(self, reason: str) -> None:
            pass

        def has_pending_requests(self) -> bool:
            return self.left > 0

        def enqueue_request(self, request: Any) -> bool:
            raise AssertionError(f"{request} was not asked for")

        def next_request(self) -> Any:
            if not self.left:
                return None
            self.left -= 1
            url = f"{scheme}://{ADDRESSES[self.left % len(ADDRESSES)]}:{port}/{self.left}"
            # Our frontier writes the headers that Scrapy's middlewares would add: both send the same.
            return scrapy.Request(url, headers=HEADERS if ours else None)

    settings: dict[str, Any] = {
        "SCHEDULER": ListScheduler,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "FETCH_PRIVATE_ADDRESSES": True,
    }
    if ours:
        settings = our_settings() | settings
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Fetching)
    process.crawl(crawler)
    process.start()
    spider: Any = crawler.spider
    if spider.got != requests:
        sys.exit(f"only {spider.got} of {requests} pages came")
    print(json.dumps(spider.cpu / requests * 1e6))


def our_settings() -> dict[str, Any]:
    """The project's own, but for the rooms around the fetch."""
    from crawlerproj import settings

    names = (
        "DOWNLOAD_HANDLERS", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "CONCURRENT_ITEMS",
        "CONCURRENT_REQUESTS", "COOKIES_ENABLED", "RETRY_HTTP_CODES", "DOWNLOAD_TIMEOUT", "DOWNLOAD_MAXSIZE",
        "DOWNLOAD_WARNSIZE", "TWISTED_REACTOR", "ASYNCIO_EVENT_LOOP",
    )  # fmt: skip
    return {name: getattr(settings, name) for name in names if hasattr(settings, name)}


def certificate(folder: str) -> str:
    """A file with an ECDSA key and its self-signed certificate."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bench.test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path = Path(folder) / "bench.pem"
    path.write_bytes(
        key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain) + made.public_bytes(encoding)
    )
    return str(path)


def measure(ours: bool, mode: str, port: int, requests: int) -> float:
    scheme = "https" if mode == "tls" else "http"
    command = [sys.executable, __file__, "--crawl", json.dumps([ours, scheme, port, requests])]
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=True,
        cwd=tempfile.gettempdir(),
        env=os.environ | {"PYTHONPATH": root},
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer requests and rounds, under three minutes")
    parser.add_argument("--mode", choices=MODES, action="append", help="only this one")
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    parser.add_argument("--server", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.server:
        return server(options.server)
    if options.crawl:
        return crawl(*json.loads(options.crawl))
    requests, rounds = (700, 5) if options.quick else (3_000, 7)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--server", certificate(folder)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as web:
            assert web.stdout is not None and web.stdin is not None
            ports = dict(zip(MODES, json.loads(web.stdout.readline()), strict=True))
            for mode in options.mode or MODES:
                taken: dict[bool, list[float]] = {True: [], False: []}
                for _ in range(rounds):
                    for ours in (True, False):
                        taken[ours].append(measure(ours, mode, ports[mode], requests))
                mine, theirs = statistics.median(taken[True]), statistics.median(taken[False])
                print(f"{mode}: {mine:.0f} us against {theirs:.0f} us a fetch", file=sys.stderr)
                figures[f"us_{mode}"] = round(mine)
                figures[f"us_{mode}_scrapy"] = round(theirs)
                # Of each round's pair: what else the machine does meanwhile weighs on both alike.
                ratios = [scrapy / own for own, scrapy in zip(taken[True], taken[False], strict=True)]
                figures[f"ratio_{mode}"] = round(statistics.median(ratios), 2)
            web.stdin.close()
    print(json.dumps({"name": "fetch", "figures": figures}))


if __name__ == "__main__":
    main()
