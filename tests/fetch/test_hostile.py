"""Servers that mean ill, or behave as if they did. docs/robustness.md is the table of these tests."""

import asyncio
import gzip
import itertools
import random
import socket
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import brotli
import pytest
from backports import zstd
from scrapy import Request
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlerproj.fetch import addresses, checked_addresses
from crawlerproj.fetch.curl_handler import AddressRefusedError, CurlDownloadHandler
from crawlerproj.fetch.curl_response import CertificateError

from .servers import Conversation, answering, dns_server, downloading, fails, on_loop, page, raw_server
from .tls import certificate, http2, server_context

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
FAILURES = (
    DownloadFailedError,
    DownloadTimeoutError,
    DownloadConnectionRefusedError,
    ResponseDataLossError,
    CannotResolveHostError,
)


def repeating(start: bytes, again: bytes, sent: list[int] | None = None) -> Conversation:
    """Answer with `start`, then with `again` until nobody listens; `sent` counts the bytes."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(start)
        while True:
            writer.write(again)
            await writer.drain()
            if sent is not None:
                sent[0] += len(again)

    return converse


def dripping(start: bytes, drop: bytes) -> Conversation:
    """Answer with `start`, then with a drop now and then."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(start)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.05)

    return converse


async def get(handler: CurlDownloadHandler, port: int, path: str = "/", **meta: Any) -> Response:
    return await handler.download_request(Request(f"http://127.0.0.1:{port}{path}", meta=meta))


def request_to(port: int, path: str = "/", **meta: Any) -> Request:
    return Request(f"http://127.0.0.1:{port}{path}", meta=meta)


