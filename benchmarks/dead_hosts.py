"""Pages per second on the good hosts while 30 % of all hosts are dead, against the same crawl without them.

Both crawls, in turns, take the same number of pages from the same demo web (no nuisances); seeds are the
root pages of all its hosts. The second has dead hosts sown evenly between them, of four kinds alike:

    refused   nothing listens at the port
    mute      accepts connections, and never says a word
    late      has no robots.txt (404), and hangs at every page: it takes pages' slots
    silent    a name that the name server never answers for

Waits are a tenth of their defaults (the least delay a fifth: the crawl is to be bound by its manners, not
by a busy machine), so that the dead come back as often, for the pages fetched, as they do in a crawl with
those; there are more hosts that hang than places for pages. The clock runs from the opening
of the spider to the last of the pages; pages of dead hosts do not count.

Figures: share_with_dead_hosts (pages per second with the dead hosts / without), pages_per_second_clean,
pages_per_second_with_dead_hosts, and what the second crawl went through: dead_hosts, and the contacts and
questions they cost (mute_contacts, late_contacts, silent_questions; refused ones cannot be counted there).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from crawlerproj.demoweb.answers import Lookup
from crawlerproj.demoweb.dns import NameServer
from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb

ROOT = Path(__file__).parents[1]
KINDS = ("refused", "mute", "late", "silent")
DEAD_SHARE = 0.3
URLS_OF_A_DEAD_HOST = 8
SILENT = ".silent.example"
SETTINGS = {
    "CONCURRENT_REQUESTS": 8, "DELAY_MINIMUM": 0.4, "DELAY_MAXIMUM": 30, "BACKOFF_BASE": 3,
    "BACKOFF_MAXIMUM": 360, "FETCH_CONNECT_TIMEOUT": 1, "FETCH_FIRST_BYTE_TIMEOUT": 3, "DOWNLOAD_TIMEOUT": 6,
    "FETCH_SLOW_AFTER": 0.3, "DNS_FIRST_WAIT": 0.1, "DNS_LAST_WAIT": 9, "DNS_NEGATIVE_TTL": 3,
    "FETCH_PRIVATE_ADDRESSES": True,
    "LOG_LEVEL": "CRITICAL", "CONTENT_SEEN": "off", "FRONTIER_SEED": 7,
}  # fmt: skip
# One crawl, ended by the last wanted page of a good host.
CRAWL = """
import asyncio, json, resource, sys, time
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
options = json.loads(sys.argv[1])
settings = get_project_settings()
settings.setdict(options["settings"], priority="cmdline")
process = AsyncCrawlerProcess(settings)
crawler = process.create_crawler("web")
good = tuple(options["good"])
opened = ended = 0.0
pages = 0
def start(spider):
    global opened
    opened = time.monotonic()
def count(item):
    global pages, ended
    if ended or item.status != 200 or item.url.split("/", 3)[2] not in good:
        return
    pages += 1
    if pages == options["pages"]:
        ended = time.monotonic()
        asyncio.get_running_loop().create_task(crawler.engine.close_spider_async(reason="enough"))
good = frozenset(good)
crawler.signals.connect(start, signals.spider_opened)
crawler.signals.connect(count, signals.item_scraped)
process.crawl(crawler, seeds=options["seeds"])
process.start()
usage = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"pages": pages, "seconds": round((ended or time.monotonic()) - opened, 3),
                  "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
                  "reason": crawler.stats.get_value("finish_reason")}))
