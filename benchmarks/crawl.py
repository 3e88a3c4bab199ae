"""Pages per CPU second of the whole crawler against stock Scrapy, on the same pages, in one run.

Four crawls of one demo web (no nuisances), one after the other, in turns, each in a process of its own:
  ours        frontier and archive (responses alone), synced, robots obeyed, delays zero
  all         everything: text, content-seen, archive with requests and metadata, edge log
  stock       benchmarks/stock_scrapy.py: links are followed, nothing is kept
  same work   benchmarks/stock_scrapy_same_work.py: what `all` does, with LinkExtractor, parsel, datasketch
              and warcio as pipelines; it stops after a part of the pages, being slow
CPU is user + system of the crawler process with all its threads and its children, from the engine's start to
the crawl's end, on every side alike; what comes before (imports, settings, opening the state) is stated as
start_up_cpu_seconds. `all` prints how many records of each kind it has written.

Figures: ratio_vs_scrapy (ours / stock, in pages per CPU second), ratio_vs_scrapy_all (all / stock),
ratio_vs_scrapy_same_work (all / same work), the four rates, start_up_cpu_seconds (all) and
scrapy_start_up_cpu_seconds (stock).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb
from crawlerproj.documents.members import parse_record, walk
from crawlerproj.documents.rows import archived_files

ROOT = Path(__file__).parents[1]
OURS = """
import json, sys
sys.path.insert(0, "benchmarks")
from stock_scrapy import CpuMeter
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings
options = json.loads(sys.argv[1])
settings = get_project_settings()
settings.setdict(options["settings"], priority="cmdline")
process = AsyncCrawlerProcess(settings)
crawler = process.create_crawler("web")
process.crawl(crawler, seeds=options["seeds"])
meter = CpuMeter(crawler)
process.start()
stats = crawler.stats.get_stats()
print(json.dumps({"pages": stats.get("item_scraped_count", 0), **meter.figures(),
                  "reason": stats.get("finish_reason")}))
"""

FRONTIER_AND_ARCHIVE: dict[str, object] = {
    "CONTENT_SEEN": "off", "ARCHIVE_REQUESTS": False, "ARCHIVE_METADATA": False,
    "ITEM_PIPELINES": {
        "crawlerproj.documents.pipelines.DocumentStorePipeline": 300,
        "crawlerproj.documents.pipelines.FollowLinksPipeline": 400,
    },
}


def run_ours(web: DemoWebProcess, work: Path, pages: int) -> dict[str, float]:
    return _crawl(web, work, pages, FRONTIER_AND_ARCHIVE)


def run_all(web: DemoWebProcess, work: Path, pages: int) -> dict[str, float]:
    result = _crawl(web, work, pages, {})
    print(f"run_all wrote {_written(work / 'crawl')}", flush=True)
    return result


def run_stock(web: DemoWebProcess, work: Path, pages: int) -> dict[str, float]:
    return _run([sys.executable, "benchmarks/stock_scrapy.py", *_places(work), f"--pages={pages}"])


def run_same_work(web: DemoWebProcess, work: Path, pages: int) -> dict[str, float]:
    return _run([sys.executable, "benchmarks/stock_scrapy_same_work.py", *_places(work),
                 f"--pages={pages // SAME_WORK_PART}", f"--work={work}"])


RUNS = {"ours": run_ours, "all": run_all, "stock": run_stock, "same_work": run_same_work}
SAME_WORK_PART = 3
PARTS = ("pages", "cpu_seconds", "start_up_cpu_seconds")


def _crawl(web: DemoWebProcess, work: Path, pages: int, extra: dict[str, object]) -> dict[str, float]:
    settings = {
        "CRAWL_DIR": str(work / "crawl"), "DNS_SERVERS": [web.dns_server], "FETCH_PRIVATE_ADDRESSES": True,
        "DELAY_FACTOR": 0, "DELAY_MINIMUM": 0, "LOG_LEVEL": "WARNING", "IDLE_HORIZON": 5,
        "CLOSESPIDER_PAGECOUNT": pages, **extra,
    }
    options = json.dumps({"seeds": str(work / "seeds.txt"), "settings": settings})
    return _run([sys.executable, "-c", OURS, options])


def _places(work: Path) -> list[str]:
    return [f"--seeds={work / 'seeds.txt'}", f"--hosts-file={work / 'hosts'}"]


def _run(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    if done.returncode != 0:
        raise SystemExit(f"{command[1]} failed:\n{done.stderr[-3000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _written(crawl: Path) -> dict[str, int]:
    """The records of each kind, and the bytes of the edge log."""
    kinds: Counter[str] = Counter()
    for path in archived_files(crawl / "warc"):
        kinds.update(parse_record(data).kind for _, _, data in walk(path))
    edges = sum(path.stat().st_size for path in (crawl / "edges").iterdir())
    return {**dict(sorted(kinds.items())), "edge_log_bytes": edges}


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--quick", action="store_true", help="fewer pages, one turn: under 3 minutes")
    parser.add_argument("--pages", type=int, help="pages of the web (default: 12,000; quick: 5,000)")
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--turns", type=int, help="times each side is run (default: 3; quick: 1)")
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS), help="some of the crawls")
    options = parser.parse_args()
    pages = options.pages or (5_000 if options.quick else 12_000)
    turns = options.turns or (1 if options.quick else 3)
    totals = {name: Counter[str]() for name in options.only}
    with start_demoweb(seed=7, hosts=options.hosts, pages=pages, nuisance="none") as web:
        layout = web.world.layout
        hosts = "\n".join(f"{layout.address(host)} {layout.names[host]}" for host in range(layout.hosts))
        for _ in range(turns):
            for name in options.only:
                with tempfile.TemporaryDirectory() as place:
                    work = Path(place)
                    (work / "seeds.txt").write_text("\n".join(web.seeds))
                    (work / "hosts").write_text(hosts)
                    result = RUNS[name](web, work, pages)
                print(f"{name}: {result}", flush=True)
                totals[name].update({part: result[part] for part in PARTS})
    rates = {name: total["pages"] / total["cpu_seconds"] for name, total in totals.items()}
    ratios = (("ratio_vs_scrapy", "ours", "stock"), ("ratio_vs_scrapy_all", "all", "stock"),
              ("ratio_vs_scrapy_same_work", "all", "same_work"))
    figures = {figure: round(rates[one] / rates[other], 2) for figure, one, other in ratios
               if one in rates and other in rates}
    names = {"ours": "pages_per_cpu_second", "all": "pages_per_cpu_second_all",
             "stock": "scrapy_pages_per_cpu_second", "same_work": "scrapy_pages_per_cpu_second_same_work"}
    figures |= {names[name]: round(rate, 1) for name, rate in rates.items()}
    figures |= {figure: round(totals[name]["start_up_cpu_seconds"] / turns, 2) for figure, name in (
        ("start_up_cpu_seconds", "all"), ("scrapy_start_up_cpu_seconds", "stock")) if name in totals}
    print(json.dumps({"name": "crawl", "figures": figures}))


if __name__ == "__main__":
    main()
