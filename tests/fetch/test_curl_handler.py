import asyncio
import contextlib
import gzip
import socket
import struct
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from scrapy.http import HtmlResponse, JsonResponse, Response
from scrapy.utils.test import get_crawler

from crawlerproj.fetch.curl_handler import AddressRefusedError, CurlDownloadHandler
from crawlerproj.fetch.curl_response import ConnectionEndedError, SendRefusedError

from .servers import answering, dns_server, downloading, fails, on_loop, page, raw_server, unused_port


def url(port: int, path: str = "/") -> str:
    return f"http://127.0.0.1:{port}{path}"


@on_loop
async def test_a_page_arrives_with_all_that_is_known_of_it() -> None:
    answer = page(
        b"<p>hello", "200 Fine Enough", "Content-Type: text/html; charset=utf-8", "X-One: a", "x-one: b"
    )
    async with downloading() as handler, raw_server(answering(answer)) as port:
        request = Request(url(port, "/a/../b?q=1#part"))
        response = await handler.download_request(request)
        assert type(response) is HtmlResponse
        assert (response.status, response.body, response.url) == (200, b"<p>hello", request.url)
        assert list(response.headers.keys()) == [b"Content-Length", b"Content-Type", b"X-One"]
        assert response.headers.getlist("X-One") == [b"a", b"b"]
        assert (str(response.ip_address), response.protocol) == ("127.0.0.1", "HTTP/1.1")
        assert response.flags == []
        assert request.meta["reason_phrase"] == "Fine Enough"
        assert 0 < request.meta["download_latency"] <= request.meta["fetch_seconds"] < 60


@on_loop
async def test_the_request_is_sent_as_it_is_and_nothing_is_added() -> None:
    seen: list[bytes] = []
    async with downloading() as handler, raw_server(answering(page(), seen)) as port:
        headers = {"User-Agent": "ourbot/1.0", "Accept-Encoding": "gzip", "X-Empty": ""}
        await handler.download_request(Request(url(port, "/a/../b?q=1#part"), headers=headers))
        await handler.download_request(Request(url(port)))
        assert seen[0].split(b"\r\n")[:-2] == [
            b"GET /a/../b?q=1 HTTP/1.1", f"Host: 127.0.0.1:{port}".encode(),
            b"User-Agent: ourbot/1.0", b"Accept-Encoding: gzip", b"X-Empty:",
        ]  # fmt: skip
        assert seen[1].split(b"\r\n")[:-2] == [b"GET / HTTP/1.1", f"Host: 127.0.0.1:{port}".encode()]


@on_loop
async def test_a_body_is_sent_and_the_next_get_knows_nothing_of_it() -> None:
    got: list[bytes] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            got.append(head + (await reader.readexactly(5) if b"Content-Length: 5" in head else b""))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with downloading() as handler, raw_server(converse) as port:
        await handler.download_request(Request(url(port), method="POST", body=b"a=b&c"))
        await handler.download_request(Request(url(port), method="HEAD"))
        response = await handler.download_request(Request(url(port)))
        assert response.status == 204
        assert got[0].startswith(b"POST / ") and got[0].endswith(b"\r\n\r\na=b&c")
        assert b"Content-Type" not in got[0] and b"Expect" not in got[0]
        assert got[1].startswith(b"HEAD / ")
        assert got[2].startswith(b"GET / ") and b"Content-Length" not in got[2]


@pytest.mark.parametrize("status", ["404 Not Found", "503 Busy", "301 Moved"])
@on_loop
async def test_other_statuses_are_answers_and_redirects_are_not_followed(status: str) -> None:
    answer = page(b"no", status, "Location: /elsewhere")
    async with downloading() as handler, raw_server(answering(answer)) as port:
        response = await handler.download_request(Request(url(port)))
        assert response.status == int(status[:3])
        assert response.body == b"no"


@on_loop
async def test_the_class_follows_the_type_and_encoded_bytes_stay_as_sent() -> None:
    packed = gzip.compress(b"<html>")
    answers = {
        JsonResponse: page(b"{}", "200 OK", "Content-Type: application/json"),
        Response: page(packed, "200 OK", "Content-Type: text/html", "Content-Encoding: gzip"),
    }
    for kind, answer in answers.items():
        async with downloading() as handler, raw_server(answering(answer)) as port:
            response = await handler.download_request(Request(url(port)))
            assert type(response) is kind
            assert response.body == answer.partition(b"\r\n\r\n")[2]


