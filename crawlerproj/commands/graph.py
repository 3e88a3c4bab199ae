"""`scrapy graph`: build the link graph of a crawl, ask it, rank it, export it, check it, serve it.

What compiles kernels is imported only when an action runs: Scrapy imports every command for each command.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlerproj.commands.outcome import outcome
from crawlerproj.graph.arguments import ACTIONS, WALK, add_arguments

if TYPE_CHECKING:
    from crawlerproj.graph.connectivity import ConnectivityServer


class Command(ScrapyCommand):
    """Reads `edges/` and `graph/` of a crawl's directory alone: the crawl may be running."""

    requires_crawler_process = False
    default_settings = {"LOG_LEVEL": "WARNING"}

    def syntax(self) -> str:
        return f"<{'|'.join(ACTIONS)}> [options]"

    def short_desc(self) -> str:
        return "Build, ask, rank, export, check and serve the link graph of a crawl"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        actions = parser.add_subparsers(
            dest="action", metavar="ACTION", title="actions", prog="scrapy graph"
        )
        for name, text in ACTIONS.items():
            add_arguments(
                name, actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
            )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not opts.action or args:
            wrong = f"{' '.join(args)!r} is not understood: " if args else ""
            raise UsageError(
                f"{wrong}give one of {', '.join(ACTIONS)}; `scrapy graph ACTION --help` tells more"
            )
        from crawlerproj.graph.connectivity import UnknownNode
        from crawlerproj.graph.damage import DamagedGraph
        from crawlerproj.graph.manifest import GraphError
        from crawlerproj.graph.walks import WalkTooLarge

        expected = (GraphError, UnknownNode, DamagedGraph, WalkTooLarge, OSError, ValueError)
        with outcome(self, f"scrapy graph {opts.action}", *expected):
            self.exitcode = getattr(self, f"_{opts.action}")(opts) or 0

    # --- one method for each action; what they give is the exit code, None is 0 ---

    def _build(self, opts: argparse.Namespace) -> None:
        from crawlerproj.graph.build import build
        from crawlerproj.graph.manifest import Manifest

        assert self.settings is not None
        directory = self._directory(opts)
        memory = opts.memory or self.settings.getint("GRAPH_BUILD_MEMORY", 1 << 30)
        with _progress(opts.json) as progress:
            built = build(
                opts.edges or directory / "edges", directory / "graph", time.time(), memory,
                anchors=not opts.no_anchors, progress=progress,
            )  # fmt: skip
        _print_stats(built.name, Manifest.read(built), opts.json, {})

    def _outlinks(self, opts: argparse.Namespace) -> None:
        _print_names(self._server(opts).outlinks(opts.name, opts.level, 0, opts.limit or None), opts)

    def _inlinks(self, opts: argparse.Namespace) -> None:
        _print_names(self._server(opts).inlinks(opts.name, opts.level, 0, opts.limit or None), opts)

    def _anchors(self, opts: argparse.Namespace) -> None:
        for anchor in self._server(opts).anchors(opts.name, 0, opts.limit or None):
            print(
                json.dumps(anchor._asdict())
                if opts.json
                else "\t".join((anchor.text, anchor.source, anchor.rel))
            )

    def _degree(self, opts: argparse.Namespace) -> None:
        out, back = self._server(opts).degree(opts.name, opts.level)
        print(json.dumps({"out": out, "in": back}) if opts.json else f"{out:,} out\t{back:,} in")

    def _neighbourhood(self, opts: argparse.Namespace) -> None:
        limit = opts.limit or WALK
        found = self._server(opts).neighbourhood(opts.name, opts.depth, opts.direction, limit, opts.level)
        for name, distance in found:
            print(json.dumps({"url": name, "distance": distance}) if opts.json else f"{distance}\t{name}")
        if len(found) == limit and not opts.limit:
            print(f"scrapy graph neighbourhood: the nearest {limit:,}; --limit gives more", file=sys.stderr)

    def _path(self, opts: argparse.Namespace) -> int:
        way = self._server(opts).path(opts.name, opts.end, opts.level)
        if opts.json:
            print(json.dumps({"path": way}))
        elif way is None:
            print(f"no way leads from {opts.name} to {opts.end}", file=sys.stderr)
        else:
            print("\n".join(way))
        return 0 if way is not None else 1

    def _stats(self, opts: argparse.Namespace) -> None:
        server = self._server(opts)
        components: dict[str, Any] = {}
        if opts.components:
            from crawlerproj.graph.rank import component_sizes

            sizes = component_sizes(server.level(opts.level).out.all_rows())
            components = {"level": opts.level, "components": len(sizes), "largest": sizes[:10].tolist()}
        _print_stats(server.build.name, server.manifest, opts.json, components)

    def _top(self, opts: argparse.Namespace) -> None:
        for name, value in self._server(opts).top(opts.limit or 10, opts.by, opts.level):
            if opts.json:
                print(json.dumps({"url": name, opts.by: value}))
            else:
                print(f"{value:12.6g}  {name}")

    def _rank(self, opts: argparse.Namespace) -> int:
        from crawlerproj.graph.checked_numbers import write_floats
        from crawlerproj.graph.connectivity import rank_file
        from crawlerproj.graph.rank import pagerank
        from crawlerproj.graph.rank_table import write_rank_table

        server = self._server(opts)
        levels = ["host"] if opts.feed_frontier and opts.level != "host" else []
        converged = True
        for name in [opts.level, *levels]:
            level = server.level(name)

            def show(step: int, left: float, name: str = name) -> None:
                if sys.stderr.isatty() or step % 10 == 0:
                    print(f"{name}: step {step}, ranks changed by {left:.2e}", file=sys.stderr)

            ranks = pagerank(level.back, damping=opts.damping, tolerance=opts.tolerance, progress=show)
            converged &= ranks.converged
            write_floats(rank_file(server.build, name), ranks.values)
            report = {
                "level": name,
                "nodes": level.out.nodes,
                "steps": len(ranks.residuals),
                "residual": float(f"{ranks.residuals[-1]:.3g}") if ranks.residuals else 0.0,
                "converged": ranks.converged,
            }
            print(
                json.dumps(report)
                if opts.json
                else "  ".join(f"{key} {value}" for key, value in report.items())
            )
        if not converged:
            print("scrapy graph rank: not settled: give a larger --tolerance", file=sys.stderr)
            return 1
        if opts.feed_frontier:
            hosts = server.level("host")
            table = self._directory(opts) / "host-ranks.tsv"
            lines = write_rank_table(
                table, hosts.titles(range(hosts.out.nodes)), server.ranks("host").tolist()
            )
            print(f"{lines} hosts go up or down: {table}", file=sys.stderr)
        return 0

    def _export(self, opts: argparse.Namespace) -> None:
        from crawlerproj.graph.export import export_text, export_webgraph

        server = self._server(opts)
        if opts.to == "webgraph":
            output = Path(opts.output or "webgraph")
            export_webgraph(server, output, opts.level)
            written = f"{output}.graph, .offsets, .properties, .nodes; in-links: {output}-t.*"
        else:
            output = Path(opts.output or "links.tsv")
            export_text(server, output, opts.level)
            written = str(output)
        print(f"written: {written}", file=sys.stderr)

    def _check(self, opts: argparse.Namespace) -> int:
        from dataclasses import asdict

        from crawlerproj.graph.check import check

        with _progress(opts.json) as progress:
            done = check(self._directory(opts) / "graph", progress)
        if opts.json:
            print(json.dumps({"sound": done.sound, **asdict(done)}))
        else:
            verdict = "sound" if done.sound else f"NOT sound, {len(done.problems)} problems"
            print(
                f"{done.build or 'no build'}: {verdict}: {done.names:,} names, {done.links:,} links, "
                f"{done.anchors:,} anchors, ranks of {', '.join(done.ranks) or 'no level'}"
            )
            for problem in done.problems:
                print(f"  {problem}")
        return 0 if done.sound else 1

    def _serve(self, opts: argparse.Namespace) -> None:
        from crawlerproj.graph.serve import GraphHttpServer

        with GraphHttpServer(self._directory(opts) / "graph", opts.address, opts.port) as server:
            print(f"http://{opts.address}:{server.server_port}/stats", flush=True)
            with suppress(KeyboardInterrupt):
                server.serve_forever()

    # --- where the crawl is ---

    def _server(self, opts: argparse.Namespace) -> ConnectivityServer:
        from crawlerproj.graph.connectivity import ConnectivityServer

        return ConnectivityServer.open(self._directory(opts) / "graph")

    def _directory(self, opts: argparse.Namespace) -> Path:
        assert self.settings is not None
        named = opts.dir or self.settings.get("CRAWL_DIR")
        crawls = [Path(named)] if named else sorted(path.parent for path in Path("crawls").glob("*/edges"))
        if len(crawls) > 1:
            raise ValueError(
                f"there are several crawls: choose one with --dir ({', '.join(map(str, crawls))})"
            )
        directory = crawls[0] if crawls else Path("crawls/web")
        if not directory.is_dir():
            raise ValueError(f"{directory} is not there: nothing was crawled, or choose a crawl with --dir")
        return directory


