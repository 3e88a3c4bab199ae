"""One reusable libcurl handle and what it has received.

What never changes between fetches is set once, when the handle is made; what seldom
changes is set only when it differs from the last fetch. Handles that carried more than a
plain GET are not used again: that is cheaper than proving every option was put back.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pycurl
from scrapy.http.headers import Headers

_RECEIVE_BYTES: Final = 128 * 1024
_ABORT: Final = -1
# Pieces below this are put together at once: a body of single bytes would otherwise take fifty
# times its size in objects.
_SMALL_CHUNK: Final = 2048
# libcurl adds these of its own accord unless told not to.
_OWN_HEADERS: Final = tuple(
    (name, name + b":") for name in (b"User-Agent", b"Accept", b"Content-Type", b"Expect")
)
# The message's framing is libcurl's business; the proxy's password is not the origin's.
_NOT_SENT: Final = frozenset((b"Content-Length", b"Transfer-Encoding", b"Proxy-Authorization"))
_BLANKS: Final = (b" ", b"\t")
# libcurl is content with three digits and anything behind them; a fourth digit is too much for us.
_STATUS_LINE: Final = re.compile(rb"(HTTP/[0-9.]+) +([1-9][0-9]{2})(?![0-9])([^\r\n]*)")
# CURLOPT_SUPPRESS_CONNECT_HEADERS, for which pycurl has no name: a proxy's answer is not the origin's.
_SUPPRESS_CONNECT_HEADERS: Final = 265
_PROTOCOLS: Final = {b"HTTP/2": "h2", b"HTTP/3": "h3"}


@dataclass(slots=True, frozen=True)
class Limits:
    """What a server may cost us; times in seconds, sizes in bytes."""

    connect_seconds: float = 10
    low_speed_bytes: int = 64
    low_speed_seconds: int = 30
    header_bytes: int = 64 * 1024
    header_count: int = 500
    idle_seconds: int = 15
    keep_alive: bool = True
    http2: bool = True
    verify_certificates: bool = False
    # The authorities to trust, a PEM file; empty = the system's.
    ca_file: str = ""


class Transfer:
    """A handle for one fetch at a time."""

    __slots__ = (
        "_connect_to", "_header_bytes", "_header_limit", "_headers", "_lines_limit", "_timeout",
        "before_send", "body_limit", "chunks", "curl", "descriptor", "lines", "reusable", "sends",
        "sends_in_vain", "size", "stopped",
    )  # fmt: skip

    def __init__(self, limits: Limits) -> None:
        self.curl = pycurl.Curl()
        self.reusable = True
        self.lines: list[bytes] = []
        self.chunks: list[bytes | bytearray] = []
        self.size = 0
        self.before_send: Callable[[], bool] | None = None
        self.sends = 0
        self.sends_in_vain = 0  # those that a connection shut by ourselves may swallow
        # Why we stopped of ourselves: "length", "headers", "refused" or "repeated"; empty when we did not.
        self.stopped = ""
        self.body_limit = 0
        self._header_bytes = 0
        self._header_limit = limits.header_bytes
        self._lines_limit = limits.header_count
        self._headers: list[bytes] | None = None
        self._connect_to = ""
        self._timeout = 0
        self._set_once(limits)

    def prepare(
        self, url: str, headers: list[bytes], connect_to: str, timeout_seconds: float, body_limit: int
    ) -> None:
        """Make ready for a GET; `connect_to` is the address to connect to whatever the URL's host."""
        self.lines = []
        self.chunks = []
        self.size = 0
        self.sends = self.sends_in_vain = 0
        self.descriptor = -1  # of the connection, if this fetch made it
        self.stopped = ""
        self._header_bytes = 0
        self.body_limit = body_limit
        setopt = self.curl.setopt
        setopt(pycurl.URL, url)
        if headers != self._headers:
            setopt(pycurl.HTTPHEADER, headers)
            self._headers = headers
        if connect_to != self._connect_to:
            # No host and no port: it holds for any spelling libcurl may find in the URL, so
            # the address that was checked is the address that is contacted.
            setopt(pycurl.CONNECT_TO, [f"::[{connect_to}]:" if ":" in connect_to else f"::{connect_to}:"])
            self._connect_to = connect_to
        timeout = max(int(timeout_seconds * 1000), 1)
        if timeout != self._timeout:
            setopt(pycurl.TIMEOUT_MS, timeout)
            self._timeout = timeout

    def send(self, method: str, body: bytes) -> None:
        """Turn the prepared GET into another method, with a body."""
        self.reusable = False
        if method == "HEAD":
            self.curl.setopt(pycurl.NOBODY, 1)
            return
        if body or method in ("POST", "PUT", "PATCH"):
            self.curl.setopt(pycurl.POST, 1)
            self.curl.setopt(pycurl.POSTFIELDS, body)
        self.curl.setopt(pycurl.CUSTOMREQUEST, method)

    def ask_before_send(self, question: Callable[[], bool] | None) -> None:
        """Asked when the connection is up and nothing has been sent: False = close it unused."""
        self.before_send = question

    def by_proxy(self, proxy: str, resolved: str, authorization: bytes | None) -> None:
        """Send through a proxy; `resolved` is its host:port:address, which was checked."""
        self.reusable = False
        self.curl.setopt(pycurl.PROXY, proxy)
        self.curl.setopt(pycurl.RESOLVE, [resolved])
        self.curl.setopt(pycurl.FORBID_REUSE, 1)
        if authorization is not None:
            self.curl.setopt(pycurl.PROXYHEADER, [b"Proxy-Authorization: " + authorization])

    def forget(self) -> None:
        """Drop what was received: an idle handle must not keep the last body alive."""
        self.lines = []
        self.chunks = []

    def close(self) -> None:
        self.reusable = False
        self.curl.close()

    def body(self) -> bytes:
        chunks = self.chunks
        if len(chunks) == 1 and type(chunks[0]) is bytes:
            return chunks[0]
        return b"".join(chunks)

    def status_line(self) -> tuple[int, str, str]:
        """Status, reason phrase and protocol of the final answer; ValueError where there is no such line."""
        found = _STATUS_LINE.match(self.lines[0]) if self.lines else None
        if found is None:
            raise ValueError(f"malformed status line {bytes(self.lines[0][:80]) if self.lines else b''!r}")
        version, status, reason = found.groups()
        protocol = _PROTOCOLS.get(version) or version.decode("latin-1")
        return int(status), reason.decode("latin-1").strip(), protocol

    def response_headers(self) -> Headers:
        """The header fields, names in order of first appearance, repeated ones kept apart."""
        headers = Headers()
        put, fields = dict.__setitem__, dict.get
        last: list[bytes] = []
        for line in self.lines[1:]:
            name, colon, value = line.partition(b":")
            if line[:1] in _BLANKS and last:
                last[-1] += b" " + line.strip()  # an obsolete line folding
                continue
            if not colon:
                continue
            key = _spelled(name)
            earlier = fields(headers, key)
            if earlier is None:
                last = [value.strip()]
                put(headers, key, last)
            else:
                last = earlier
                last.append(value.strip())
        return headers

    def _on_connected(self, *_ends: object) -> int:
        self.sends += 1
        if self.before_send is None:
            return int(pycurl.PREREQFUNC_OK)
        # An exception inside a callback of libcurl's would be printed and lost: it counts as a no.
        allowed = False
        try:
            allowed = bool(self.before_send())
        finally:
            if not allowed:
                self.stopped = "refused"
                self.reusable = False
        return int(pycurl.PREREQFUNC_OK if allowed else pycurl.PREREQFUNC_ABORT)

    def _on_socket(self, descriptor: int, _purpose: int) -> int:
        # When a reused connection turns out to be dead libcurl would send the request again at once, on a
        # new one. The host has seen the first: a second is for the frontier to decide, in the host's time.
        if self.sends > self.sends_in_vain:
            self.stopped = "repeated"
            self.reusable = False
            return int(pycurl.SOCKOPT_ERROR)
        if not self.sends:
            self.sends_in_vain = 0  # it does not begin on an old connection
        self.descriptor = descriptor
        return int(pycurl.SOCKOPT_OK)

    def _on_header(self, line: bytes) -> int | None:
        # Counted over interim answers and trailers too: neither may go on for ever.
        self._header_bytes += len(line)
        if self._header_bytes > self._header_limit or len(self.lines) > self._lines_limit:
            self.stopped = "headers"
            return _ABORT
        if line[:5] == b"HTTP/":
            self.lines.clear()  # what came before was an interim answer (100, 103)
        if not self.chunks:
            self.lines.append(line)  # and not a trailer
        return None

    def _on_body(self, chunk: bytes) -> int | None:
        size = self.size + len(chunk)
        if self.body_limit and size > self.body_limit:
            self.chunks.append(chunk[: self.body_limit - self.size])
            self.size = self.body_limit
            self.stopped = "length"
            return _ABORT
        self.size = size
        if len(chunk) >= _SMALL_CHUNK:
            self.chunks.append(chunk)
        elif self.chunks and type(self.chunks[-1]) is bytearray:
            self.chunks[-1] += chunk
        else:
            self.chunks.append(bytearray(chunk))
        return None

    def _set_once(self, limits: Limits) -> None:
        setopt = self.curl.setopt
        setopt(pycurl.NOSIGNAL, 1)
        setopt(pycurl.PREREQFUNCTION, self._on_connected)
        setopt(pycurl.SOCKOPTFUNCTION, self._on_socket)
        setopt(pycurl.FOLLOWLOCATION, 0)
        setopt(pycurl.HTTP09_ALLOWED, 0)
        setopt(pycurl.PATH_AS_IS, 1)
        setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        # The environment's proxy variables are not for a crawler: Scrapy has its own middleware.
        setopt(pycurl.PROXY, "")
        setopt(_SUPPRESS_CONNECT_HEADERS, 1)
        version = pycurl.CURL_HTTP_VERSION_2TLS if limits.http2 else pycurl.CURL_HTTP_VERSION_1_1
        setopt(pycurl.HTTP_VERSION, version)
        # The first is offered: a post-quantum share costs a tenth of the handshake and hides nothing here.
        setopt(pycurl.SSL_EC_CURVES, "X25519:P-256:P-384:P-521")
        setopt(pycurl.BUFFERSIZE, _RECEIVE_BYTES)
        setopt(pycurl.CONNECTTIMEOUT_MS, max(int(limits.connect_seconds * 1000), 1))
        setopt(pycurl.LOW_SPEED_LIMIT, limits.low_speed_bytes)
        setopt(pycurl.LOW_SPEED_TIME, limits.low_speed_seconds)
        setopt(pycurl.MAXAGE_CONN, limits.idle_seconds)
        setopt(pycurl.SSL_VERIFYPEER, int(limits.verify_certificates))
        setopt(pycurl.SSL_VERIFYHOST, 2 if limits.verify_certificates else 0)
        if limits.verify_certificates:
            self._trust(limits.ca_file)
        else:
            # Who asks for no proof has no use for strong ciphers: servers of long ago are read too.
            setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_0)
            setopt(pycurl.SSL_CIPHER_LIST, "DEFAULT@SECLEVEL=0")
        if not limits.keep_alive:
            setopt(pycurl.FORBID_REUSE, 1)
        setopt(pycurl.HEADERFUNCTION, self._on_header)
        setopt(pycurl.WRITEFUNCTION, self._on_body)

    def _trust(self, ca_file: str) -> None:
        # libcurl's wheel knows no system: it is told where this one keeps its authorities.
        system = ssl.get_default_verify_paths()
        if ca_file or system.cafile:
            self.curl.setopt(pycurl.CAINFO, ca_file or system.cafile)
        elif system.capath:
            self.curl.setopt(pycurl.CAPATH, system.capath)


@lru_cache(maxsize=4096)
def _spelled(name: bytes) -> bytes:
    """A header's name as Scrapy spells it."""
    return name.strip().title()


def request_headers(headers: Headers) -> list[bytes]:
    """A request's header fields as libcurl takes them; raises ValueError for one that holds a line end."""
    fields: dict[bytes, list[bytes]] = headers
    lines = [
        _line(name, value) for name, values in dict.items(fields) if name not in _NOT_SENT for value in values
    ]
    for name, nothing in _OWN_HEADERS:
        if not dict.__contains__(fields, name):
            lines.append(nothing)
    return lines


@lru_cache(maxsize=4096)
def _line(name: bytes, value: bytes) -> bytes:
    # Nearly all requests carry the same few fields: they are put together and looked at once.
    line = name + b": " + value if value else name + b";"
    if b"\n" in line or b"\r" in line or b"\0" in line:
        raise ValueError(f"request header {name!r} holds a line end: remove it")
    return line