"""


class DeadHosts:
    """The servers of the dead, and the name server of all; `seen` counts who was asked how often."""

    def __init__(self, web: DemoWebProcess, count: int, kinds: list[str]) -> None:
        self._web = web
        self.seen: Counter[str] = Counter()
        self.urls: list[str] = []
        self.dns_server = ""
        self._kinds = [kinds[number % len(kinds)] for number in range(count)]

    async def open(self, stack: contextlib.AsyncExitStack) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: NameServer(self._lookup), local_addr=("127.0.0.1", 0))
        stack.callback(transport.close)
        self.dns_server = "127.0.0.1:{}".format(transport.get_extra_info("sockname")[1])
        for number, kind in enumerate(self._kinds):
            place = f"{number}{SILENT}" if kind == "silent" else await self._serve(number, kind, stack)
            self.urls.append(f"http://{place}/")

    async def _serve(self, number: int, kind: str, stack: contextlib.AsyncExitStack) -> str:
        """The address and port of a host: its own address, of those of the demo web, another port."""
        own = socket.socket()
        own.bind((f"127.8.{number // 250}.{number % 250 + 1}", 0))
        if kind == "refused":
            stack.callback(own.close)  # bound, so nobody else's, and not listening
        else:
            server = await asyncio.start_server(self._late if kind == "late" else self._mute, sock=own)
            stack.callback(server.close)
        return "{}:{}".format(*own.getsockname())

    def _lookup(self, name: str, query: int) -> Lookup | None:
        if name.endswith(SILENT):
            self.seen["silent"] += 1
            return Lookup((), is_lost=True)
        return self._web.world.lookup(name, query)

    async def _mute(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.seen["mute"] += 1
        with contextlib.suppress(OSError):
            await reader.read()  # until the crawler gives up
        writer.close()

    async def _late(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET /robots.txt "):
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                else:
                    self.seen["late"] += 1
        writer.close()


@contextlib.contextmanager
def served(dead: DeadHosts) -> Iterator[DeadHosts]:
    """The dead hosts on an event loop of their own, in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    stack = contextlib.AsyncExitStack()
    try:
        asyncio.run_coroutine_threadsafe(dead.open(stack), loop).result()
        yield dead
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def seeds_of(web: DemoWebProcess, dead: list[str]) -> list[str]:
    """The root pages of all good hosts, the dead ones' URLs sown evenly between them."""
    layout = web.world.layout
    rows = [(host / layout.hosts, [layout.url(host, 0)]) for host in range(layout.hosts)]
    rows += [(number / len(dead), [f"{url}{page or ''}" for page in range(URLS_OF_A_DEAD_HOST)])
             for number, url in enumerate(dead)]
    return [url for _, urls in sorted(rows, key=lambda row: row[0]) for url in urls]


def crawl(web: DemoWebProcess, dead: DeadHosts, urls: list[str], pages: int) -> dict[str, float]:
    layout = web.world.layout
    with tempfile.TemporaryDirectory() as place:
        seeds = Path(place) / "seeds.txt"
        seeds.write_text("\n".join(seeds_of(web, urls)))
        options = {
            "seeds": str(seeds), "pages": pages,
            "good": [origin.partition("://")[2] for origin in layout.origins[:layout.hosts]],
            "settings": {**SETTINGS, "CRAWL_DIR": f"{place}/crawl", "DNS_SERVERS": [dead.dns_server]},
        }  # fmt: skip
        done = subprocess.run([sys.executable, "-c", CRAWL, json.dumps(options)], cwd=ROOT,
                              capture_output=True, text=True, timeout=1200)
    if done.returncode != 0:
        raise SystemExit(f"the crawl failed:\n{done.stderr[-3000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if result["pages"] != pages:
        raise SystemExit(f"the crawl ended before its {pages} pages: {result}")
    return result


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--quick", action="store_true", help="fewer pages, one turn: under 2 minutes")
    parser.add_argument("--hosts", type=int, default=100, help="good hosts")
    parser.add_argument("--pages", type=int, help="pages of the good hosts (default: 10,000; quick: 4,000)")
    parser.add_argument("--turns", type=int, help="times each side is run (default: 3; quick: 1)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="comma list of the kinds of dead hosts")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    if not set(kinds) <= set(KINDS):
        parser.error(f"--kinds {options.kinds}: give some of {','.join(KINDS)}")
    pages = options.pages or (4_000 if options.quick else 10_000)
    turns = options.turns or (1 if options.quick else 3)
    seconds = {"clean": 0.0, "dead": 0.0}
    count = round(options.hosts * DEAD_SHARE / (1 - DEAD_SHARE))
    # Three times the pages that are taken: the end of a web, where few hosts are left, is not measured.
    with (start_demoweb(seed=7, hosts=options.hosts, pages=3 * pages, nuisance="none") as web,
          served(DeadHosts(web, count, kinds)) as dead):
        for _ in range(turns):
            for side, urls in (("clean", []), ("dead", dead.urls)):
                result = crawl(web, dead, urls, pages)
                print(f"{side}: {result} {dict(dead.seen)}", flush=True)
                seconds[side] += result["seconds"]
    figures: dict[str, float] = {
        "share_with_dead_hosts": round(seconds["clean"] / seconds["dead"], 3),
        "pages_per_second_clean": round(turns * pages / seconds["clean"], 1),
        "pages_per_second_with_dead_hosts": round(turns * pages / seconds["dead"], 1),
        "dead_hosts": count,
        "mute_contacts": dead.seen["mute"], "late_contacts": dead.seen["late"],
        "silent_questions": dead.seen["silent"],
    }  # fmt: skip
    print(json.dumps({"name": "dead_hosts", "figures": figures}))


if __name__ == "__main__":
    main()
