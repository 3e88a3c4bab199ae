"""Responses as bytes of HTTP/1.1, and conditional requests (RFC 9110, 13)."""

import re
from http import HTTPStatus

from crawlerproj.demoweb.answers import Response

CHUNK_BYTES = 4000
_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_IF_NONE_MATCH = re.compile(rb"\r\nif-none-match:[ \t]*([^\r\n]*)", re.IGNORECASE)
_IF_MODIFIED_SINCE = re.compile(rb"\r\nif-modified-since:[ \t]*([^\r\n]*)", re.IGNORECASE)


def response_head(response: Response, packed: bool, close: bool) -> bytes:
    lines = [f"{_STATUS_LINES[response.status]}Server: demoweb\r\nContent-Type: {response.content_type}\r\n"]
    if response.chunked:
        lines.append("Transfer-Encoding: chunked\r\n")
    elif response.status != HTTPStatus.NOT_MODIFIED:
        body = response.gzip if packed and response.gzip is not None else response.body
        lines.append(f"Content-Length: {len(body)}\r\n")
    if packed:
        lines.append("Content-Encoding: gzip\r\n")
    if response.location is not None:
        lines.append(f"Location: {response.location}\r\n")
    if response.retry_after is not None:
        lines.append(f"Retry-After: {response.retry_after}\r\n")
    if response.etag is not None:
        lines.append(f"ETag: {response.etag}\r\n")
    if response.last_modified is not None:
        lines.append(f"Last-Modified: {response.last_modified}\r\n")
    lines += [f"{name}: {value}\r\n" for name, value in response.headers]
    lines.append("Connection: close\r\n\r\n" if close else "\r\n")
    return "".join(lines).encode("latin-1")


def response_body(response: Response, packed: bool) -> bytes:
    if response.wire is not None:
        return response.wire.data
    body = response.gzip if packed and response.gzip is not None else response.body
    if not response.chunked:
        return body
    parts = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def is_unchanged(response: Response, head: bytes) -> bool:
    """Does the client have this already? If-None-Match goes before If-Modified-Since."""
    if response.etag is None and response.last_modified is None:
        return False
    if known := _IF_NONE_MATCH.search(head):
        return response.etag is not None and response.etag.encode() in known[1]
    known = _IF_MODIFIED_SINCE.search(head)
    return known is not None and known[1].decode("latin-1").strip() == response.last_modified