@on_loop
async def test_a_body_beyond_the_limit_is_cut_and_marked() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"x" * 5000)
            await writer.drain()

    async with downloading(DOWNLOAD_MAXSIZE=12_345) as handler, raw_server(endless) as port:
        request = Request(url(port))
        response = await handler.download_request(request)
        assert response.body == b"x" * 12_345
        assert response.flags == ["truncated"]
        assert request.meta["download_truncated"] == "length"
        other = Request(url(port), meta={"download_maxsize": 10})
        assert len((await handler.download_request(other)).body) == 10


@pytest.mark.parametrize("line", [b"X-Bomb: " + b"x" * 4000 + b"\r\n", b"X: y\r\n" * 500])
@on_loop
async def test_endless_headers_are_given_up(line: bytes) -> None:
    async def bomb(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(line)
            await writer.drain()

    async with downloading() as handler, raw_server(bomb) as port:
        error = await fails(handler, Request(url(port)), DownloadFailedError)
        assert "HEADERS_MAXSIZE" in str(error)


@on_loop
async def test_a_reset_connection_is_a_failure() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with downloading() as handler, raw_server(reset) as port:
        request = Request(url(port))
        await fails(handler, request, DownloadFailedError)
        assert request.meta["fetch_seconds"] > 0


@on_loop
async def test_a_body_cut_short_is_data_loss_or_marked_as_such() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf"
    async with raw_server(answering(answer)) as port:
        async with downloading() as handler:
            await fails(handler, Request(url(port)), ResponseDataLossError)
        async with downloading(DOWNLOAD_FAIL_ON_DATALOSS=False) as handler:
            request = Request(url(port))
            response = await handler.download_request(request)
            assert (response.body, response.flags) == (b"half", ["dataloss"])
            assert request.meta["download_truncated"] == "disconnect"


@on_loop
async def test_a_closed_port_refuses() -> None:
    async with downloading() as handler:
        await fails(handler, Request(url(unused_port())), DownloadConnectionRefusedError)


@on_loop
async def test_a_silent_server_times_out() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with downloading() as handler, raw_server(silent) as port:
        await fails(handler, Request(url(port), meta={"download_timeout": 0.1}), DownloadTimeoutError)


@pytest.mark.parametrize("answer", [b"hello\r\n\r\n", b"HTTP/9.9 abc\r\n\r\n", b"\x00\xff" * 50, b""])
@on_loop
async def test_what_is_not_http_is_a_failure(answer: bytes) -> None:
    async with downloading() as handler, raw_server(answering(answer)) as port:
        await fails(handler, Request(url(port)), DownloadFailedError)


@on_loop
async def test_interim_answers_foldings_and_trailers_do_not_mix_with_the_answer() -> None:
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Folded: a\r\n b\r\nTrailer: X-Late\r\n\r\n"
        b"2\r\nok\r\n0\r\nX-Late: yes\r\n\r\n"
    )
    async with downloading() as handler, raw_server(answering(answer)) as port:
        response = await handler.download_request(Request(url(port)))
        assert (response.status, response.body) == (200, b"ok")
        assert b"Link" not in response.headers and b"X-Late" not in response.headers
        assert response.headers["X-Folded"] == b"a b"


@on_loop
async def test_a_request_header_cannot_carry_another() -> None:
    async with downloading() as handler:
        request = Request(url(unused_port()), headers={"X": b"a\r\nY: b"})
        await fails(handler, request, DownloadFailedError)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "inside.test", "a@127.0.0.1"]
)
@on_loop
async def test_addresses_that_are_not_public_are_not_contacted(host: str) -> None:
    contacts: list[bytes] = []
    async with (
        dns_server({"inside.test": ["127.0.0.1"]}) as (_, dns),
        downloading(FETCH_PRIVATE_ADDRESSES=False, DNS_SERVERS=[dns]) as handler,
        raw_server(answering(page(), contacts)) as port,
    ):
        request = Request(f"http://{host}:{port}/")
        await fails(handler, request, AddressRefusedError)
        assert request.meta["dont_retry"]
        assert contacts == []


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.1%2e"])
@on_loop
async def test_a_spelling_only_libcurl_would_read_as_an_address_is_a_name(host: str) -> None:
    async with (
        dns_server({}) as (_, dns),
        downloading(FETCH_PRIVATE_ADDRESSES=False, DNS_SERVERS=[dns]) as handler,
    ):
        with pytest.raises((CannotResolveHostError, DownloadFailedError)):
            await handler.download_request(Request(f"http://{host}:{unused_port()}/"))