@pytest.fixture
def peak() -> Iterator[Any]:
    """The most Python memory taken since the test began, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


# --- too much -----------------------------------------------------------------------------------


@on_loop
async def test_endless_body(peak: Any) -> None:
    sent = [0]
    endless = repeating(HEAD + b"\r\n", b"x" * 65_536, sent)
    async with downloading(DOWNLOAD_MAXSIZE=1_000_000) as handler, raw_server(endless) as port:
        request = request_to(port)
        response = await handler.download_request(request)
        assert (len(response.body), response.flags) == (1_000_000, ["truncated"])
        assert request.meta["download_truncated"] == "length"
        assert sent[0] < 30_000_000
        assert peak() < 12_000_000


@on_loop
async def test_endless_body_in_tiny_pieces(peak: Any) -> None:
    tiny = repeating(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000)
    async with downloading(DOWNLOAD_MAXSIZE=200_000) as handler, raw_server(tiny) as port:
        response = await get(handler, port)
        assert (response.body, response.flags) == (b"x" * 200_000, ["truncated"])
        assert peak() < 4_000_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
@on_loop
async def test_compression_bomb(encoding: str, peak: Any) -> None:
    zeros = b"\0" * 20_000_000
    packers = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}
    bomb = zeros
    for name in encoding.split(", "):
        bomb = packers[name](bomb) if name != "br" else brotli.compress(bomb, quality=1)
    del zeros
    answer = page(bomb, "200 OK", "Content-Type: text/html", f"Content-Encoding: {encoding}")
    crawler = get_crawler(settings_dict={"DOWNLOAD_MAXSIZE": 1_000_000})
    async with downloading(DOWNLOAD_MAXSIZE=1_000_000) as handler, raw_server(answering(answer)) as port:
        request = request_to(port)
        response = await handler.download_request(request)
        assert response.body == bomb
        tracemalloc.reset_peak()
        with pytest.raises(IgnoreRequest, match="DOWNLOAD_MAXSIZE"):
            HttpCompressionMiddleware.from_crawler(crawler).process_response(request, response)
        assert peak() < 12_000_000


@pytest.mark.parametrize(
    "again",
    [b"X: y\r\n" * 500, b"Set-Cookie: " + b"c" * 3000 + b"\r\n", b" folded\r\n" * 500, b"x" * 5000],
    ids=["many", "long", "folded", "one line"],
)
@on_loop
async def test_endless_headers(again: bytes, peak: Any) -> None:
    async with downloading() as handler, raw_server(repeating(HEAD + b"X: y\r\n", again)) as port:
        await fails(handler, request_to(port), DownloadFailedError)
        assert peak() < 4_000_000


@on_loop
async def test_ten_thousand_headers() -> None:
    many = HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(10_000)) + b"Content-Length: 2\r\n\r\nok"
    async with downloading() as handler, raw_server(answering(many)) as port:
        error = await fails(handler, request_to(port), DownloadFailedError)
        assert "HEADERS_MAXCOUNT" in str(error)


@on_loop
async def test_ten_thousand_headers_over_http2() -> None:
    context = server_context(certificate("127.0.0.1"), "h2")
    many = [(f"x-{n}", "y") for n in range(10_000)]
    async with downloading() as handler, raw_server(http2(b"two", *many), context) as port:
        await fails(handler, Request(f"https://127.0.0.1:{port}/"), DownloadFailedError)


@on_loop
async def test_endless_interim_answers() -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    async with downloading() as handler, raw_server(repeating(b"", hints * 100)) as port:
        await fails(handler, request_to(port), DownloadFailedError)


@on_loop
async def test_endless_trailers() -> None:
    start = HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
    async with downloading() as handler, raw_server(repeating(start, b"X: y\r\n" * 500)) as port:
        await fails(handler, request_to(port), DownloadFailedError)


# --- too slow -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 O", HEAD, HEAD + b"\r\n"], ids=["status", "headers", "body"]
)
@on_loop
async def test_slowloris(start: bytes) -> None:
    slow = {"FETCH_LOW_SPEED_SECONDS": 1, "FETCH_LOW_SPEED_BYTES": 1000}
    async with downloading(**slow) as handler, raw_server(dripping(start, b"K")) as port:
        await fails(handler, request_to(port), DownloadTimeoutError)


@on_loop
async def test_a_drip_fast_enough_still_ends_at_the_total_limit() -> None:
    async with downloading() as handler, raw_server(dripping(HEAD + b"\r\n", b"x" * 1000)) as port:
        await fails(handler, request_to(port, download_timeout=0.3), DownloadTimeoutError)


@on_loop
async def test_a_server_that_never_accepts() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        async with downloading(FETCH_CONNECT_TIMEOUT=0.2) as handler:
            await fails(handler, request_to(full.getsockname()[1]), DownloadTimeoutError)


@on_loop
async def test_a_handshake_that_never_comes() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        await reader.read()

    async with downloading(FETCH_CONNECT_TIMEOUT=0.2) as handler, raw_server(silent) as port:
        await fails(handler, Request(f"https://127.0.0.1:{port}/"), DownloadTimeoutError)


# --- not what it says ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [b"HTTP/1.1 abc", b"HTTP/1.1", b"HTTP/1.1 99999 x", b"HTTP/1.1 -1 x", b"HTTP/9.9 200 OK", b"ICY 200 OK",
     b"HTTP/1.1 200\0 OK", b"\xff\xfe", b"<html>an old server", b"SSH-2.0-OpenSSH_9.6"],
)  # fmt: skip
@on_loop
async def test_malformed_status_line(line: bytes) -> None:
    answer = line + b"\r\nContent-Length: 2\r\n\r\nok"
    async with downloading() as handler, raw_server(answering(answer)) as port:
        await fails(handler, request_to(port), DownloadFailedError)


@on_loop
async def test_no_mutilated_answer_breaks_the_handler() -> None:
    rng = random.Random(4)
    whole = HEAD + b"Transfer-Encoding: chunked\r\nX: y\r\n\r\n3\r\nabc\r\n2;q=1\r\nde\r\n0\r\nT: u\r\n\r\n"

    def mutilated() -> bytes:
        made = bytearray(whole)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(made))
            made[at : at + rng.randint(0, 3)] = bytes(
                rng.choices(b"\0\r\n :;0129aHT\xff", k=rng.randint(0, 3))
            )
        return bytes(made)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(mutilated())

    ends = {"answer": 0, "failure": 0}
    async with downloading() as handler, raw_server(converse) as port:
        for _ in range(400):
            try:
                response = await get(handler, port)
                assert 100 <= response.status <= 999
                ends["answer"] += 1
            except FAILURES:
                ends["failure"] += 1
    assert min(ends.values()) > 20


@pytest.mark.parametrize(
    "fields",
    [b"Content-Length: -1", b"Content-Length: 2\r\nContent-Length: 3", b"Content-Length: two",
     b"Transfer-Encoding: chunked\r\n\r\nzz"],
)  # fmt: skip
@on_loop
async def test_nonsense_about_the_length(fields: bytes) -> None:
    async with downloading() as handler, raw_server(answering(HEAD + fields + b"\r\n\r\nok")) as port:
        with pytest.raises((DownloadFailedError, ResponseDataLossError)):
            await get(handler, port)


@pytest.mark.parametrize(
    "answer",
    [HEAD + b"Content-Length: 99999999999\r\nConnection: close\r\n\r\nhalf",
     HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    ids=["length", "chunks"],
)  # fmt: skip
@on_loop
async def test_length_too_long(answer: bytes) -> None:
    async with raw_server(answering(answer)) as port:
        async with downloading() as handler:
            await fails(handler, request_to(port), ResponseDataLossError)
        async with downloading(DOWNLOAD_FAIL_ON_DATALOSS=False) as handler:
            response = await get(handler, port)
            assert (response.body, response.flags) == (b"half", ["dataloss"])


@on_loop
async def test_length_too_short_cannot_smuggle_the_next_answer() -> None:
    smuggled = page(b"smuggled")
    answers = iter([HEAD + b"Content-Length: 2\r\n\r\nok" + smuggled])

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(next(answers, page(b"true")))

    async with downloading() as handler, raw_server(converse) as port:
        assert (await get(handler, port)).body == b"ok"
        assert (await get(handler, port)).body == b"true"


@on_loop
async def test_reset_in_the_middle() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"Content-Length: 100\r\n\r\nhalf")
        await writer.drain()
        await reader.readuntil(b"never")

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"Content-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.transport.abort()

    async with downloading() as handler:
        async with raw_server(cut) as port:
            with pytest.raises((ResponseDataLossError, DownloadFailedError)):
                await get(handler, port)
        async with raw_server(reset) as port:
            await fails(handler, request_to(port, download_timeout=0.2), DownloadTimeoutError)


@on_loop
async def test_nul_bytes() -> None:
    async with downloading() as handler:
        body = b"a\0b" * 10
        async with raw_server(answering(page(body))) as port:
            assert (await get(handler, port)).body == body
        for fields in (b"X: a\0b", b"X\0: a", b"\0"):
            answer = HEAD + fields + b"\r\nContent-Length: 2\r\n\r\nok"
            async with raw_server(answering(answer)) as port:
                await fails(handler, request_to(port), DownloadFailedError)


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate"])
@on_loop
async def test_a_body_that_is_not_compressed_as_it_says(encoding: str) -> None:
    """Scrapy's middleware makes the best of it or fails the request; nothing else happens."""
    answer = page(b"\x1f\x8b not so", "200 OK", "Content-Type: text/html", f"Content-Encoding: {encoding}")
    crawler = get_crawler()
    async with downloading() as handler, raw_server(answering(answer)) as port:
        request = request_to(port)
        response = await handler.download_request(request)
        middleware = HttpCompressionMiddleware.from_crawler(crawler)
        try:
            decoded = middleware.process_response(request, response)
            assert isinstance(decoded, Response) and len(decoded.body) < 100
        except (OSError, EOFError, brotli.error, zstd.ZstdError, zlib.error):
            pass


