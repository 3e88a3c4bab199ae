"""`scrapy frontier`: questions and orders for a crawl, running or stopped."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlerproj.commands.outcome import outcome
from crawlerproj.control.client import NotAnswered, ask

_ACTIONS = {
    "stats": ("", "the crawl in numbers"),
    "hosts": ("", "the hosts with the most queued URLs (--parked: the parked ones)"),
    "why": ("URL", "why a URL is, is not, or is not yet fetched"),
    "add": ("FILE", "offer the URLs of a seed file, a URL, a comma list of URLs, or - for standard input"),
    "ban": ("HOST", "fetch nothing more from a host; its URLs stay queued"),
    "unban": ("HOST", "let a banned or parked host go on"),
    "check": ("", "prove that the state agrees with itself; exit 1 if it does not"),
}
_ARGUMENT = {"why": "url", "add": "source", "ban": "host", "unban": "host"}


class Command(ScrapyCommand):
    requires_crawler_process = False
    default_settings = {"LOG_LEVEL": "WARNING"}

    def syntax(self) -> str:
        actions = "|".join(f"{name} {what}".strip() for name, (what, _) in _ACTIONS.items())
        return f"[options] <{actions}>"

    def short_desc(self) -> str:
        return "Ask a crawl, running or stopped: " + ", ".join(_ACTIONS)

    def long_desc(self) -> str:
        return "Ask a crawl, running or stopped, or give it orders. " + " ".join(
            f"{name}: {text}." for name, (_, text) in _ACTIONS.items())

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--dir", metavar="DIR", help="the crawl's directory (default: CRAWL_DIR, else "
                            "the only crawl under crawls/, else crawls/web)")
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")
        parser.add_argument("--limit", type=int, default=20, help="hosts to list, default 20")
        parser.add_argument("--parked", action="store_true", help="list parked hosts")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or args[0] not in _ACTIONS:
            raise UsageError(f"say what to do: {', '.join(_ACTIONS)}")
        action, *rest = args
        wanted = 1 if action in _ARGUMENT else 0
        if len(rest) != wanted:
            raise UsageError(f"`scrapy frontier {action}` takes {_ACTIONS[action][0] or 'no argument'}")
        if opts.limit < 1:
            raise UsageError("--limit takes a number of hosts, 1 or more")
        arguments: dict[str, Any] = {_ARGUMENT[action]: rest[0]} if wanted else {}
        if action == "hosts":
            arguments = {"limit": opts.limit, "parked": opts.parked}
        with outcome(self, f"scrapy frontier {action}", NotAnswered, OSError):
            assert self.settings is not None
            with _readable(arguments.get("source")) as source:
                if source is not None:
                    arguments["source"] = source
                answer = ask(self.settings, self._directory(opts.dir), action, arguments)
            if action == "check" and not answer["sound"]:
                self.exitcode = 1
            print(json.dumps(answer) if opts.json else _text(action, answer))

    def _directory(self, given: str | None) -> Path:
        assert self.settings is not None
        named = given or self.settings.get("CRAWL_DIR")
        if named:
            return Path(named)
        crawls = [path.parent for path in sorted(Path("crawls").glob("*/FORMAT"))]
        if len(crawls) == 1:
            return crawls[0]
        if crawls and Path("crawls/web") not in crawls:
            names = ", ".join(map(str, crawls))
            raise NotAnswered(f"there are several crawls: choose one with --dir ({names})")
        return Path("crawls/web")


@contextmanager
def _readable(source: str | None) -> Iterator[str | None]:
    """What to add as the running crawl can read it: it stands elsewhere and has another standard input."""
    if source == "-":
        with tempfile.NamedTemporaryFile(prefix="crawlerproj-add-") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.flush()
            yield file.name
    elif source is not None and not source.startswith(("http:", "https:")) and Path(source).exists():
        yield str(Path(source).absolute())
    else:
        yield source


def _text(action: str, answer: dict[str, Any]) -> str:
    if action == "hosts":
        return _table(answer["hosts"])
    if action == "check":
        verdict = "sound" if answer["sound"] else "NOT sound"
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in answer["counts"].items())
        return "\n".join([f"{verdict}: {counts}", *answer["faults"]])
    lines = []
    for name, value in answer.items():
        if name == "running" and action != "stats":
            continue
        if name == "wake":
            value = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value)) if value else "never"
        if isinstance(value, bool):
            value = "yes" if value else "no"
        elif value is None:
            value = "none"
        elif isinstance(value, dict):
            value = ", ".join(f"{key} {n}" for key, n in value.items()) or "none"
        lines.append(f"{name.replace('_', ' '):>14}  {value}")
    return "\n".join(lines)


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "no hosts"
    lines = []
    for row in rows:
        if "parked" in row:
            wakes = row["wakes_in"]
            state = f"parked: {row['parked']}, " + ("for good" if wakes is None else f"wakes in {wakes:g} s")
        elif row.get("back_queue"):
            state = f"due in {row['due_in']:.1f} s"
        else:
            state = f"waits in front queue {row.get('front_queue')}"
        failures = f", {row['failures']} failures" if row.get("failures") else ""
        lines.append(f"{row['queued']:>9}  {row['host']:<40}  {state}{failures}")
    return "\n".join([f"{'queued':>9}  {'host':<40}  state", *lines])