@on_loop
async def test_names_are_resolved_once_by_our_own_resolver() -> None:
    seen: list[bytes] = []
    async with (
        dns_server({"site.test": ["127.0.0.1"]}) as (server, dns),
        downloading(DNS_SERVERS=[dns]) as handler,
        raw_server(answering(page(), seen)) as port,
    ):
        for _ in range(3):
            response = await handler.download_request(Request(f"http://site.test:{port}/"))
            assert str(response.ip_address) == "127.0.0.1"
        assert server.asked == [("site.test", 1)]
        assert f"Host: site.test:{port}".encode() in seen[0]
        for _ in range(2):
            await fails(handler, Request(f"http://missing.test:{port}/"), CannotResolveHostError)
        assert len(server.asked) == 2


@on_loop
async def test_the_next_address_is_tried_when_one_refuses() -> None:
    async with (
        dns_server({"two.test": ["127.0.0.2", "127.0.0.1"]}) as (_, dns),
        downloading(DNS_SERVERS=[dns]) as handler,
        raw_server(answering(page())) as port,
    ):
        response = await handler.download_request(Request(f"http://two.test:{port}/"))
        assert str(response.ip_address) == "127.0.0.1"


@pytest.mark.parametrize(("keep_alive", "connections"), [(True, 1), (False, 3)])
@on_loop
async def test_connections_are_kept_only_if_wanted(keep_alive: bool, connections: int) -> None:
    opened: list[int] = []
    talk = answering(page())

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        await talk(reader, writer)

    async with downloading(FETCH_KEEPALIVE=keep_alive) as handler, raw_server(converse) as port:
        for _ in range(3):
            await handler.download_request(Request(url(port)))
        assert len(opened) == connections


@on_loop
async def test_a_fetch_given_up_closes_its_connection_and_spoils_no_other() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/slow" in head:
            started.set()
            with contextlib.suppress(ConnectionError):
                await reader.read()
            ended.set()
        else:
            writer.write(page())

    async with downloading() as handler, raw_server(converse) as port:
        slow = asyncio.ensure_future(handler.download_request(Request(url(port, "/slow"))))
        await started.wait()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await ended.wait()
        assert (await handler.download_request(Request(url(port)))).status == 200


@on_loop
async def test_closing_ends_what_is_under_way() -> None:
    started = asyncio.Event()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        started.set()
        await reader.read()

    async with downloading() as handler, raw_server(converse) as port:
        under_way = asyncio.ensure_future(handler.download_request(Request(url(port))))
        await started.wait()
        await handler.close()
        with pytest.raises(DownloadCancelledError):
            await under_way


@on_loop
async def test_a_proxy_is_used_checked_and_alone_gets_its_password() -> None:
    seen: list[bytes] = []
    async with raw_server(answering(page(b"via"), seen)) as port:
        meta = {"proxy": f"http://localhost:{port}"}
        headers = {"Proxy-Authorization": "Basic eA=="}
        async with downloading() as handler:
            request = Request("http://far.test/x", meta=dict(meta), headers=headers)
            assert (await handler.download_request(request)).body == b"via"
            assert seen[0].startswith(b"GET http://far.test/x HTTP/1.1\r\n")
            assert b"Proxy-Authorization: Basic eA==" in seen[0]
        async with downloading(FETCH_PRIVATE_ADDRESSES=False) as handler:
            await fails(handler, Request("http://far.test/x", meta=dict(meta)), AddressRefusedError)
        assert len(seen) == 1


@on_loop
async def test_both_schemes_share_one_resolver_and_idle_handles_are_bounded() -> None:
    crawler = get_crawler(settings_dict={"FETCH_PRIVATE_ADDRESSES": True, "FETCH_MAX_IDLE_HANDLES": 2})
    first, second = CurlDownloadHandler.from_crawler(crawler), CurlDownloadHandler.from_crawler(crawler)
    assert first.resolver is second.resolver
    async with raw_server(answering(page())) as port:
        await asyncio.gather(*(first.download_request(Request(url(port))) for _ in range(6)))
        assert len(first._pool) == 2
    await first.close()
    await second.close()


@on_loop
async def test_the_first_byte_has_a_limit_of_its_own() -> None:
    begun = asyncio.Event()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/begun" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            await begun.wait()
            writer.write(b"ok")
        else:
            await reader.read()

    async with downloading(FETCH_FIRST_BYTE_TIMEOUT=0.1) as handler, raw_server(converse) as port:
        slow = asyncio.ensure_future(handler.download_request(Request(url(port, "/begun"))))
        for _ in range(2):
            error = await fails(handler, Request(url(port, "/silent")), DownloadTimeoutError)
            assert "FETCH_FIRST_BYTE_TIMEOUT" in str(error)
        # Older than the limit, but it has begun.
        begun.set()
        assert (await slow).body == b"ok"


