import asyncio
import ssl
import warnings

import pytest
from scrapy import Request
from scrapy.exceptions import DownloadFailedError
from scrapy.http import HtmlResponse

from crawlerproj.fetch.curl_response import CertificateError

from .servers import answering, dns_server, downloading, fails, on_loop, page, raw_server
from .tls import certificate, http2, server_context

TYPE = ("content-type", "text/html")


@on_loop
async def test_http2_is_spoken_where_the_server_offers_it_on_one_connection() -> None:
    context = server_context(certificate("127.0.0.1"), "h2", "http/1.1")
    opened: list[int] = []
    async with (
        downloading() as handler,
        raw_server(http2(b"<p>two", TYPE, connections=opened), context) as port,
    ):
        for _ in range(3):
            response = await handler.download_request(Request(f"https://127.0.0.1:{port}/"))
            assert (type(response), response.body, response.protocol) == (HtmlResponse, b"<p>two", "h2")
            assert response.headers["Content-Type"] == b"text/html"
        assert len(opened) == 1


@on_loop
async def test_http2_can_be_switched_off_and_is_not_forced() -> None:
    offering = server_context(certificate("127.0.0.1"), "h2", "http/1.1")
    plain = server_context(certificate("127.0.0.1"))
    for context, settings in ((offering, {"FETCH_HTTP2": False}), (plain, {})):
        async with downloading(**settings) as handler, raw_server(answering(page()), context) as port:
            response = await handler.download_request(Request(f"https://127.0.0.1:{port}/"))
            assert response.protocol == "HTTP/1.1"


@pytest.mark.parametrize(
    ("name", "days", "trusted", "good"),
    [
        ("site.test", 2, True, True),
        ("site.test", 2, False, False),  # nobody vouches for it
        ("site.test", -2, True, False),  # expired
        ("other.test", 2, True, False),  # another's
    ],
)
@on_loop
async def test_certificates_are_verified_by_setting_only(
    name: str, days: int, trusted: bool, good: bool
) -> None:
    pem = certificate(name, days)
    strict = {
        "DOWNLOAD_VERIFY_CERTIFICATES": True,
        "FETCH_CA_FILE": str(pem if trusted else certificate("unrelated.test")),
    }
    async with (
        dns_server({"site.test": ["127.0.0.1"]}) as (_, dns),
        raw_server(answering(page(b"secret")), server_context(pem)) as port,
    ):
        async with downloading(DNS_SERVERS=[dns]) as handler:
            assert (await handler.download_request(Request(f"https://site.test:{port}/"))).body == b"secret"
        async with downloading(DNS_SERVERS=[dns], **strict) as handler:
            if good:
                response = await handler.download_request(Request(f"https://site.test:{port}/"))
                assert response.body == b"secret"
            else:
                error = await fails(handler, Request(f"https://site.test:{port}/"), CertificateError)
                assert "DOWNLOAD_VERIFY_CERTIFICATES" in str(error)


@on_loop
async def test_a_proxy_carries_tls_in_a_tunnel_and_leaves_no_trace_in_the_answer() -> None:
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")

        async def carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while data := await source.read(65_536):
                target.write(data)
            target.close()

        await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))

    async with (
        raw_server(answering(page(b"far")), server_context(certificate("127.0.0.1"))) as port,
        raw_server(tunnel) as proxy,
        downloading() as handler,
    ):
        headers = {"Proxy-Authorization": "Basic eA=="}
        meta = {"proxy": f"http://127.0.0.1:{proxy}"}
        response = await handler.download_request(Request("https://far.test/", meta=meta, headers=headers))
        assert (response.body, response.status) == (b"far", 200)
        assert b"X-Proxy" not in response.headers
        assert asked[0].startswith(b"CONNECT far.test:443 HTTP/1.1")
        assert b"Proxy-Authorization: Basic eA==" in asked[0]


@on_loop
async def test_servers_of_long_ago_are_read_unless_proof_is_asked_for() -> None:
    context = server_context(certificate("127.0.0.1"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    async with raw_server(answering(page(b"old")), context) as port:
        request = Request(f"https://127.0.0.1:{port}/")
        async with downloading() as handler:
            assert (await handler.download_request(request)).body == b"old"
        strict = {"DOWNLOAD_VERIFY_CERTIFICATES": True, "FETCH_CA_FILE": str(certificate("127.0.0.1"))}
        async with downloading(**strict) as handler:
            await fails(handler, request, DownloadFailedError)
