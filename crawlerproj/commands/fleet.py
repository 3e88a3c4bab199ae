"""`scrapy fleet`: many workers on one crawl, on this machine and others."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlerproj.commands.outcome import outcome
from crawlerproj.fleet_workers import Workers, crawl_command
from crawlerproj.opening import shared_state
from crawlerproj.storage.interface import StorageError
from crawlerproj.storage.redis.private_server import PrivateServer, socket_of
from crawlerproj.storage.redis.view import View

_ACTIONS = {
    "run": ("SPIDER", "start workers here; on another machine with the same STORAGE, they join"),
    "status": ("", "all workers of the crawl, wherever they run, and its counts"),
    "stop": ("", "end all workers cleanly; the same `run` goes on later"),
    "drain": ("WORKER...", "let these give their hosts to the others, then end"),
}
_LOOK_SECONDS = 0.5
_SAY_SECONDS = 10.0
_LEAVE_SECONDS = 120.0


class Command(ScrapyCommand):
    requires_project = True
    requires_crawler_process = False
    default_settings = {"LOG_LEVEL": "WARNING"}
    _private = False  # is the server asked the crawl's own?

    def syntax(self) -> str:
        actions = (f"{name} {what}".strip() for name, (what, _) in _ACTIONS.items())
        return f"[options] <{'|'.join(actions)}>"

    def short_desc(self) -> str:
        return "Run one crawl with many workers, on any number of machines"

    def long_desc(self) -> str:
        return ("Many workers on one crawl, whose state is in Redis (STORAGE). Without STORAGE, `run` starts "
                "a redis-server for the crawl alone, in CRAWL_DIR. ") + " ".join(
            f"{name}: {text}." for name, (_, text) in _ACTIONS.items())

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE",
                            help="run: set a spider argument, such as seeds=FILE (may be repeated)")
        parser.add_argument("--workers", type=int, default=2, help="run: processes here, default 2")
        parser.add_argument("--restarts", type=int, default=10,
                            help="run: how often a killed worker is started again, default 10")
        parser.add_argument("--dir", metavar="DIR", help="the crawl's directory (default: CRAWL_DIR, or the "
                            "one under crawls/)")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or args[0] not in _ACTIONS:
            raise UsageError(f"say what to do: {', '.join(_ACTIONS)}")
        action, *rest = args
        if action == "run" and len(rest) != 1:
            raise UsageError("name one spider: scrapy fleet run web --workers 4 -a seeds=seeds/edu.txt")
        if action in ("status", "stop") and rest:
            raise UsageError(f"`scrapy fleet {action}` takes no argument")
        if action == "run" and opts.workers < 1:
            raise UsageError("--workers must be 1 or more")
        with outcome(self, f"scrapy fleet {action}", StorageError, OSError, ValueError):
            if action == "run":
                self._run(rest[0], opts)
                return
            view = self._view(opts)
            try:
                answer = self._asked(action, rest, view)
            finally:
                view.close()
            print(json.dumps(answer) if opts.json else _text(answer))

    # --- asking -----------------------------------------------------------------------------

    def _asked(self, action: str, names: list[str], view: View) -> dict[str, Any]:
        workers = view.workers()
        if action == "drain":
            chosen = [name for name in workers if any(name == each or name.split("-")[0] == each
                                                      for each in names)]
            if not names or len(chosen) < len(names):
                raise StorageError(f"name workers that are there: {', '.join(workers) or 'none is'}")
            if len(chosen) == len(workers):
                raise StorageError("nobody would be left to take their hosts: use `scrapy fleet stop`")
        else:
            chosen = list(workers)
        answer = {"crawl": view.crawl, "counts": view.counts(), "workers": workers}
        if action == "status":
            return answer
        view.order(chosen, action)
        deadline = time.monotonic() + _LEAVE_SECONDS
        while set(chosen) & set(answer["workers"]):
            if time.monotonic() > deadline:
                left = ", ".join(sorted(set(chosen) & set(answer["workers"])))
                raise StorageError(f"{left} did not end within {_LEAVE_SECONDS:g} s: ask again, or see their "
                                   "logs")
            time.sleep(_LOOK_SECONDS)
            try:
                answer |= {"workers": view.workers(), "counts": view.counts()}
            except StorageError:
                if action != "stop" or not self._private:
                    raise
                answer["workers"] = {}  # the crawl's own server ends with its last worker
        return answer

    def _view(self, opts: argparse.Namespace) -> View:
        assert self.settings is not None
        directory = self._directory(opts.dir)
        shared = shared_state(directory)
        given = str(self.settings.get("STORAGE") or "")
        if shared is None and not given:
            raise StorageError(f"there is no fleet's crawl in {directory}: name its directory with --dir, or "
                               "its server with -s STORAGE=redis://...")
        crawl = self.settings.get("CRAWL_NAME") or (shared["crawl"] if shared else directory.name)
        url = given or (shared or {})["storage"]
        self._private = url == f"unix://{socket_of(directory)}"
        return View(self.settings, "" if url == "redis" else url, crawl)

    def _directory(self, given: str | None) -> Path:
        assert self.settings is not None
        named = given or self.settings.get("CRAWL_DIR")
        if named:
            return Path(named)
        fleets = [path.parent for path in sorted(Path("crawls").glob("*/SHARED"))]
        return fleets[0] if len(fleets) == 1 else Path("crawls/web")

    # --- running ----------------------------------------------------------------------------

    def _run(self, spider: str, opts: argparse.Namespace) -> None:
        assert self.settings is not None
        directory = Path(opts.dir or self.settings.get("CRAWL_DIR") or f"crawls/{spider}")
        directory.mkdir(parents=True, exist_ok=True)
        crawl = str(self.settings.get("CRAWL_NAME") or spider)
        storage = str(self.settings.get("STORAGE") or "")
        server = None if storage else PrivateServer(directory, crawl)
        given = dict(pair.partition("=")[::2] for pair in opts.set)
        chosen = {**given, "STORAGE": server.url if server else storage, "CRAWL_DIR": str(directory)}
        workers = Workers(crawl_command(spider, opts.spargs, chosen), directory / "logs", opts.restarts)
        view = View(self.settings, server.url if server else "" if storage == "redis" else storage, crawl)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: workers.stop())
        workers.start(opts.workers)
        where = f"redis-server in {directory}/redis" if server else storage.rpartition("@")[2]
        print(f"{opts.workers} workers on crawl {crawl!r} ({where}); logs: {workers.logs}/worker-*.log; "
              "Ctrl-C stops cleanly, the same command goes on.", flush=True)
        try:
            self._watch(workers, view)
            self._end(workers, view, directory)
            if server is not None and not view.workers():
                view.close()
                server.stop()
        finally:
            view.close()

    def _watch(self, workers: Workers, view: View) -> None:
        """Shows the fleet until the workers of this machine have ended."""
        console = Console()
        said = time.monotonic()
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while workers.running:
                time.sleep(_LOOK_SECONDS)
                workers.look()
                try:
                    answer = {"crawl": view.crawl, "counts": view.counts(), "workers": view.workers()}
                except StorageError as error:
                    answer = {"crawl": view.crawl, "counts": {}, "workers": {}, "trouble": str(error)}
                if console.is_terminal:
                    live.update(_table(answer), refresh=True)
                elif time.monotonic() - said >= _SAY_SECONDS:
                    said = time.monotonic()
                    print(_line(answer), flush=True)

    def _end(self, workers: Workers, view: View, directory: Path) -> None:
        counts = view.counts()
        print(f"{counts['done']:,} URLs done, {counts['queued']:,} queued, {counts['parked']:,} parked; "
              f"documents: {directory}/warc/*.warc.gz")
        for worker in workers.failed:
            print(f"scrapy fleet run: worker {worker.number} failed: {workers.last_words(worker)} "
                  f"({worker.log})", file=sys.stderr)
            self.exitcode = 1
        if counts["queued"]:
            print("The same command goes on with what is queued.")
        print(f"  next: scrapy frontier stats --dir {directory}")


def _line(answer: dict[str, Any]) -> str:
    if answer.get("trouble"):
        return str(answer["trouble"])
    counts, rows = answer["counts"], answer["workers"].values()
    rate = sum(row["per_second"] for row in rows)
    return (f"{counts['done']:,} done  {counts['queued']:,} queued  {counts['parked']:,} parked  "
            f"{len(rows)} workers  {sum(row['in_flight'] for row in rows)} in flight  {rate:,.0f}/s")


def _text(answer: dict[str, Any]) -> str:
    rows = [f"{name:>12}  {row['machine']}:{row['pid']}  {row['partitions']} partitions  "
            f"{row['hosts']} hosts  {row['in_flight']} in flight  {row['done']:,} done  "
            f"{row['per_second']:g}/s"
            + ("  leaving" if row.get("leaving") else "") + (f"  {row['trouble']}" if row["trouble"] else "")
            for name, row in answer["workers"].items()]
    return "\n".join([_line(answer), *(rows or ["no worker is running: scrapy fleet run SPIDER"])])


def _table(answer: dict[str, Any]) -> Table:
    table = Table(title=_line(answer), title_justify="left", box=None)
    for name in ("worker", "machine", "partitions", "hosts", "in flight", "done", "pages/s", ""):
        table.add_column(name, justify="left" if name in ("worker", "machine", "") else "right")
    for name, row in answer["workers"].items():
        state = "leaving" if row.get("leaving") else row["trouble"]
        table.add_row(name, f"{row['machine']}:{row['pid']}", str(row["partitions"]), str(row["hosts"]),
                      str(row["in_flight"]), f"{row['done']:,}", f"{row['per_second']:g}", state)
    return table