@on_loop
async def test_a_redirect_loop_is_one_fetch_at_a_time() -> None:
    seen: list[bytes] = []
    answer = page(b"", "302 Found", "Location: /")
    async with downloading() as handler, raw_server(answering(answer, seen)) as port:
        response = await get(handler, port)
        assert (response.status, len(seen)) == (302, 1)


# --- not who it says ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "days", "trusted"),
    [("127.0.0.1", -2, True), ("other.test", 2, True), ("127.0.0.1", 2, False)],
    ids=["expired", "of another", "self-made"],
)
@on_loop
async def test_certificate_errors(name: str, days: int, trusted: bool) -> None:
    pem = certificate(name, days)
    ca = str(pem if trusted else certificate("unrelated.test"))
    async with raw_server(answering(page()), server_context(pem)) as port:
        request = Request(f"https://127.0.0.1:{port}/")
        async with downloading(DOWNLOAD_VERIFY_CERTIFICATES=True, FETCH_CA_FILE=ca) as handler:
            await fails(handler, request, CertificateError)
        async with downloading() as handler:
            assert (await handler.download_request(request)).status == 200


@on_loop
async def test_plain_text_where_tls_was_expected_and_the_reverse() -> None:
    async def blunt(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(page(b"", "400 Bad Request"))

    async with downloading() as handler:
        async with raw_server(blunt) as port:
            await fails(handler, Request(f"https://127.0.0.1:{port}/"), DownloadFailedError)
        async with raw_server(answering(page()), server_context(certificate("127.0.0.1"))) as port:
            await fails(handler, request_to(port), DownloadFailedError)


# --- where we must not go -----------------------------------------------------------------------


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> str:
    """127.0.0.2 plays the public web; all other loopback addresses stay what they are."""
    address = "127.0.0.2"
    others = addresses.refused
    monkeypatch.setattr(checked_addresses, "refused", lambda a: None if a == address else others(a))
    return address


STRICT = {"FETCH_PRIVATE_ADDRESSES": False}
LITERALS = [
    "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1]", "10.0.0.1", "172.16.0.1",
    "192.168.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1", "255.255.255.255", "[fd00::1]",
    "[::]", "a@127.0.0.1", "a:b@[::1]",
]  # fmt: skip
ODD = ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "0x7f.1"]


