"""How fast are documents stored and read back? 100,000 documents: look-up by URL, writing, index, check.

Pages are those of the demo web (distinct bodies, other URLs for each round). CPU seconds of the process.
`write_mb_per_cpu_second` counts HTML bytes and includes compression, digests, index and the disk writes;
with `_all` the request and metadata records are written too.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlerproj.demoweb.world import World
from crawlerproj.documents.archive import Archive
from crawlerproj.documents.check import check
from crawlerproj.documents.reader import Reader
from crawlerproj.items import Page

HEADERS = [
    ("Content-Type", "text/html; charset=utf-8"), ("Server", "demo"),
    ("Date", "Tue, 14 Nov 2023 22:13:20 GMT"),
]
REQUEST = [("User-Agent", "crawlerproj/0.1.0 (+http://a.example/)"), ("Accept", "text/html,*/*;q=0.8")]


def bodies(count: int) -> list[bytes]:
    world = World(seed=1, hosts=50, pages=count)
    layout = world.layout
    found = [world.body(host, n) for host in range(layout.hosts) for n in range(layout.sizes[host])]
    return found[:count]


def url(number: int) -> str:
    return f"http://www{number % 997}.example/path/{number // 997}/page-{number}.html"


def write(directory: Path, pages: list[bytes], count: int, everything: bool, level: int) -> tuple[float, int]:
    """CPU seconds and HTML bytes for writing so many documents, a commit every 64."""
    archive = Archive(directory, level=level)
    started, size = time.process_time(), 0
    for number in range(count):
        body = pages[number % len(pages)]
        page = Page(url(number), 200, HEADERS, body, 1_700_000_000.0 + number, 0.1, "127.0.0.1", reason="OK")
        size += len(body)
        if everything:
            archive.write(page, REQUEST, metadata={"outcome": "done", "language": "en"})
        else:
            archive.write(page)
        if number % 64 == 63:
            archive.lengths()
            archive.flush_and_sync(sync=False)
    archive.close()
    return time.process_time() - started, size


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="fewer gets, no check")
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--level", type=int, default=3, help="of gzip")
    chosen = options.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="bench-docs-"))
    figures: dict[str, float] = {}
    try:
        pages = bodies(1_000)
        few = 5_000
        cpu, size = write(directory / "all", pages, few, True, chosen.level)
        figures["write_mb_per_cpu_second_all"] = size / 1e6 / cpu
        shutil.rmtree(directory / "all")
        cpu, size = write(directory / "warc", pages, chosen.documents, False, chosen.level)
        figures["write_mb_per_cpu_second"] = size / 1e6 / cpu
        figures["write_us_per_page"] = cpu / chosen.documents * 1e6
        stored = sum(path.stat().st_size for path in (directory / "warc").glob("*.warc.gz"))
        index = sum(path.stat().st_size for path in (directory / "warc").glob("*.index"))
        figures["stored_bytes_per_html_byte"] = stored / size
        figures["index_bytes_per_document"] = index / chosen.documents

        started = time.process_time()
        reader = Reader(directory / "warc", cache_bytes=0)
        figures["open_seconds"] = time.process_time() - started
        rng = random.Random(1)
        asked = [url(rng.randrange(chosen.documents)) for _ in range(2_000 if chosen.quick else 20_000)]
        for round_name in ("first", "warm"):
            wall, cpu = time.perf_counter(), time.process_time()
            for each in asked:
                document = reader.get(each)
                assert document is not None and document.url == each
            figures[f"get_ms_{round_name}"] = (time.process_time() - cpu) / len(asked) * 1000
            figures[f"get_wall_ms_{round_name}"] = (time.perf_counter() - wall) / len(asked) * 1000
        figures["get_ms"] = figures.pop("get_ms_warm")
        reader.close()

        if not chosen.quick:
            started = time.process_time()
            done = check(directory / "warc")
            assert done.sound and done.records["response"] == chosen.documents, done.problems[:5]
            figures["check_mb_per_cpu_second"] = size / 1e6 / (time.process_time() - started)
    finally:
        shutil.rmtree(directory)
    kilobytes = size / chosen.documents / 1000
    print(f"{chosen.documents:,} documents of {kilobytes:.1f} kB, gzip level {chosen.level}")
    print(json.dumps({"name": "docs", "figures": {name: round(value, 4) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
