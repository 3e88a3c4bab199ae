"""The fetch itself: Scrapy's http and https downloads over libcurl.

One multi handle for each scheme's handler, driven by the running event loop, and a pool of
easy handles. The body is kept as it was sent: `Accept-Encoding` is the request's own, and
decoding is left to Scrapy's middleware, so that the archive gets the true bytes. Redirects
are never followed here: each hop is a request of its own, checked and timed like any other.

Read from `request.meta`: `download_timeout`, `download_maxsize`, `proxy` as Scrapy's own
handler does, and `before_send`, a callable that is given the request when the connection is
up and says whether the request may still leave; where it is given, `abort` is left there while
the transfer goes on, and ends it.
Left in `request.meta`: `download_latency` (to the first byte), `fetch_seconds` (to the last
one, also of a failed fetch), `reason_phrase`, and `download_truncated` ("length" or
"disconnect") where the body is not whole. The signals `headers_received` and
`bytes_received` are not sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from typing import Final

import pycurl
from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
)
from scrapy.http import Response
from scrapy.settings import BaseSettings

from .addresses import spelled_address
from .checked_addresses import CheckedAddresses
from .curl_response import AddressRefusedError, answer_or_raise, make_response
from .curl_transfer import Limits, Transfer, request_headers
from .first_byte import FirstByteLimit
from .kept_addresses import KeptAddresses
from .open_connections import connections_of
from .resolver import resolver_of

__all__ = ["AddressRefusedError", "CurlDownloadHandler"]

# A host with more addresses than this that all refuse is down.
_ADDRESSES_TRIED: Final = 3
# Of the SOCKS kinds those that leave the name to the proxy: the others would have libcurl
# resolve it by itself, past the address guard.
_PROXY_PORTS: Final = {"http": "80", "https": "443", "socks5h": "1080", "socks4a": "1080"}


class CurlDownloadHandler(BaseDownloadHandler):
    """For DOWNLOAD_HANDLERS' `http` and `https`."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self.resolver = resolver_of(crawler)
        self._limits = _limits(settings)
        self._first_byte = FirstByteLimit(settings.getfloat("FETCH_FIRST_BYTE_TIMEOUT", 30))
        self._timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._max_size = settings.getint("DOWNLOAD_MAXSIZE")
        self._fail_on_data_loss = settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        self._addresses = CheckedAddresses(crawler)
        self._pool_size = settings.getint("FETCH_MAX_IDLE_HANDLES", 256)
        self._pool: list[Transfer] = []
        self._by_address = settings.get("POLITENESS_GROUP") == "ip"
        self._kept = KeptAddresses(self._limits.idle_seconds)
        self._open = connections_of(crawler)
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.getint("FETCH_MAX_IDLE_CONNECTIONS", 256))

    async def download_request(self, request: Request) -> Response:
        meta = request.meta
        meta.pop("download_truncated", None)
        try:
            headers = request_headers(request.headers)
        except ValueError as error:
            raise DownloadFailedError(f"{request.url}: {error}") from error
        if meta.get("proxy"):
            return await self._by_proxy(request, headers, str(meta["proxy"]))
        addresses = await self._addresses.of(request, _host(request.url))
        place = _netloc(request.url)
        if self._by_address:
            addresses = addresses[:1]  # the one whose turn it is
        else:
            addresses = self._kept.ordered(place, addresses, time.monotonic())[:_ADDRESSES_TRIED]
        while True:
            try:
                response = await self._fetch(request, headers, addresses[0])
            except DownloadConnectionRefusedError:
                self._kept.failed(place)
                if len(addresses) == 1:
                    raise
                addresses = addresses[1:]
            except BaseException:
                self._kept.failed(place)
                raise
            else:
                self._kept.used(place, addresses[0], time.monotonic())
                return response

    async def close(self) -> None:
        """Give up what is under way and close every connection."""
        self._first_byte.close()
        await self._multi.aclose()
        while self._pool:
            self._pool.pop().close()
        await self.resolver.close()

    async def _by_proxy(self, request: Request, headers: list[bytes], proxy: str) -> Response:
        """The proxy's address is checked as a host's is; the origin's name is the proxy's to resolve."""
        scheme, separator, _ = proxy.partition("://")
        if not separator:
            scheme, proxy = "http", f"http://{proxy}"
        if scheme not in _PROXY_PORTS:
            raise DownloadFailedError(
                f"proxy {scheme}://… is not supported: use one of {', '.join(_PROXY_PORTS)}"
            )
        host = _host(proxy)
        port = _netloc(proxy).rpartition("]")[2].partition(":")[2] or _PROXY_PORTS[scheme]
        addresses = await self._addresses.of(request, host)
        origin = _host(request.url)
        literal = spelled_address(origin)
        # Names of this machine's own are known here whatever the proxy would make of them.
        known = [literal] if literal else self.resolver.local(origin)
        if known:
            self._addresses.allowed(request, origin, known)
        address = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
        transfer = Transfer(self._limits)
        authorization = request.headers.get(b"Proxy-Authorization")
        transfer.by_proxy(proxy, f"+{host}:{port}:{address}", authorization)
        return await self._fetch(request, headers, "", transfer)

    async def _fetch(
        self, request: Request, headers: list[bytes], address: str, transfer: Transfer | None = None
    ) -> Response:
        meta = request.meta
        group: object = None
        origin, was_shut = _origin(request.url), False
        if transfer is None:
            transfer = self._pool.pop() if self._pool else Transfer(self._limits)
            # Only the frontier sees to it that a group has no other fetch, whose connection this might be.
            errand = meta.get("frontier_ticket")
            if errand is not None:
                group = address if self._by_address else errand.ticket.host
                self._open.make_way(group, origin)
                was_shut = self._open.was_shut(origin)
        try:
            transfer.prepare(
                request.url,
                headers,
                address,
                meta.get("download_timeout") or self._timeout,
                meta.get("download_maxsize", self._max_size),
            )
            transfer.sends_in_vain = int(was_shut)
            if request.method != "GET" or request.body:
                transfer.send(request.method, request.body)
            before_send = meta.get("before_send")
            if before_send is not None or transfer.before_send is not None:
                transfer.ask_before_send(None if before_send is None else lambda: before_send(request))
            try:
                future = self._multi.add_handle(transfer.curl)
                self._first_byte.start(transfer, future)
                if before_send is not None:
                    meta["abort"] = partial(_abort, transfer, future)
                await future
            except pycurl.error as error:
                answer_or_raise(request, transfer, error, self._fail_on_data_loss)
            if group is not None and transfer.descriptor >= 0:
                local_port = transfer.curl.getinfo(pycurl.LOCAL_PORT)
                self._open.kept(group, origin, transfer.descriptor, local_port)
            return make_response(request, transfer, address)
        except asyncio.CancelledError:
            # The multi lets go of a cancelled handle only in the loop's next round.
            transfer.reusable = False
            with contextlib.suppress(RuntimeError, pycurl.error):
                self._multi.remove_handle(transfer.curl)
            if self._multi.closed:
                raise DownloadCancelledError(f"{request.url}: the download handler was closed") from None
            raise
        finally:
            self._first_byte.end(transfer)
            meta.pop("abort", None)
            if transfer.reusable and len(self._pool) < self._pool_size:
                transfer.forget()
                self._pool.append(transfer)
            else:
                transfer.close()


