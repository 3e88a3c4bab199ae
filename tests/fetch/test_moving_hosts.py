"""A host that changes its address has one connection all the same."""

from __future__ import annotations

import asyncio

from scrapy import Request

from .servers import dns_server, downloading, on_loop, page


class Place:
    """Two addresses with one port; counts the connections open at once."""

    def __init__(self) -> None:
        self.open: set[object] = set()
        self.most: list[int] = []
        self.asked: list[str] = []

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        me = object()
        self.open.add(me)
        self.most.append(len(self.open))
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked.append(writer.get_extra_info("sockname")[0])
                writer.write(page())
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.open.discard(me)
            writer.close()


@on_loop
async def test_a_host_that_moves_has_one_connection_at_a_time():
    place = Place()
    old = await asyncio.start_server(place.converse, "127.0.0.2", 0)
    port = old.sockets[0].getsockname()[1]
    new = await asyncio.start_server(place.converse, "127.0.0.3", port)
    async with dns_server({"moving.test": ["127.0.0.2"]}, ttl=0) as (server, dns), downloading(
        DNS_SERVERS=[dns], DNS_MIN_TTL=0, DNS_STALE_SECONDS=0
    ) as handler:
        await handler.download_request(Request(f"http://moving.test:{port}/1"))
        server.table["moving.test"] = ["127.0.0.3"]
        await handler.download_request(Request(f"http://moving.test:{port}/2"))
    old.close()
    new.close()
    assert place.most == [1]  # the same connection served both
    assert place.asked == ["127.0.0.2", "127.0.0.2"]


@on_loop
async def test_a_host_that_has_left_its_address_is_found_at_the_new_one():
    place = Place()
    old = await asyncio.start_server(place.converse, "127.0.0.2", 0)
    port = old.sockets[0].getsockname()[1]
    new = await asyncio.start_server(place.converse, "127.0.0.3", port)
    async with dns_server({"moving.test": ["127.0.0.2"]}, ttl=0) as (server, dns), downloading(
        DNS_SERVERS=[dns], DNS_MIN_TTL=0, DNS_STALE_SECONDS=0, FETCH_KEEPALIVE=False
    ) as handler:
        await handler.download_request(Request(f"http://moving.test:{port}/1"))
        old.close()
        server.table["moving.test"] = ["127.0.0.3"]
        await handler.download_request(Request(f"http://moving.test:{port}/2"))
    new.close()
    assert place.asked == ["127.0.0.2", "127.0.0.3"]
