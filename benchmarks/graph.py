"""How small is the compressed graph, and how fast is it asked?

On cnr-2000 (a real web graph, 325,557 nodes, 3,216,152 links, from the conformance data) and its
transpose, everything counted that a reader needs: stream, tables, offsets, as bytes of the file. URL
dictionary: the pages of a demo web. Emission: the edge log's share of the CPU time of a crawl.

    python benchmarks/graph.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlerproj.demoweb.process import start_demoweb
from crawlerproj.graph.build import build
from crawlerproj.graph.classic import encode
from crawlerproj.graph.classic_decode import decode
from crawlerproj.graph.classic_files import gamma_bits, read_classic
from crawlerproj.graph.compact import write_compact
from crawlerproj.graph.compact_files import CompactGraph
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.graph.manifest import Manifest
from crawlerproj.graph.rank import component_sizes, pagerank
from crawlerproj.graph.rows import Rows
from crawlerproj.graph.url_ids import UrlIds
from crawlerproj.graph.url_ids_write import UrlIdsWriter
from crawlerproj.graph.url_keys import key_of, url_of
from crawlerproj.graph.warm import warm
from crawlerproj.items import Link

ROOT = Path(__file__).resolve().parents[1]
QUERIES = 200_000


def spent(work: Callable[[], object], runs: int = 3) -> float:
    """The least CPU seconds of some runs."""
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def usual(work: Callable[[], object], runs: int = 5) -> float:
    """The median CPU seconds of some runs."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def measure(rows: Rows, way: str, path: Path) -> tuple[CompactGraph, dict[str, float]]:
    """Both formats of one graph."""
    stream, offsets = encode(rows)
    wanted = np.random.default_rng(1).integers(0, rows.nodes, QUERIES)
    start = time.process_time()
    size = write_compact(lambda: [rows], rows.arcs, path)
    written = time.process_time() - start
    graph = CompactGraph(path)
    assert np.array_equal(graph.all_rows().targets, rows.targets)
    suffix = "" if way == "out" else "_in"
    millions = rows.arcs / 1e6
    return graph, {
        f"classic_bits_per_link_{way}": (8 * len(stream) + gamma_bits(np.diff(offsets)) + 1) / rows.arcs,
        f"classic_encode_marcs_per_s_{way}": millions / spent(lambda: encode(rows)),
        f"classic_scan_marcs_per_s_{way}": millions / spent(lambda: decode(stream, rows.nodes, rows.arcs)),
        f"encode_marcs_per_s_{way}": millions / written,
        f"bits_per_link_{way}": size.bits_per_link,
        f"random_us_per_node{suffix}": spent(lambda: graph.rows(wanted)) / QUERIES * 1e6,
        f"scan_marcs_per_s{suffix}": millions / spent(lambda: [None for _ in graph.scan()]),
    }


def codec(folder: Path, work: Path) -> dict[str, float]:
    figures: dict[str, float] = {}
    graphs: dict[str, CompactGraph] = {}
    for name, way in (("cnr-2000", "out"), ("cnr-2000-t", "in")):
        graphs[way], measured = measure(read_classic(folder / name), way, work / name)
        figures |= measured
    steps: list[int] = []
    figures["pagerank_s"] = spent(lambda: steps.append(len(pagerank(graphs["in"]).residuals)))
    figures["pagerank_steps"] = steps[0]
    figures["pagerank_off_compressed_s"] = spent(lambda: pagerank(graphs["in"], memory=1))
    figures["components_s"] = spent(lambda: component_sizes(graphs["out"].all_rows()))
    return figures