def _abort(transfer: Transfer, future: asyncio.Future[pycurl.Curl]) -> None:
    if not future.done():
        transfer.reusable, transfer.stopped = False, "refused"
        future.set_exception(pycurl.error(pycurl.E_ABORTED_BY_CALLBACK, "aborted: it may not go on"))


def _limits(settings: BaseSettings) -> Limits:
    return Limits(
        connect_seconds=settings.getfloat("FETCH_CONNECT_TIMEOUT", 10),
        low_speed_bytes=settings.getint("FETCH_LOW_SPEED_BYTES", 64),
        low_speed_seconds=settings.getint("FETCH_LOW_SPEED_SECONDS", 30),
        header_bytes=settings.getint("HEADERS_MAXSIZE", 64 * 1024),
        header_count=settings.getint("HEADERS_MAXCOUNT", 500),
        idle_seconds=settings.getint("FETCH_IDLE_SECONDS", 15),
        keep_alive=settings.getbool("FETCH_KEEPALIVE", True),
        http2=settings.getbool("FETCH_HTTP2", True),
        verify_certificates=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
        ca_file=settings.get("FETCH_CA_FILE") or "",
    )


def _netloc(url: str) -> str:
    """host[:port] of an absolute URL, by hand: urlsplit costs five times as much."""
    rest = url.partition("://")[2]
    for end in "/?#":
        rest = rest.partition(end)[0]
    return rest.rpartition("@")[2]


def _origin(url: str) -> str:
    """Scheme, host and port: what a connection serves."""
    end = url.find("/", 8)
    return url[:end] if end > 0 else url


def _host(url: str) -> str:
    netloc = _netloc(url)
    if netloc[:1] == "[":
        return netloc[1:].partition("]")[0]
    return netloc.partition(":")[0].lower()
