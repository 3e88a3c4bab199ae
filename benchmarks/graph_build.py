"""How fast is a graph built, and in how much memory?

Writes an edge log of generated pages of 50 links each (1 M pages; with --quick 200,000): navigation,
pages of the same host, pages of other hosts by a power law, and one page outside (--hub: the same for all).
Then builds the graph in a process of its own, whose CPU seconds and largest memory are the figures.

    python benchmarks/graph_build.py [--quick] [--pages N] [--links N] [--hub] [--memory BYTES] [--keep DIR]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

WORDS = (
    "home",
    "about",
    "news",
    "read",
    "more",
    "contact",
    "products",
    "story",
    "archive",
    "index",
    "next",
    "top",
)


def write_log(directory: Path, pages: int, each: int, hub: bool) -> float:
    """Writes the log; gives the CPU seconds of the appends alone."""
    from crawlerproj.demoweb.layout import Layout
    from crawlerproj.graph.edge_log import EdgeLog
    from crawlerproj.items import Link

    hosts = max(40, pages // 100)
    layout = Layout(1, hosts, pages, 80)
    words = list(WORDS)
    chance = random.Random(1).random
    log = EdgeLog(directory)
    urls = [[layout.url(host, page) for page in range(size)] for host, size in enumerate(layout.sizes)]
    spent, number = 0.0, 0
    for mine in urls:
        size = len(mine)
        for page in mine:
            links = [Link(url, words[n]) for n, url in enumerate(mine[: each // 5])]
            while len(links) < each // 2:
                links.append(Link(mine[int(size * chance())], words[int(12 * chance())]))
            while len(links) < each - 1:
                host = urls[int(hosts ** chance()) - 1]
                text = f"{words[int(12 * chance())]} {words[int(12 * chance())]} {int(1000 * chance())}"
                links.append(Link(host[int(len(host) ** chance()) - 1], text))
            outside = "http://hub.example/" if hub else f"http://outside{number % 997}.example/{number}.html"
            links.append(Link(outside, "", "nofollow"))
            start = time.process_time()
            log.append(page, links, 1_700_000_000.0 + number)
            spent += time.process_time() - start
            number += 1
    start = time.process_time()
    log.close()
    return spent + time.process_time() - start


def build_alone(edges: Path, graph: Path, memory: int) -> None:
    """Runs in a process of its own: builds, prints what it took."""
    from crawlerproj.graph.build import build
    from crawlerproj.graph.manifest import Manifest
    from crawlerproj.graph.warm import warm

    warm()
    steps: dict[str, float] = {}
    last = start = time.process_time()

    def progress(step: str, done: int, total: int) -> None:
        nonlocal last
        now = time.process_time()
        steps[step] = steps.get(step, 0.0) + now - last
        last = now

    built = build(edges, graph, time.time(), memory, progress=progress)
    spent = time.process_time() - start
    for step, seconds in steps.items():
        print(f"  {step:24} {seconds:6.2f} s", file=sys.stderr)
    manifest = Manifest.read(built)
    told = {"seconds": spent, "peak": peak_bytes(), "links": manifest.links_read, "levels": manifest.levels}
    print(json.dumps(told))


def peak_bytes() -> int:
    """The most memory this process has held. (`ru_maxrss` begins with what its parent held.)"""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="200,000 pages")
    parser.add_argument("--pages", type=int, help="pages (1,000,000)")
    parser.add_argument("--links", type=int, default=50, help="links of each page (50)")
    parser.add_argument("--hub", action="store_true", help="every page links to one page outside")
    parser.add_argument("--memory", type=int, default=1 << 30, help="bytes allowed (1 GiB)")
    parser.add_argument("--keep", type=Path, help="folder to keep log and graph in")
    parser.add_argument("--build", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        build_alone(*options.build, options.memory)
        return
    pages = options.pages or (200_000 if options.quick else 1_000_000)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="graph-build-"))
    try:
        edges = folder / "edges"
        append = 0.0
        if not edges.exists():
            append = write_log(edges, pages, options.links, options.hub)
        command = [sys.executable, __file__, "--memory", str(options.memory), "--build"]
        run = subprocess.run(
            [*command, str(edges), str(folder / "graph")], stdout=subprocess.PIPE, text=True, check=True
        )
        answer = json.loads(run.stdout.splitlines()[-1])
        url = answer["levels"]["url"]
        figures = {
            "medges": answer["links"] / 1e6,
            "medges_per_cpu_second": answer["links"] / 1e6 / answer["seconds"],
            "build_cpu_s": answer["seconds"],
            "build_rss_mb": answer["peak"] / 1e6,
            "memory_setting_mb": options.memory / 1e6,
            "append_us_per_page": append / pages * 1e6,
            "log_bytes_per_link": sum(p.stat().st_size for p in edges.iterdir()) / answer["links"],
            "bits_per_link_out": 8 * url["out_bytes"] / url["links"],
            "bits_per_link_in": 8 * url["in_bytes"] / url["links"],
            "url_dictionary_bytes": url["name_bytes"] / url["nodes"],
        }
        print(json.dumps({"name": "graph_build", "figures": {n: round(v, 3) for n, v in figures.items()}}))
    finally:
        if not options.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
