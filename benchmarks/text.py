"""Main text: how good and how dear? Beside resiliparse's main_content and trafilatura, in the same run.

181 articles with their text (../shared/data/content): precision, recall and F1 of bags of 4-grams, the mean
over pages, as the article extraction benchmark of Scrapinghub counts them. `ms_per_page_beyond_parse` is
the CPU time of reading the text of a tree that exists, on those articles of about 30 kB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from crawlerproj.parse.text import read_text

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("CONFORMANCE_DATA", ROOT / ".." / "shared" / "data")) / "content" / "scrapinghub"
WORD = re.compile(r"\w+")

Extract = Callable[[bytes], str]


def grams(text: str) -> Counter[tuple[str, ...]]:
    words = WORD.findall(text)
    return Counter(tuple(words[at : at + 4]) for at in range(max(1, len(words) - 3)) if words)


def quality(pages: dict[str, bytes], truth: dict[str, str], extract: Extract) -> tuple[float, float, float]:
    precisions, recalls = [], []
    for name, body in pages.items():
        expected, found = grams(truth[name]), grams(extract(body))
        common = (expected & found).total()
        if found:
            precisions.append(common / found.total())
        if expected:
            recalls.append(common / expected.total())
    precision, recall = statistics.mean(precisions), statistics.mean(recalls)
    return precision, recall, 2 * precision * recall / (precision + recall)


def beyond_parse(bodies: list[bytes], rounds: int) -> tuple[float, float]:
    """Milliseconds a page of reading the text, and of the parse before it: medians over rounds."""
    texts, parses = [], []
    for _ in range(rounds):
        text = parse = 0
        for body in bodies:
            start = time.process_time_ns()
            tree = LexborHTMLParser(body)
            middle = time.process_time_ns()
            read_text(tree)
            text += time.process_time_ns() - middle
            parse += middle - start
        texts.append(text / len(bodies) / 1e6)
        parses.append(parse / len(bodies) / 1e6)
    return statistics.median(texts), statistics.median(parses)


def milliseconds(bodies: list[bytes], extract: Extract, rounds: int) -> float:
    """CPU time a page, with the parse."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for body in bodies:
            extract(body)
        times.append((time.process_time() - start) / len(bodies) * 1e3)
    return statistics.median(times)


def rivals() -> dict[str, Extract]:
    """The extractors to compare with, where they are installed."""
    found: dict[str, Extract] = {}
    try:
        from resiliparse.extract.html2text import extract_plain_text  # type: ignore[import-untyped]

        found["resiliparse"] = lambda body: extract_plain_text(
            body.decode("utf-8", "replace"), main_content=True
        )
    except ImportError:
        print("resiliparse: not installed, pip install resiliparse")
    try:
        import trafilatura

        found["trafilatura"] = lambda body: (
            trafilatura.extract(body.decode("utf-8", "replace"), include_comments=False) or ""
        )
    except ImportError:
        print("trafilatura: not installed, pip install trafilatura lxml_html_clean")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds; all pages all the same")
    options = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit(f"no articles at {DATA}: set CONFORMANCE_DATA")
    articles = json.loads((DATA / "ground-truth.json").read_text())
    truth = {name: article["articleBody"] for name, article in articles.items()}
    pages = {name: gzip.decompress((DATA / "html" / f"{name}.html.gz").read_bytes()) for name in truth}
    near_30_kb = sorted(pages.values(), key=lambda body: abs(len(body) - 30_000))[:12]
    rounds = 15 if options.quick else 60

    figures: dict[str, float] = {}
    contestants: dict[str, Extract] = {"": lambda body: read_text(LexborHTMLParser(body)).main, **rivals()}
    contestants["visible"] = lambda body: read_text(LexborHTMLParser(body)).visible
    for name, extract in contestants.items():
        precision, recall, f1 = quality(pages, truth, extract)
        label, suffix = name or "crawlerproj", f"_{name}" if name else ""
        ms = milliseconds(near_30_kb, extract, 3 if name == "trafilatura" else 15)
        print(f"{label:12} precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  {ms:.2f} ms a page")
        figures |= {f"precision{suffix}": precision, f"recall{suffix}": recall, f"f1{suffix}": f1}
        figures[f"ms_per_page{suffix}"] = ms
    beyond, parse = beyond_parse(near_30_kb, rounds)
    size = statistics.mean(map(len, near_30_kb))
    print(f"{len(near_30_kb)} pages of {size / 1e3:.0f} kB: parse {parse:.3f}, text beyond {beyond:.3f} ms")
    figures |= {"ms_per_page_beyond_parse": beyond, "ms_per_page_parse": parse, "pages": len(pages)}
    rounded = {name: round(value, 4) for name, value in figures.items()}
    print(json.dumps({"name": "text", "figures": rounded}))


if __name__ == "__main__":
    main()