@on_loop
async def test_the_last_word_before_sending_is_the_callers() -> None:
    seen: list[bytes] = []
    asked: list[str] = []

    def before_send(request: Request) -> bool:
        asked.append(request.url)
        return "/yes" in request.url

    async with downloading() as handler, raw_server(answering(page(), seen)) as port:
        meta = {"before_send": before_send}
        assert (await handler.download_request(Request(url(port, "/yes"), meta=dict(meta)))).status == 200
        await fails(handler, Request(url(port, "/no"), meta=dict(meta)), SendRefusedError)
        assert (await handler.download_request(Request(url(port, "/unasked")))).status == 200
        assert [head.split()[1] for head in seen] == [b"/yes", b"/unasked"]
        assert asked == [url(port, "/yes"), url(port, "/no")]


@on_loop
async def test_idle_connections_are_bounded() -> None:
    open_now = 0
    most = 0
    talk = answering(page())

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        try:
            await talk(reader, writer)
        finally:
            open_now -= 1

    names = {f"h{n}.test": ["127.0.0.1"] for n in range(12)}
    async with (
        dns_server(names) as (_, dns),
        downloading(DNS_SERVERS=[dns], FETCH_MAX_IDLE_CONNECTIONS=3) as handler,
        raw_server(converse) as port,
    ):
        for name in names:
            await handler.download_request(Request(f"http://{name}:{port}/"))
        assert most <= 5


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "socks4://127.0.0.1:1", "ftp://127.0.0.1:1"])
@on_loop
async def test_a_proxy_that_would_leave_names_to_libcurl_is_refused(proxy: str) -> None:
    async with downloading() as handler:
        error = await fails(handler, Request("http://far.test/", meta={"proxy": proxy}), DownloadFailedError)
        assert "socks5h" in str(error)


@on_loop
async def test_a_fetch_waits_for_its_name_no_longer_than_for_its_page() -> None:
    async with (
        dns_server({"slow.test": ["127.0.0.1"]}) as (server, dns),
        downloading(DNS_SERVERS=[dns]) as handler,
        raw_server(answering(page())) as port,
    ):
        server.delays["slow.test"] = 0.3
        request = Request(f"http://slow.test:{port}/", meta={"download_timeout": 0.1})
        error = await fails(handler, request, CannotResolveHostError)
        assert "within 0.1 s" in str(error)
        # The question was not given up with the fetch.
        assert await handler.resolver.lookup("slow.test") == ["127.0.0.1"]
        assert (await handler.download_request(request)).status == 200
        assert handler.resolver.counters["misses"] == 1


@on_loop
async def test_a_dead_reused_connection_is_not_tried_again_behind_our_back():
    """libcurl would repeat the request at once on a new connection: the host would be asked twice."""
    heads = []
    connections = 0

    async def converse(reader, writer):
        nonlocal connections
        connections += 1
        for answer in (page(), b""):  # the second request of a connection gets no answer
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()

    async with raw_server(converse) as port, downloading() as handler:
        url = f"http://127.0.0.1:{port}/"
        assert (await handler.download_request(Request(url))).status == 200
        await fails(handler, Request(url), ConnectionEndedError)
        assert (len(heads), connections) == (2, 1)
        assert (await handler.download_request(Request(url))).status == 200  # on a connection of its own


@on_loop
async def test_a_connection_hung_up_here_costs_the_next_fetch_nothing_and_allows_one_repeat_only():
    heads = []
    connections = 0

    async def converse(reader, writer):
        nonlocal connections
        connections += 1
        for answer in (page(), b""):  # the second request of a connection gets no answer
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await writer.drain()

    errand = SimpleNamespace(ticket=SimpleNamespace(host=b"group"))

    def request():
        return Request(url(port), meta={"frontier_ticket": errand})

    async with raw_server(converse) as port, downloading() as handler:
        assert (await handler.download_request(request())).status == 200
        assert handler._open.hang_up(lambda place: place == f"127.0.0.1:{port}") == 1
        assert (await handler.download_request(request())).status == 200
        assert (len(heads), connections) == (2, 2)  # nobody has seen what was sent on the old one
        await fails(handler, request(), ConnectionEndedError)
        assert (len(heads), connections) == (3, 2)  # but this one was seen
