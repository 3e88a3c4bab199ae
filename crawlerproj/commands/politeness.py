"""`scrapy politeness LOG`: was the crawl that an access log tells of polite?"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from protego import Protego
from scrapy.commands import ScrapyCommand

from crawlerproj.commands.outcome import outcome
from crawlerproj.judge.rules import ROBOTS_EXPIRY_SECONDS, TOLERANCE_SECONDS, judge
from crawlerproj.judge.server_logs import read_server_log
from crawlerproj.judge.visits import Record, UnreadableLog, Visit, read_json_lines
from crawlerproj.urls.hosts import registered_domain

_GROUPS: dict[str, Callable[[Visit], str]] = {
    "host": lambda visit: visit.host,
    "domain": lambda visit: registered_domain(visit.host),
    "address": lambda visit: visit.address,
}
_NUMBERS = (
    ("factor", 10.0, "gap / duration of the request before (default 10)"),
    ("minimum", 2.0, "least gap in seconds (default 2)"),
    ("maximum", 300.0, "most seconds that the factor asks for (default 300)"),
    ("robots-expiry", ROBOTS_EXPIRY_SECONDS, "seconds until robots.txt is asked for again (default a day)"),
    ("tolerance", TOLERANCE_SECONDS, "seconds by which a time stamp may be late (default 0.005)"),
)


class Command(ScrapyCommand):
    """Exit status 0: polite; 1: violations, or a log that cannot be read."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[options] LOG"

    def short_desc(self) -> str:
        return "Judge the politeness of a crawl by an access log (demo web, nginx, Apache)"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        for name, default, help_text in _NUMBERS:
            parser.add_argument(f"--{name}", type=float, default=default, help=help_text, metavar="N")
        parser.add_argument(
            "--group", choices=_GROUPS, default="host", help="who shares one clock (default host)"
        )
        parser.add_argument(
            "--robots", metavar="FILE", help="the site's robots.txt, for logs of nginx and Apache"
        )
        parser.add_argument(
            "--agent", metavar="TEXT", default="", help="only lines whose user agent contains TEXT"
        )
        parser.add_argument("--json", action="store_true", help="print the verdict as JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        with outcome(self, "politeness", UnreadableLog):
            if len(args) != 1:
                raise UnreadableLog("give one log file, as in: scrapy politeness access.log")
            record = _record(Path(args[0]), opts)
            verdict = judge(
                record,
                opts.factor,
                opts.minimum,
                opts.maximum,
                robots_expiry=opts.robots_expiry,
                tolerance=opts.tolerance,
                group_of=_GROUPS[opts.group],
            )
            self.exitcode = 1 if verdict.violations else 0
            print(json.dumps(verdict.as_json()) if opts.json else verdict.as_text())


def _record(path: Path, opts: argparse.Namespace) -> Record:
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return _read(lines.readlines(), opts)
    except OSError as error:
        what = f"cannot read {error.filename}: {error.strerror}; give a file that can be read"
        raise UnreadableLog(what) from error


def _read(lines: list[str], opts: argparse.Namespace) -> Record:
    first = next(filter(None, map(str.strip, lines)), "")
    if first.startswith("{"):
        return read_json_lines(lines)
    record = read_server_log(lines)
    agents = {visit.agent for visit in record.visits}
    record.visits = [visit for visit in record.visits if opts.agent in visit.agent]
    if agents and not record.visits:
        # Nobody is polite by not being there.
        raise UnreadableLog(f"no line is of an agent with {opts.agent!r} in its name: give --agent another "
                            f"part of one, such as {min(agents)!r}")
    if opts.robots:
        rules = Protego.parse(Path(opts.robots).read_text(encoding="utf-8", errors="replace"))
        agent = opts.agent or "*"
        delay = rules.crawl_delay(agent)
        for visit in record.visits:
            visit.forbidden = not rules.can_fetch(visit.url, agent)
            visit.crawl_delay = None if delay is None else float(delay)
    return record
