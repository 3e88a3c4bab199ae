"""Ill will met by a whole crawl: what one fetch alone cannot show. docs/robustness.md names these."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from crawls.site import html, make_crawler, serving

from crawlerproj.fetch import addresses, checked_addresses
from crawlerproj.spiders.web import WebSpider

from .servers import answering, on_loop, page, raw_server


def moved(target: str) -> bytes:
    return page(b"", "302 Found", f"Location: {target}")


async def crawl(directory: Path, origin: str, **settings: Any) -> Any:
    crawler = make_crawler(WebSpider, directory, **settings)
    await crawler.crawl_async(seeds=origin + "/")
    assert crawler.stats.get_value("finish_reason") == "finished"
    return crawler.stats


@on_loop
async def test_a_redirect_to_itself_is_fetched_once_and_the_crawl_ends(tmp_path: Path) -> None:
    async with serving({
        "/": html("<a href=/self>1</a><a href=/there>2</a>"), "/self": moved("/self"),
        "/there": moved("/back"), "/back": moved("/there"),
    }) as site:  # fmt: skip
        await crawl(tmp_path, site.origin)
        assert sorted(site.asked) == ["/", "/back", "/robots.txt", "/self", "/there"]


class Endless(dict[str, Any]):
    """Every path that begins with the prefix leads to the next one."""

    def __init__(self, prefix: str, first: str, **others: Any) -> None:
        super().__init__({f"/{name}": answer for name, answer in others.items()})
        self.prefix, self.first = prefix, first

    def get(self, path: str, default: Any = None) -> Any:
        if path == self.first:
            return moved(self.prefix + "1")
        if path.startswith(self.prefix):
            return moved(f"{self.prefix}{int(path.removeprefix(self.prefix)) + 1}")
        return super().get(path, default)


@on_loop
async def test_a_chain_of_redirects_without_end_is_left_after_its_limit(tmp_path: Path) -> None:
    routes = Endless("/hop-", "/first")
    routes["/"] = html("<a href=/first>go</a>")
    async with serving(routes) as site:
        await crawl(tmp_path, site.origin, REDIRECT_MAX_TIMES=4)
        assert [path for path in site.asked if path not in ("/", "/robots.txt")] == [
            "/first", "/hop-1", "/hop-2", "/hop-3", "/hop-4"]  # fmt: skip


@on_loop
async def test_a_robots_txt_that_redirects_for_ever_is_as_if_there_were_none(tmp_path: Path) -> None:
    routes = Endless("/rules-", "/robots.txt")
    routes["/"] = html("in")
    async with serving(routes) as site:
        await crawl(tmp_path, site.origin)
        assert site.asked == ["/robots.txt", *(f"/rules-{n}" for n in range(1, 6)), "/"]


@on_loop
async def test_of_a_robots_txt_of_any_size_500_kib_count(tmp_path: Path) -> None:
    filler = b"".join(b"Disallow: /nothing-%d\n" % n for n in range(40_000))  # over 800 kB
    rules = b"User-agent: *\nDisallow: /early\n" + filler + b"Disallow: /late\n" + b"# more\n" * 1_000_000
    async with serving({
        "/robots.txt": page(rules, "200 OK", "Content-Type: text/plain"),
        "/": html("<a href=/early>1</a><a href=/late>2</a>"), "/late": html("late"),
    }) as site:  # fmt: skip
        await crawl(tmp_path, site.origin, DOWNLOAD_TIMEOUT=20)
        assert sorted(site.asked) == ["/", "/late", "/robots.txt"]


@on_loop
async def test_a_robots_txt_without_end_is_cut(tmp_path: Path) -> None:
    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            asked.append(path)
            if path != "/robots.txt":
                writer.write(html("<a href=/secret>1</a><a href=/open>2</a>"))
                continue
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            writer.write(b"User-agent: *\nDisallow: /secret\n")
            while True:
                writer.write(b"# and so on\n" * 1_000)
                await writer.drain()

    asked: list[str] = []
    async with raw_server(converse) as port:
        await crawl(tmp_path, f"http://127.0.0.1:{port}", DOWNLOAD_MAXSIZE=1_000_000, DOWNLOAD_TIMEOUT=20)
        assert sorted(asked) == ["/", "/open", "/robots.txt"]


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> str:
    """127.0.0.2 plays the public web; all other loopback addresses stay what they are."""
    address = "127.0.0.2"
    others = addresses.refused
    monkeypatch.setattr(checked_addresses, "refused", lambda a: None if a == address else others(a))
    return address


@pytest.mark.parametrize("robots_inside", [False, True])
@on_loop
async def test_ssrf_by_links_redirects_and_robots_of_a_crawl(
    tmp_path: Path, public: str, robots_inside: bool
) -> None:
    """Whatever a page, a redirect or a robots.txt names, nothing inside is contacted."""
    secret: list[bytes] = []
    asked: list[str] = []

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            asked.append(path)
            if path == "/robots.txt" and not robots_inside:
                writer.write(page(b"", "404 Not Found"))
            elif path == "/":
                links = (f"http://127.0.0.1:{inside}/link", f"http://[::1]:{inside}/", "/moved")
                writer.write(html("".join(f'<a href="{link}">it</a>' for link in links)))
            else:
                writer.write(moved(f"http://127.0.0.1:{inside}{path}"))

    async with (
        raw_server(answering(page(b"Disallow:"), secret)) as inside,
        raw_server(converse, address=public) as port,
    ):
        crawler = make_crawler(WebSpider, tmp_path, FETCH_PRIVATE_ADDRESSES=False, HOST_FAILURES_MAXIMUM=3)
        await crawler.crawl_async(seeds=f"http://{public}:{port}/")
        if robots_inside:  # asked for again as often as a host may fail, then given up
            assert set(asked) == {"/robots.txt"} and 2 <= len(asked) <= 6
        else:
            assert asked == ["/robots.txt", "/", "/moved"]
        assert not secret


def test_every_line_of_the_page_names_tests_that_exist() -> None:
    tests_folder = Path(__file__).parents[1]
    text = (tests_folder.parent / "docs" / "robustness.md").read_text()
    tests = "".join(path.read_text() for path in tests_folder.rglob("test_*.py"))
    rows = [row for row in text.splitlines() if row.startswith("|") and not row.startswith("|---")]
    told = [row for row in rows if not row.endswith("| test |")]
    assert len(told) > 25
    for row in told:
        names = re.findall(r"`(test_\w+)`", row.rpartition(" | ")[2])
        assert names, row
        assert all(f"def {name}(" in tests for name in names), row
