"""A host is asked once, in its turn, for a page that cannot exist; pages like the answer are flagged."""

from __future__ import annotations

from typing import Any

from scrapy.utils.defer import deferred_from_coro

from crawlerproj.documents.reader import Reader
from crawlerproj.documents.rows import Reading, rows
from crawlerproj.documents.soft_404 import is_probe
from crawlerproj.spiders.web import WebSpider

from .site import html, make_crawler, serving

PAGES = 14
GONE = "Sorry, what you are looking for has left us. " + " ".join(f"gone{n}" for n in range(60))


def words(number: int) -> str:
    return " ".join(f"word{number}x{n}" for n in range(80))


class SoftRoutes(dict[str, Any]):
    """A site whose missing pages are answered 200, with links that nobody should follow."""

    def get(self, path: str, default: Any = None) -> Any:
        missing = html(f"<p>{GONE}</p><a href=/only-from-the-probe>home</a>")
        return super().get(path, html("", "404 Not Found") if path == "/robots.txt" else missing)


def routes(kind: type[dict[str, Any]] = dict) -> dict[str, Any]:
    """Pages in a chain, and from the last of them a link to a page that is not there."""
    links = "<a href=/page/{}>next</a>"
    pages = {f"/page/{n}": html(f"<p>{words(n)}</p>{links.format(n + 1)}") for n in range(PAGES)}
    last = html(f"<p>{words(99)}</p><a href=/dead>dead</a>")
    return kind({**pages, "/": html(links.format(0)), f"/page/{PAGES}": last})


class Watching(WebSpider):
    """Yields an item for each page it is shown."""

    def extract(self, page):
        assert not is_probe(page.url)
        return ()


def crawl(tmp_path, made_routes, check, *runs: dict[str, Any]):
    async def run() -> None:
        async with serving(made_routes) as site:
            for more in runs or ({},):
                site.asked_before = len(site.asked)
                crawler = make_crawler(Watching, tmp_path, **more)
                await crawler.crawl_async(seeds=site.origin + "/")
        assert crawler.stats.get_value("log_count/ERROR") is None
        check(site, crawler.stats.get_stats(), Reader(tmp_path / "warc"))

    return deferred_from_coro(run())


def probes_of(site) -> list[str]:
    return [path for path in site.asked if is_probe(site.origin + path)]


def test_a_page_like_the_answer_to_the_probe_is_flagged(tmp_path):
    def check(site, stats, reader):
        (probe,) = probes_of(site)
        assert site.asked.index(probe) < site.asked.index("/dead")
        assert stats["documents/soft_404"] == 2  # with the one that it links to
        noted = reader.metadata(reader.index.find(site.origin + "/dead"))
        assert noted["soft_404"] == "like"
        assert "soft_404" not in reader.metadata(reader.index.find(site.origin + "/page/12"))

    return crawl(tmp_path, routes(SoftRoutes), check)


def test_the_probe_is_archived_as_such_and_not_followed_nor_exported(tmp_path):
    def check(site, stats, reader):
        (probe,) = probes_of(site)
        assert reader.metadata(reader.index.find(site.origin + probe))["soft_404"] == "probe"
        exported = {row.url for row in rows(tmp_path / "warc", lambda *_: Reading(), [])}
        assert site.origin + "/dead" in exported and site.origin + probe not in exported
        # The dead page, being an ordinary one, is followed; the probe came before it and was not.
        assert site.asked.index("/only-from-the-probe") > site.asked.index("/dead")

    return crawl(tmp_path, routes(SoftRoutes), check)


def test_an_honest_host_is_asked_once_and_nothing_is_flagged(tmp_path):
    def check(site, stats, reader):
        assert len(probes_of(site)) == 1
        assert "documents/soft_404" not in stats

    return crawl(tmp_path, routes(), check)


def test_a_host_is_asked_in_peace_only_if_it_has_pages_enough(tmp_path):
    return crawl(tmp_path, routes(), lambda site, *_: check_none(site), {"SOFT_404_AFTER": PAGES + 5})


def test_the_probe_can_be_turned_off(tmp_path):
    return crawl(tmp_path, routes(), lambda site, *_: check_none(site), {"SOFT_404_PROBE": False})


def check_none(site) -> None:
    assert f"/page/{PAGES}" in site.asked and not probes_of(site)


def test_the_rules_of_the_host_apply_to_the_probe(tmp_path):
    made = routes(SoftRoutes)
    made["/robots.txt"] = html("User-agent: *\nDisallow: /*-no-such-page.html$")

    def check(site, stats, reader):
        check_none(site)
        assert stats["robots/forbidden"] == 1

    return crawl(tmp_path, made, check)


def test_a_probe_that_was_offered_survives_a_restart(tmp_path):
    """The first run stops at the page after which the probe is offered; the second sends it."""
    made = routes(SoftRoutes)
    first = {"HOST_PAGE_BUDGET": 10}

    def check(site, stats, reader):
        (probe,) = probes_of(site)
        assert site.asked.index(probe) >= site.asked_before == 11  # ten pages and robots.txt
        assert stats["documents/soft_404"] == 2

    return crawl(tmp_path, made, check, first, {})
