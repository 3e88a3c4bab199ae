"""Compiles every kernel into the disk cache: `python -m crawlerproj.graph.warm`, once after installing.

It does so by using them: a small log is written, built, asked and ranked. Caches of earlier versions of
the kernels are deleted.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from crawlerproj.graph.build import build
from crawlerproj.graph.classic_files import ClassicGraph, read_classic, write_classic
from crawlerproj.graph.connectivity import ConnectivityServer
from crawlerproj.graph.edge_log import EdgeLog
from crawlerproj.graph.jit import CACHE
from crawlerproj.graph.rank import pagerank, strong_components
from crawlerproj.items import Link


def warm() -> None:
    """Uses every kernel once, in a folder that is deleted again."""
    with tempfile.TemporaryDirectory() as folder:
        edges, graph = Path(folder) / "edges", Path(folder) / "graph"
        log = EdgeLog(edges)
        for number in range(300):  # enough URLs to learn substrings from
            links = [Link(f"http://h{n % 5}.example/{n}", f"text {n}") for n in range(number, number + 9)]
            log.append(f"http://h{number % 5}.example/{number}", links, 1.0)
        log.close()
        build(edges, graph, now=0.0, memory=30_000)  # too little: sorts in parts, as large builds do
        server = ConnectivityServer.open(graph)
        urls = server.outlinks("http://h0.example/0")
        server.path(urls[0], urls[1])
        server.neighbourhood(urls[0], 1)
        server.anchors(urls[0])
        pagerank(server.level("url").back, server.level("url").out)
        rows = server.level("url").out.all_rows()
        strong_components(rows)
        rows.transposed()
        write_classic([rows], Path(folder) / "classic")
        read_classic(Path(folder) / "classic")
        ClassicGraph(Path(folder) / "classic").row(0)


def main() -> None:
    """Warms the cache and deletes those of earlier kernels."""
    if CACHE is None:
        sys.exit(1)  # the reason was told when the kernels were imported
    start = time.monotonic()
    warm()
    for other in CACHE.parent.glob("kernels-*"):
        if other != CACHE:
            shutil.rmtree(other, ignore_errors=True)
    print(f"graph kernels compiled in {time.monotonic() - start:.1f} s, kept in {CACHE}", file=sys.stderr)


if __name__ == "__main__":
    main()