@pytest.mark.parametrize("host", LITERALS)
@on_loop
async def test_ssrf_by_literal(host: str) -> None:
    seen: list[bytes] = []
    async with downloading(**STRICT) as handler, raw_server(answering(page(), seen)) as port:
        request = Request(f"http://{host}:{port}/")
        await fails(handler, request, AddressRefusedError)
        assert request.meta["dont_retry"] and not seen


@pytest.mark.parametrize("host", ODD)
@on_loop
async def test_ssrf_by_odd_literal(host: str) -> None:
    """For our resolver these are names, and no such name exists."""
    seen: list[bytes] = []
    async with (
        dns_server({}) as (_, dns),
        downloading(DNS_SERVERS=[dns], **STRICT) as handler,
        raw_server(answering(page(), seen)) as port,
    ):
        with pytest.raises((CannotResolveHostError, DownloadFailedError)):
            await handler.download_request(Request(f"http://{host}:{port}/"))
        assert not seen


@pytest.mark.parametrize("answers", [["127.0.0.1"], ["::1"], ["10.0.0.1", "127.0.0.1"], ["::ffff:127.0.0.1"]])
@on_loop
async def test_ssrf_by_name(answers: list[str]) -> None:
    seen: list[bytes] = []
    async with (
        dns_server({"inside.test": answers}) as (_, dns),
        downloading(DNS_SERVERS=[dns], **STRICT) as handler,
        raw_server(answering(page(), seen)) as port,
    ):
        await fails(handler, Request(f"http://inside.test:{port}/"), AddressRefusedError)
        await fails(handler, Request(f"http://localhost:{port}/"), AddressRefusedError)
        assert not seen


@on_loop
async def test_ssrf_by_a_name_with_one_good_address(public: str) -> None:
    seen: list[bytes] = []
    async with (
        dns_server({"both.test": ["127.0.0.1", public]}) as (_, dns),
        downloading(DNS_SERVERS=[dns], **STRICT) as handler,
        raw_server(answering(page(), seen), address="127.0.0.1") as port,
    ):
        await fails(handler, Request(f"http://both.test:{port}/"), DownloadConnectionRefusedError)
        assert not seen


