import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import DownloadFailedError
from scrapy.utils.test import get_crawler

from crawlerproj.fetch.curl_response import AddressRefusedError

from .servers import on_loop, raw_server
from .tls import certificate, server_context

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"


def gemini_handler(**settings: Any) -> Any:
    """The handler of the documentation, as it stands there."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(compile(found.group(1), str(PAGE), "exec"), names)
    return names["GeminiHandler"].from_crawler(get_crawler(settings_dict=settings))


async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    url = (await reader.readuntil(b"\r\n")).decode()
    answers = {"/": b"20 text/gemini\r\n# Hello", "/old": b"31 /\r\n", "/none": b"51 nothing here\r\n"}
    writer.write(answers.get("/" + url.strip().split("/", 3)[3], b"rubbish\r\n"))


@on_loop
async def test_the_documented_handler_speaks_gemini() -> None:
    async with raw_server(converse, server_context(certificate("127.0.0.1"))) as port:
        handler = gemini_handler(FETCH_PRIVATE_ADDRESSES=True)
        found = await handler.download_request(Request(f"gemini://127.0.0.1:{port}/"))
        assert (found.status, found.text, found.headers["Content-Type"]) == (200, "# Hello", b"text/gemini")
        moved = await handler.download_request(Request(f"gemini://127.0.0.1:{port}/old"))
        assert (moved.status, moved.headers["Location"]) == (302, b"/")
        assert (await handler.download_request(Request(f"gemini://127.0.0.1:{port}/none"))).status == 404


@on_loop
async def test_the_documented_handler_keeps_the_guard_and_fails_in_scrapys_words() -> None:
    async with raw_server(converse, server_context(certificate("127.0.0.1"))) as port:
        request = Request(f"gemini://127.0.0.1:{port}/rubbish")
        with pytest.raises(AddressRefusedError):
            await gemini_handler().download_request(request)
        with pytest.raises(DownloadFailedError):
            await gemini_handler(FETCH_PRIVATE_ADDRESSES=True).download_request(request)
