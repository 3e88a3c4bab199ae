"""`scrapy docs`: the stored documents of a crawl, running or stopped: read, list, compare, export, check."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlerproj.commands.outcome import outcome
from crawlerproj.commands.stored_pages import StoredPages
from crawlerproj.documents import cdx
from crawlerproj.documents.cdx import Entry
from crawlerproj.documents.check import check
from crawlerproj.documents.clusters import Duplicates
from crawlerproj.documents.export import export_cdxj, export_jsonl, export_wet
from crawlerproj.documents.index import Index
from crawlerproj.documents.members import BadRecord
from crawlerproj.documents.reader import Document, Reader
from crawlerproj.documents.recovery import rebuild_index
from crawlerproj.documents.rows import Reading, archived_files, rows
from crawlerproj.parse.directives import withholds
from crawlerproj.urls.canonical import Speller

_ACTIONS = {
    "get": ("URL", "a stored document (--at TIME; --raw, --text, --headers or --links)"),
    "list": ("[PREFIX]", "the stored documents, of a host (with its subdomains) or below a URL"),
    "versions": ("URL", "every capture of a URL"),
    "duplicates": ("", "clusters of equal and similar texts (--pairs: the similar pairs)"),
    "export": ("", "all of it, --to parquet, jsonl, wet (texts, but of pages that say noindex) or cdxj"),
    "check": ("", "every record and the index against each other; exit 1 if something is wrong"),
    "reindex": ("", "make the index anew from the WARC files; not while the crawl is running"),
}
_EXPORTS = {"parquet": "export", "jsonl": "pages.jsonl", "wet": "texts.warc.wet.gz", "cdxj": "index.cdxj"}

_speller = Speller()


class NotHere(Exception):
    """What was asked for is not in the archive; the text says what to do about it."""


class Command(ScrapyCommand):
    """Reads the WARC files and their index alone: neither the crawl's state nor its lock is needed."""

    requires_crawler_process = False
    default_settings = {"LOG_LEVEL": "WARNING"}

    def syntax(self) -> str:
        actions = (f"{name} {what}".strip() for name, (what, _) in _ACTIONS.items())
        return f"[options] <{'|'.join(actions)}>"

    def short_desc(self) -> str:
        return "Read, list, compare, export and check the stored documents of a crawl"

    def long_desc(self) -> str:
        return "The stored documents of a crawl, running or stopped. " + " ".join(
            f"{name}: {text}." for name, (_, text) in _ACTIONS.items())

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--dir", metavar="DIR", help="the crawl's directory (default: CRAWL_DIR, or the "
                            "one crawl under crawls/)")
        parser.add_argument("--json", action="store_true", help="print JSON; one object a line where several")
        parser.add_argument("--at", metavar="TIME", help="get: the capture nearest to YYYYMMDDhhmmss (may be "
                            "cut) or an ISO date, in UTC")
        shown = parser.add_mutually_exclusive_group()
        for name, what in (("raw", "the body's bytes"), ("text", "the text"), ("headers", "the HTTP headers"),
                           ("links", "the links")):
            shown.add_argument(f"--{name}", action="store_const", dest="show", const=name,
                               help=f"get: {what} alone")
        parser.add_argument("--limit", type=int, default=0, metavar="N", help="list: at most N lines")
        parser.add_argument("--threshold", type=float, metavar="X", help="duplicates: least similarity "
                            "(default: NEAR_DUPLICATE_THRESHOLD)")
        parser.add_argument("--pairs", action="store_true", help="duplicates: pairs with their similarity")
        parser.add_argument("--to", choices=_EXPORTS, help="export: the format")
        parser.add_argument("--output", metavar="PATH", help="export: file, or directory for parquet "
                            "(default: in the crawl's directory)")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or args[0] not in _ACTIONS:
            raise UsageError(f"say what to do: {', '.join(_ACTIONS)}")
        action, *rest = args
        wanted = _ACTIONS[action][0]
        if len(rest) > bool(wanted) or (len(rest) < 1 and wanted == "URL"):
            raise UsageError(f"`scrapy docs {action}` takes {wanted or 'no argument'}")
        if action == "export" and not opts.to:
            raise UsageError(f"say the format: --to {', --to '.join(_EXPORTS)}")
        with outcome(self, f"scrapy docs {action}", NotHere, BadRecord, OSError, ValueError):
            getattr(self, f"_{action}")(self._directory(opts.dir), opts, *rest)

    # --- one method for each action ---

    def _get(self, directory: Path, opts: argparse.Namespace, url: str) -> None:
        reader = Reader(directory)
        document = reader.get(_spelled(url), _moment(opts.at) if opts.at else None)
        if document is None:
            raise NotHere(f"{url} is not stored. `scrapy docs list` shows what is, "
                          "`scrapy frontier why` tells the reason.")
        if not document.is_complete:
            raise NotHere(f"{url} was not modified at {document.entry.when}, and nothing older is here.")
        if opts.show == "raw":
            sys.stdout.flush()
            sys.stdout.buffer.write(document.body)
            sys.stdout.buffer.flush()
        elif opts.show == "headers":
            self._print_headers(document, opts.json)
        else:
            with StoredPages.of(self.settings) as pages:
                said = pages.read(url, document.body, document.http.header("content-type"))
            self._print_document(document, said, reader.metadata(document.entry), opts)

    def _print_headers(self, document: Document, as_json: bool) -> None:
        http = document.http
        if as_json:
            print(json.dumps({"status": http.status, "reason": http.reason, "headers": http.headers}))
            return
        print(f"{http.status} {http.reason}")
        for name, value in http.headers:
            print(f"{name}: {value}")

    def _print_document(
        self, document: Document, said: Reading, noted: dict[str, str], opts: argparse.Namespace
    ) -> None:
        links = [{"target": link.url, "anchor": link.anchor, "rel": link.rel} for link in said.links]
        if opts.show == "links":
            for link in links:
                print(json.dumps(link) if opts.json else f"{link['target']}\t{link['anchor']}")
        elif opts.json:
            print(json.dumps({
                **document.entry.plain(), "truncated": document.truncated, "title": said.title,
                "description": said.description, "language": said.language, "headings": said.headings,
                "emphasised": said.emphasised, "text": said.text, "links": links, "metadata": noted,
            }))
        elif opts.show == "text":
            print(said.text)
        else:
            print(f"{document.url}\n{document.entry.when}  {document.http.status}  {document.entry.mime}  "
                  f"{len(document.body):,} bytes  {len(links)} links\n{said.title}\n")
            print(said.text)

    def _list(self, directory: Path, opts: argparse.Namespace, prefix: str = "") -> None:
        found = Index(directory).below(_spelled(prefix) if "://" in prefix else prefix)
        for entry in islice(found, opts.limit or None):
            _print_entry(entry, opts.json)

    def _versions(self, directory: Path, opts: argparse.Namespace, url: str) -> None:
        found = Index(directory).versions(_spelled(url))
        if not found:
            raise NotHere(f"{url} is not stored. `scrapy docs list` shows what is.")
        for entry in found:
            _print_entry(entry, opts.json)

    def _duplicates(self, directory: Path, opts: argparse.Namespace) -> None:
        assert self.settings is not None
        threshold = opts.threshold or self.settings.getfloat("NEAR_DUPLICATE_THRESHOLD", 0.9)
        duplicates = Duplicates(threshold)
        index = Index(directory)
        for row in self._rows(directory, "comparing"):
            newest = index.find(row.url)
            # A page is no duplicate of its own former self.
            if newest is not None and row.place == (newest.filename, newest.offset):
                duplicates.add(row.url, row.text)
        if opts.pairs:
            for first, second, similarity in duplicates.pairs():
                pair = {"similarity": similarity, "urls": [first, second]}
                print(json.dumps(pair) if opts.json else f"{similarity:.3f}  {first}  {second}")
        else:
            for cluster in duplicates.clusters():
                kind = "equal" if cluster.is_exact else "similar"
                if opts.json:
                    print(json.dumps({"size": len(cluster.urls), "kind": kind, "urls": cluster.urls}))
                else:
                    print(f"{len(cluster.urls)} {kind}:", *cluster.urls, sep="\n  ")
        duplicates.close()

    def _export(self, directory: Path, opts: argparse.Namespace) -> None:
        path = Path(opts.output or directory.parent / _EXPORTS[opts.to])
        if opts.to == "cdxj":
            with _bar(sorted(directory.glob("*.index")), "exporting") as progress:
                count = export_cdxj(_counted(Index(directory).lines(), progress), path)
        elif opts.to == "parquet":
            from crawlerproj.documents.export_parquet import export_parquet  # half a second to import

            count = export_parquet(self._rows(directory, "exporting"), path)
        else:
            found = self._rows(directory, "exporting")
            if opts.to == "wet":
                now = time.time()
                count = export_wet((row for row in found if not withholds(row.robots, now)), path)
            else:
                count = export_jsonl(found, path)
        print(json.dumps({"rows": count, "path": str(path)}) if opts.json else f"{count:,} rows: {path}")

    def _check(self, directory: Path, opts: argparse.Namespace) -> None:
        with _bar(archived_files(directory), "checking") as progress:
            done = check(directory, progress)
        self.exitcode = 0 if done.sound else 1
        if opts.json:
            print(json.dumps({
                "sound": done.sound, "files": done.files, "records": done.records,
                "index_lines": done.index_lines, "problems": done.problems,
            }))
            return
        counts = ", ".join(f"{number:,} {kind}" for kind, number in sorted(done.records.items()))
        verdict = "sound" if done.sound else f"NOT sound, {len(done.problems)} problems"
        print(f"{verdict}: {done.files} files ({counts}), {done.index_lines:,} lines of index")
        for problem in done.problems:
            print(f"  {problem}")

    def _reindex(self, directory: Path, opts: argparse.Namespace) -> None:
        problems: list[str] = []
        count = sum(rebuild_index(path, problems) for path in archived_files(directory))
        print(json.dumps({"lines": count}) if opts.json else f"{count:,} lines of index")
        self._tell(problems)

    # --- what they share ---

    def _rows(self, directory: Path, what: str) -> Iterator[Any]:
        problems: list[str] = []
        with StoredPages.of(self.settings) as pages, _bar(archived_files(directory), what) as progress:
            yield from rows(directory, pages.read, problems, progress)
        self._tell(problems)

    def _tell(self, problems: list[str]) -> None:
        """What could not be read has been left out: the exit code says so too."""
        for problem in problems:
            print(f"scrapy docs: {problem}", file=sys.stderr)
        if problems:
            self.exitcode = 1

    def _directory(self, given: str | None) -> Path:
        """The folder with the WARC files."""
        assert self.settings is not None
        named = given or self.settings.get("CRAWL_DIR")
        crawls = [Path(named)] if named else [path.parent for path in sorted(Path("crawls").glob("*/warc"))]
        if len(crawls) > 1:
            raise NotHere(f"there are several crawls: choose one with --dir ({', '.join(map(str, crawls))})")
        directory = (crawls[0] if crawls else Path("crawls/web")) / "warc"
        if not directory.is_dir():
            raise NotHere(f"{directory} is not there: nothing has been stored, or choose a crawl with --dir")
        return directory


def _spelled(url: str) -> str:
    return _speller.spell(url if "://" in url else f"http://{url}") or url


def _moment(text: str) -> float:
    try:
        return cdx.seconds(text) if text.isdigit() else _iso(text)
    except ValueError:
        remedy = "give YYYYMMDDhhmmss (may be cut) or an ISO date"
        raise ValueError(f"--at {text!r} is no time: {remedy}.") from None


def _iso(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _print_entry(entry: Entry, as_json: bool) -> None:
    if as_json:
        print(json.dumps(entry.plain()))
    else:
        print(f"{entry.when}  {entry.status:>3}  {entry.length:>9,}  {entry.mime:<24}  {entry.url}")


def _counted(lines: Iterable[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    for line in lines:
        yield line
        progress(len(line))


@contextmanager
def _bar(files: Iterable[Path], what: str) -> Iterator[Callable[[int], None]]:
    """A progress bar over the bytes of some files, where someone is looking."""
    total = sum(path.stat().st_size for path in files)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda step: progress.advance(task, step)
