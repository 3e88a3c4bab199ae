"""A crawl with ARCHIVE_REVISITS keeps equal bytes once, and every page can still be got."""

from __future__ import annotations

from collections import Counter

from scrapy.utils.defer import deferred_from_coro
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.documents.check import check
from crawlerproj.documents.reader import Reader
from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving

COPIES = 5


def test_equal_pages_are_stored_once_and_all_can_be_got(tmp_path):
    text = " ".join(f"word{n}" for n in range(100))
    routes = {"/": html("".join(f"<a href=/{n}>{n}</a>" for n in range(COPIES))),
              **{f"/{n}": html(f"<p>{text}</p>") for n in range(COPIES)}}

    async def run() -> None:
        async with serving(routes) as site:
            crawler = make_crawler(WebSpider, tmp_path, ARCHIVE_REVISITS=True)
            await crawler.crawl_async(seeds=site.origin + "/")
        kinds: Counter[str] = Counter()
        for path in (tmp_path / "warc").glob("*.warc.gz"):
            with path.open("rb") as stream:
                kinds.update(record.rec_type for record in ArchiveIterator(stream, check_digests="raise"))
        assert kinds["revisit"] == COPIES - 1
        assert kinds["response"] == 3  # robots.txt, the first page, the first of the copies
        reader = Reader(tmp_path / "warc")
        bodies = {reader.get(f"{site.origin}/{n}").body for n in range(COPIES)}
        assert bodies == {f"<p>{text}</p>".encode()}
        assert check(tmp_path / "warc").sound

    return deferred_from_coro(run())
