"""Exports, comparison and check of an archive much larger than what they may hold in memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tracemalloc

import pytest

from crawlerproj.documents import cdx
from crawlerproj.documents.archive import Archive
from crawlerproj.documents.export import export_cdxj
from crawlerproj.documents.index import Index
from crawlerproj.documents.index_files import write_order

PAGES, PAGE_BYTES = 400, 500_000
MEGABYTE = 1 << 20

# Says by how much the peak of resident memory grew between a small archive and the large one.
CHILD = """
import json, sys
from scrapy.cmdline import execute

def peak():
    # Not ru_maxrss: that begins with what the parent held, which may be more than all that is looked for.
    [line] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024

def run(directory):
    try:
        execute(["scrapy", "docs", *arguments, "--json", "--dir", directory])
    except SystemExit as end:
        return end.code

small, large, *arguments = sys.argv[1:]
codes = [run(small)]
before = peak()
codes.append(run(large))
print(json.dumps({"codes": codes, "grown": peak() - before}))
"""


def write(directory, page, pages: int, page_bytes: int) -> None:
    vocabulary = [f"{number:x}word" for number in range(3000)]
    words = " ".join(random.Random(1).choices(vocabulary, k=page_bytes // 7))
    archive = Archive(directory / "warc", level=1)
    for number in range(pages):
        archive.write(page(number, f"<p>{number} {words[:page_bytes]}</p>".encode()), metadata={})
    archive.close()


@pytest.fixture(scope="module")
def crawls(tmp_path_factory, page):
    """A crawl of three pages of some kilobytes, and one of 200 MB."""
    small, large = (tmp_path_factory.mktemp(name) for name in ("small", "large"))
    write(small, page, 3, 5_000)
    write(large, page, PAGES, PAGE_BYTES)
    return small, large


@pytest.mark.parametrize(("arguments", "megabytes"), [
    (["export", "--to", "parquet"], 130),  # a row group, in Python, in Arrow and as it is written
    (["export", "--to", "jsonl"], 60),
    (["export", "--to", "wet"], 60),
    (["duplicates"], 60),
    (["check"], 60),
], ids=lambda value: value[-1] if isinstance(value, list) else None)
def test_memory_does_not_grow_with_the_archive(crawls, tmp_path, arguments, megabytes):
    if arguments[0] == "export":
        arguments = [*arguments, "--output", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, crawls), *arguments],
        capture_output=True, text=True, timeout=120, check=True,
    )
    *said, measured = map(json.loads, done.stdout.splitlines())
    assert measured["codes"] == [0, 0]
    assert any(PAGES in (each.get("rows"), each.get("size"), each.get("index_lines")) for each in said)
    assert measured["grown"] < megabytes * MEGABYTE


def test_the_sorted_index_streams(tmp_path):
    number = 0
    for file in range(4):
        index = tmp_path / f"crawl-0-{file:05d}.index"
        with index.open("wb") as lines:
            for _ in range(20_000):
                number += 7_919
                url = f"http://host{number % 97}.example/{number}"
                lines.write(cdx.encode(url, "20260101000000", "text/html", 200, "sha1:" + "A" * 32,
                                       index.with_suffix(".warc.gz").name, number, 1_000))
        write_order(index)
        index.with_suffix(".warc.gz").touch()
    size = sum(path.stat().st_size for path in tmp_path.glob("*.index"))
    out = tmp_path / "out.cdxj"
    tracemalloc.start()
    try:
        assert export_cdxj(Index(tmp_path).lines(), out) == 80_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 10 * MEGABYTE
    assert peak < 2 * MEGABYTE
    assert out.stat().st_size == size
