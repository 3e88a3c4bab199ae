"""The graph for other programs: WebGraph's files with the names beside them, or lines of text."""

from __future__ import annotations

from pathlib import Path

from crawlerproj.graph.classic_files import write_classic
from crawlerproj.graph.connectivity import ConnectivityServer

_AT_ONCE = 1 << 20  # links in memory


def export_webgraph(server: ConnectivityServer, basename: Path, level: str = "url") -> None:
    """`<basename>.graph` and its companions, `<basename>-t.*` for the in-links, and `<basename>.nodes`.

    Line n of `.nodes` is the name of node n. For Java WebGraph as it is, for webgraph-rs after `webgraph
    build ef <basename>`.
    """
    graph = server.level(level)
    basename.parent.mkdir(parents=True, exist_ok=True)
    for links, ending in ((graph.out, ""), (graph.back, "-t")):
        write_classic((rows for _, rows in links.scan(_AT_ONCE)), basename.with_name(basename.name + ending))
    with basename.with_name(basename.name + ".nodes").open("w", encoding="utf-8") as file:
        for number in range(graph.out.nodes):
            file.write(graph.title(number) + "\n")


def export_text(server: ConnectivityServer, path: Path, level: str = "url") -> None:
    """Lines `source<TAB>target`, in the order of the names."""
    graph = server.level(level)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for first, rows in graph.out.scan(_AT_ONCE):
            for index in range(rows.nodes):
                row = rows.row(index)
                if len(row):
                    source = graph.title(first + index)
                    file.writelines(f"{source}\t{graph.title(int(target))}\n" for target in row)