def dictionary(work: Path, pages: int) -> dict[str, float]:
    from crawlerproj.demoweb.layout import Layout

    layout = Layout(1, pages // 200, pages, 20001)
    sizes = layout.sizes
    keys = sorted(
        key_of(layout.url(host, page)) for host in range(layout.hosts) for page in range(sizes[host])
    )
    start = time.process_time()
    writer = UrlIdsWriter(work / "urls", len(keys), keys)
    writer.add(keys)
    size = writer.close()
    made = time.process_time() - start
    urls = UrlIds(work / "urls")
    numbers = random.Random(1).choices(range(len(keys)), k=20_000)
    names = [url_of(keys[number]) for number in numbers]
    assert [urls.id_of(name) for name in names] == numbers
    return {
        "url_dictionary_bytes": size / len(keys),
        "url_dictionary_urls": len(keys),
        "url_dictionary_make_us": made / len(keys) * 1e6,
        "url_lookup_us": usual(lambda: [urls.id_of(name) for name in names]) / len(names) * 1e6,
        "url_of_id_us": usual(lambda: [urls.url_of(number) for number in numbers]) / len(names) * 1e6,
    }


def first_query(work: Path) -> float:
    """Wall seconds from the start of a process to its first answer."""
    log = EdgeLog(work / "edges")
    for number in range(1_000):
        links = [Link(f"http://h.example/{n}", "x") for n in range(number, number + 20)]
        log.append(f"http://h.example/{number}", links, 1.0)
    log.close()
    build(work / "edges", work / "graph", now=0.0)
    code = (
        "import sys; from crawlerproj.graph.connectivity import ConnectivityServer\n"
        "print(len(ConnectivityServer.open(sys.argv[1]).inlinks('http://h.example/500')))"
    )
    best = float("inf")
    for _ in range(4):
        start = time.monotonic()
        command = [sys.executable, "-c", code, str(work / "graph")]
        run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        best = min(best, time.monotonic() - start)
        assert int(run.stdout) == 20
    return best


CRAWL = """
import json, resource, sys, time
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
from crawlerproj.graph.edge_log import EdgeLog
spent = 0.0
def timed(method):
    def call(*arguments, **options):
        global spent
        start = time.thread_time()
        try:
            return method(*arguments, **options)
        finally:
            spent += time.thread_time() - start
    return call
for name in ("append", "lengths", "flush_and_sync", "close"):
    setattr(EdgeLog, name, timed(getattr(EdgeLog, name)))
options = json.loads(sys.argv[1])
settings = get_project_settings()
settings.setdict(options["settings"], priority="cmdline")
process = AsyncCrawlerProcess(settings)
crawler = process.create_crawler("web")
process.crawl(crawler, seeds=options["seeds"])
before = time.process_time()
process.start()
cpu = time.process_time() - before
print(json.dumps({"pages": crawler.stats.get_value("item_scraped_count", 0), "cpu": cpu, "log": spent}))
"""


def emission(work: Path, pages: int) -> dict[str, float]:
    """The share of the edge log, compression and disk included, in the CPU time of a whole crawl.

    The graph built from that log shows the codec on a web it was not tuned on (a random one: links of a
    demo web have little in common, so they cost more than those of a real site).
    """
    with start_demoweb(seed=7, hosts=40, pages=pages, nuisance="none") as web:
        (work / "seeds.txt").write_text("\n".join(web.seeds))
        settings = {
            "CRAWL_DIR": str(work / "crawl"),
            "DNS_SERVERS": [web.dns_server],
            "FETCH_PRIVATE_ADDRESSES": True,
            "DELAY_FACTOR": 0,
            "DELAY_MINIMUM": 0,
            "LOG_LEVEL": "WARNING",
            "IDLE_HORIZON": 5,
            "CLOSESPIDER_PAGECOUNT": pages,
        }
        options = json.dumps({"seeds": str(work / "seeds.txt"), "settings": settings})
        command = [sys.executable, "-c", CRAWL, options]
        run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    found = json.loads(run.stdout.splitlines()[-1])
    built = build(work / "crawl" / "edges", work / "crawl" / "graph", now=0.0)
    url = Manifest.read(built).levels["url"]
    return {
        "demo_links": url["links"],
        "demo_bits_per_link_out": 8 * url["out_bytes"] / url["links"],
        "demo_bits_per_link_in": 8 * url["in_bytes"] / url["links"],
        "emission_share": found["log"] / found["cpu"],
        "emission_us_per_page": found["log"] / found["pages"] * 1e6,
        "crawl_us_per_page": found["cpu"] / found["pages"] * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a smaller demo web")
    options = parser.parse_args()
    data = Path(os.environ.get("CONFORMANCE_DATA", ROOT.parent / "shared" / "data"))
    warm()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if (data / "graph" / "cnr-2000").is_dir():
            figures |= codec(data / "graph" / "cnr-2000", work)
        else:
            print(f"{data}/graph/cnr-2000 is missing: set CONFORMANCE_DATA", file=sys.stderr)
        figures |= dictionary(work, 200_000 if options.quick else 1_000_000)
        figures["first_query_s"] = first_query(work)
        figures |= emission(work, 1_500 if options.quick else 5_000)
    for name, value in figures.items():
        print(f"{name:34} {value:12.3f}", file=sys.stderr)
    print(
        json.dumps({"name": "graph", "figures": {name: round(value, 4) for name, value in figures.items()}})
    )


if __name__ == "__main__":
    main()