@on_loop
async def test_ssrf_by_redirect(public: str) -> None:
    secret: list[bytes] = []
    async with downloading(**STRICT) as handler, raw_server(answering(page(), secret)) as inside:
        moved = page(b"", "302 Found", f"Location: http://127.0.0.1:{inside}/secret")
        async with raw_server(answering(moved), address=public) as port:
            response = await handler.download_request(Request(f"http://{public}:{port}/"))
            target = response.headers["Location"].decode()
            await fails(handler, Request(target), AddressRefusedError)
            assert not secret


@on_loop
async def test_ssrf_by_rebinding(public: str) -> None:
    """The name points inside from the second answer on; the address that was checked is the one used."""
    inside: list[bytes] = []
    outside: list[bytes] = []
    async with (
        dns_server({"turning.test": [public]}, ttl=0) as (server, dns),
        downloading(
            DNS_SERVERS=[dns], DNS_MIN_TTL=0, DNS_STALE_SECONDS=0, FETCH_KEEPALIVE=False, **STRICT
        ) as handler,
        raw_server(answering(page(b"outside"), outside), address=public) as port,
    ):
        probe = await asyncio.start_server(lambda r, w: inside.append(b"contact"), "127.0.0.1", port)
        request = Request(f"http://turning.test:{port}/")
        addresses_of = handler._addresses.of

        async def then_turn(*args: Any) -> list[str]:
            checked = await addresses_of(*args)
            server.table["turning.test"] = ["127.0.0.1"]
            return checked

        handler._addresses.of = then_turn  # type: ignore[method-assign]
        assert (await handler.download_request(request)).body == b"outside"
        for _ in range(3):
            with pytest.raises((AddressRefusedError, CannotResolveHostError)):
                await handler.download_request(request)
        assert (len(outside), inside) == (1, [])
        probe.close()


@pytest.mark.parametrize(
    "form", ["http://{0}\\@127.0.0.1:{1}/", "http://{0}:{1}#@127.0.0.1/", "http://{0}:{1}?@127.0.0.1:1/"]
)
@on_loop
async def test_ssrf_by_a_url_two_parsers_read_differently(form: str, public: str) -> None:
    inside: list[bytes] = []
    async with (
        dns_server({"a.test": [public]}) as (_, dns),
        downloading(DNS_SERVERS=[dns], **STRICT) as handler,
        raw_server(answering(page(), inside), address="127.0.0.1") as port,
    ):
        with pytest.raises(FAILURES):
            await handler.download_request(Request(form.format("a.test", port)))
        assert not inside


@on_loop
async def test_ssrf_by_proxy(public: str) -> None:
    seen: list[bytes] = []
    async with downloading(**STRICT) as handler:
        async with raw_server(answering(page(), seen), address="127.0.0.1") as port:
            for proxy in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", f"127.0.0.1:{port}"):
                await fails(handler, Request("http://far.test/", meta={"proxy": proxy}), AddressRefusedError)
        async with raw_server(answering(page(), seen), address=public) as port:
            meta = {"proxy": f"http://{public}:{port}"}
            for scheme, host in itertools.product(
                ("http", "https"), [*LITERALS, *ODD, "localhost", "x.localhost"]
            ):
                await fails(handler, Request(f"{scheme}://{host}/", meta=dict(meta)), AddressRefusedError)
            assert not seen
            assert (
                await handler.download_request(Request("http://far.test/", meta=dict(meta)))
            ).status == 200


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:1/_x", "dict://127.0.0.1:1/"]
)
@on_loop
async def test_other_schemes_are_not_fetched(url: str) -> None:
    async with downloading() as handler:
        with pytest.raises(Exception) as caught:
            await handler.download_request(Request(url))
        assert type(caught.value).__module__ == "scrapy.exceptions"


@on_loop
async def test_a_request_header_cannot_carry_another() -> None:
    seen: list[bytes] = []
    async with downloading() as handler, raw_server(answering(page(), seen)) as port:
        for value in (b"a\r\nX: b", b"a\nX: b", b"a\0"):
            request = Request(f"http://127.0.0.1:{port}/", headers={"Referer": value})
            await fails(handler, request, DownloadFailedError)
        assert not seen
