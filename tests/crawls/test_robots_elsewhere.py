"""A robots.txt that redirects to another host's: what it says is known of both hosts from then on."""

from __future__ import annotations

import asyncio

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.spiders.web import WebSpider

from .site import Site, html, make_crawler


def text(body: str) -> bytes:
    return html(body).replace(b"text/html", b"text/plain")


def test_rules_read_for_another_host_bind_the_host_they_are_of(tmp_path):
    async def run() -> None:
        hosts, servers = [], []
        for address in ("127.0.0.2", "127.0.0.3"):
            site = Site({})
            server = await asyncio.start_server(site.converse, address, 0)
            site.origin = f"http://{address}:{server.sockets[0].getsockname()[1]}"
            hosts.append(site)
            servers.append(server)
        mover, keeper = hosts

        def changing(time: int) -> bytes:
            return text("User-agent: *\nDisallow: /later" if time > 1 else "")

        keeper.routes |= {
            "/robots.txt": changing,
            "/": html(f"<a href={mover.origin}/>mover</a> <a href=/free>free</a>"),
            "/free": html("free"), "/later": html("later"),
        }
        mover.routes |= {
            "/robots.txt": html("", "302 Found", f"Location: {keeper.origin}/robots.txt"),
            "/": html(f"<a href={keeper.origin}/later>later</a>"),
        }
        crawler = make_crawler(WebSpider, tmp_path)
        await crawler.crawl_async(seeds=keeper.origin + "/")
        for server in servers:
            server.close()
        assert keeper.asked.count("/robots.txt") == 2
        assert "/" in mover.asked and "/free" in keeper.asked
        assert "/later" not in keeper.asked
        assert crawler.stats.get_value("robots/forbidden") == 1

    return deferred_from_coro(run())
