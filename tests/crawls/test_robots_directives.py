"""What pages and headers ask of robots is obeyed, and recorded beside the response."""

from __future__ import annotations

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.demoweb.document_files import pdf
from crawlerproj.documents.reader import Reader
from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving


def paper(origin: str, *fields: str) -> bytes:
    body = pdf(["A paper", origin + "/from-a-paper"])
    lines = ["HTTP/1.1 200 OK", "Content-Type: application/pdf", f"Content-Length: {len(body)}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def test_directives_of_pages_and_of_files_are_obeyed_and_recorded(tmp_path):
    paths = ("/kept", "/meta", "/header", "/open.pdf", "/closed.pdf")
    links = "".join(f"<a href={path}>x</a>" for path in paths)
    routes = {
        "/robots.txt": html("", "404 Not Found"),
        "/": html(links),
        "/kept": html("<p>Plain</p>"),
        "/meta": html("<meta name=robots content=none><a href=/behind-meta>x</a>"),
        "/header": html("<p>secret</p><a href=/behind-header>x</a>", "200 OK", "X-Robots-Tag: noarchive",
                        "X-Robots-Tag: unavailable_after: 01 Jan 2020 00:00:00 GMT"),
        "/behind-header": html("<p>fine</p>"),
    }

    async def run() -> None:
        async with serving(routes) as site:
            routes["/open.pdf"] = paper(site.origin)
            routes["/closed.pdf"] = paper(site.origin + "/closed", "X-Robots-Tag: noarchive, nofollow")
            crawler = make_crawler(WebSpider, tmp_path, SOFT_404_PROBE=False)
            await crawler.crawl_async(seeds=site.origin + "/")
        stats = crawler.stats.get_stats()
        assert "log_count/ERROR" not in stats
        assert "/behind-meta" not in site.asked and "/behind-header" in site.asked
        assert "/from-a-paper" in site.asked and "/closed/from-a-paper" not in site.asked
        assert stats["filter/nofollow"] == 2
        reader = Reader(tmp_path / "warc")

        def noted(path: str) -> str:
            return reader.metadata(reader.index.find(site.origin + path)).get("robots", "")

        assert noted("/kept") == noted("/open.pdf") == ""
        assert noted("/meta") == "noindex, nofollow"
        assert noted("/header") == "noarchive, unavailable_after: 2020-01-01T00:00:00+00:00"
        assert noted("/closed.pdf") == "nofollow, noarchive"
        assert reader.get(site.origin + "/open.pdf").body.startswith(b"%PDF")
        assert reader.get(site.origin + "/header").body == reader.get(site.origin + "/closed.pdf").body == b""
        reader.close()

    return deferred_from_coro(run())