def _print_names(names: list[str], opts: argparse.Namespace) -> None:
    for name in names:
        print(json.dumps({"url": name}) if opts.json else name)


def _print_stats(build: str, manifest: Any, as_json: bool, components: dict[str, Any]) -> None:
    from dataclasses import asdict

    if as_json:
        print(json.dumps({"build": build, **asdict(manifest), **components}))
        return
    print(
        f"{build}: {manifest.pages:,} pages in the logs ({manifest.pages_void:,} replaced by later ones), "
        f"{manifest.links_read:,} links"
    )
    for name, level in manifest.levels.items():
        links = max(level["links"], 1)
        out, back = 8 * level["out_bytes"] / links, 8 * level["in_bytes"] / links
        print(
            f"{name:6} {level['nodes']:>12,.0f} nodes  {level['links']:>13,.0f} links  "
            f"{out:6.2f} bits a link out  {back:6.2f} in  "
            f"{level['name_bytes'] / max(level['nodes'], 1):6.2f} bytes a name"
        )
    if components:
        print(
            f"{components['level']}: {components['components']:,} strongly connected components, the largest "
            + ", ".join(f"{size:,}" for size in components["largest"][:5])
        )


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each step of a build, on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:28}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as bars:
        tasks: dict[str, Any] = {}

        def progress(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield progress
