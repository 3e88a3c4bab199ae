"""What libcurl received, in Scrapy's words: the response, or the error."""

from __future__ import annotations

from typing import Final, NoReturn

import pycurl
from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.http import HtmlResponse, Response
from scrapy.http.headers import Headers
from scrapy.responsetypes import responsetypes

from .addresses import parse_address
from .curl_transfer import Transfer

_ERRORS: Final[dict[int, type[Exception]]] = {
    pycurl.E_COULDNT_RESOLVE_HOST: CannotResolveHostError,
    pycurl.E_COULDNT_RESOLVE_PROXY: CannotResolveHostError,
    pycurl.E_COULDNT_CONNECT: DownloadConnectionRefusedError,
    pycurl.E_OPERATION_TIMEDOUT: DownloadTimeoutError,
    pycurl.E_PARTIAL_FILE: ResponseDataLossError,
}
# How libcurl tells of a body that ended too early, by framing: length, chunks, HTTP/2 stream.
# 92 is CURLE_HTTP2_STREAM, for which pycurl has no name.
_CUT_SHORT: Final = (pycurl.E_PARTIAL_FILE, pycurl.E_RECV_ERROR, 92)


class AddressRefusedError(DownloadConnectionRefusedError):
    """The host's addresses are none that a crawl may contact; not worth a retry."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(
            f"{host} is at a {reason} address; set FETCH_PRIVATE_ADDRESSES to crawl such hosts on purpose"
        )
        self.reason = reason


class ConnectionEndedError(DownloadFailedError):
    """A connection used before was closed by the host, perhaps before it saw the request."""


class CertificateError(DownloadFailedError):
    """The server is not who the URL says, or nobody vouches for it."""


class SendRefusedError(DownloadCancelledError):
    """`meta["before_send"]` said no when the connection was up; nothing was sent."""


def make_response(request: Request, transfer: Transfer, address: str) -> Response:
    """The answer as a Response; its timings go into the request's meta."""
    meta = request.meta
    getinfo = transfer.curl.getinfo
    meta["fetch_seconds"] = getinfo(pycurl.TOTAL_TIME)
    meta["download_latency"] = getinfo(pycurl.STARTTRANSFER_TIME)
    try:
        status, meta["reason_phrase"], protocol = transfer.status_line()
    except ValueError as error:
        raise DownloadFailedError(f"{request.url}: {error}") from error
    headers = transfer.response_headers()
    body = transfer.body()
    response = _response_class(headers, request.url, body)(
        request.url,
        status=status,
        body=body,
        ip_address=parse_address(address) if address else None,
        protocol=protocol,
    )
    # Set afterwards: the constructor would copy and spell every name again.
    response.headers = headers
    truncated = meta.get("download_truncated")
    if truncated:
        response.flags.append("truncated" if truncated == "length" else "dataloss")
    return response


def answer_or_raise(
    request: Request, transfer: Transfer, error: pycurl.error, fail_on_data_loss: bool
) -> None:
    """Return if there is an answer all the same, else raise Scrapy's word for the error."""
    meta = request.meta
    meta["fetch_seconds"] = transfer.curl.getinfo(pycurl.TOTAL_TIME)
    code = error.args[0]
    if transfer.stopped == "length":
        meta["download_truncated"] = "length"
        return
    if transfer.stopped == "headers":
        text = f"{request.url}: header section beyond HEADERS_MAXSIZE or HEADERS_MAXCOUNT"
        raise DownloadFailedError(text) from error
    if transfer.stopped == "refused":
        raise SendRefusedError(f"{request.url}: not sent, before_send refused it") from error
    if transfer.stopped == "repeated":
        raise ConnectionEndedError(f"{request.url}: the connection ended without an answer") from error
    if code in _CUT_SHORT and transfer.chunks:
        if fail_on_data_loss:
            raise ResponseDataLossError(_text(request.url, error)) from error
        meta["download_truncated"] = "disconnect"
        return
    _raise(request.url, code, error)


def _raise(url: str, code: int, error: pycurl.error) -> NoReturn:
    text = _text(url, error)
    if code == pycurl.E_UNSUPPORTED_PROTOCOL and not url.startswith(("http:", "https:")):
        raise UnsupportedURLSchemeError(text) from error
    if code == pycurl.E_PEER_FAILED_VERIFICATION:
        raise CertificateError(
            f"{text}; DOWNLOAD_VERIFY_CERTIFICATES = False fetches it all the same"
        ) from error
    raise _ERRORS.get(code, DownloadFailedError)(text) from error


def _text(url: str, error: pycurl.error) -> str:
    return f"{url}: {error.args[1] if len(error.args) > 1 else error}"


def _response_class(headers: Headers, url: str, body: bytes) -> type[Response]:
    fields: dict[bytes, list[bytes]] = headers
    if dict.get(fields, b"Content-Encoding", [b""])[-1].lower() not in (b"", b"identity"):
        return Response  # Scrapy's decompression looks again at what is inside
    content_type = dict.get(fields, b"Content-Type")
    if content_type and content_type[-1][:9].lower() == b"text/html":
        return HtmlResponse
    return responsetypes.from_args(headers=headers, url=url, body=body)
