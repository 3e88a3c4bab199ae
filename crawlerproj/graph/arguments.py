"""The arguments of `scrapy graph`: what each action is for and takes. Imports no kernels."""

from __future__ import annotations

import argparse
from pathlib import Path

ACTIONS = {
    "build": "make the graph from the edge logs of all workers; readers switch to it when it is whole",
    "outlinks": "what a URL (or host, or domain) links to",
    "inlinks": "what links to it",
    "anchors": "what others write on their links to a URL: source, text, rel",
    "degree": "how many links lead out of it and to it",
    "neighbourhood": "what lies within some steps of it",
    "path": "a shortest way by links from one to another; exit 1 if there is none",
    "stats": "sizes, and with --components the strongly connected components",
    "top": "the largest by in-links, out-links or rank",
    "rank": "PageRank of URLs or hosts; --feed-frontier hands the hosts' to a crawl's prioritiser",
    "export": "write it for other programs: WebGraph's files, or lines of text",
    "check": "read every byte of the build in use and say what is wrong with it; exit 1 if anything is",
    "serve": "answer over HTTP (JSON) on loopback",
}
WALK = 10_000
_LIMITS = {"top": "at most N lines (10)", "neighbourhood": f"at most N lines ({WALK:,})"}
_ARGUMENTS = {"outlinks": 1, "inlinks": 1, "anchors": 1, "degree": 1, "neighbourhood": 1, "path": 2}


def add_arguments(action: str, parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-s", "--set", action="append", metavar="NAME=VALUE", default=argparse.SUPPRESS, help="set a setting"
    )
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="the crawl's directory (default: CRAWL_DIR, or the one crawl under crawls/)",
    )
    if action != "serve":
        parser.add_argument("--json", action="store_true", help="print JSON; one object a line where several")
    if action in _ARGUMENTS:
        parser.add_argument(
            "name", metavar="URL", help="a URL; on another level a host or domain"
        )
    if action == "path":
        parser.add_argument("end", metavar="URL", help="where the way leads to")
    if action not in ("build", "anchors", "check", "serve"):
        parser.add_argument(
            "--level", choices=("url", "host", "domain"), default="url", help="whose links (url)"
        )
    if action in ("outlinks", "inlinks", "anchors", "neighbourhood", "top"):
        parser.add_argument(
            "--limit", type=_whole, default=0, metavar="N", help=_LIMITS.get(action, "at most N lines (all)")
        )
    _add_own_arguments(action, parser)


def _add_own_arguments(action: str, parser: argparse.ArgumentParser) -> None:
    if action == "build":
        parser.add_argument(
            "--edges", type=Path, metavar="DIR", help="the logs (default: edges/ of the crawl)"
        )
        parser.add_argument("--memory", type=_whole, metavar="BYTES", help="memory (GRAPH_BUILD_MEMORY)")
        parser.add_argument("--no-anchors", action="store_true", help="leave the anchor texts out")
    elif action == "neighbourhood":
        parser.add_argument("--depth", type=_whole, default=1, metavar="N", help="steps (1)")
        parser.add_argument(
            "--direction", choices=("out", "in"), default="out", help="along or against links (out)"
        )
    elif action == "stats":
        parser.add_argument("--components", action="store_true", help="count strongly connected components")
    elif action == "top":
        parser.add_argument("--by", choices=("in", "out", "rank"), default="in", help="what counts (in)")
    elif action == "rank":
        parser.add_argument("--damping", type=_share, default=0.85, help="chance to follow a link (0.85)")
        parser.add_argument(
            "--tolerance", type=_share, default=1e-9, help="settled when ranks change by less (1e-9)"
        )
        parser.add_argument(
            "--feed-frontier",
            action="store_true",
            help="write the hosts' ranks where the crawl's prioritiser looks: host-ranks.tsv",
        )
    elif action == "export":
        parser.add_argument("--to", choices=("webgraph", "text"), required=True, help="the format")
        parser.add_argument("--output", metavar="PATH", help="base name of the files, or the file")
    elif action == "serve":
        parser.add_argument(
            "--address", default="127.0.0.1", help="listen here (127.0.0.1: this machine only)"
        )
        parser.add_argument("--port", type=_whole, default=8090, help="0: any free one (8090)")


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return value
