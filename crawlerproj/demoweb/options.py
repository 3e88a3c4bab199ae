"""The command line of the demo web, for `scrapy demoweb` and `python -m crawlerproj.demoweb`."""

import argparse
import asyncio
import json
import os
import sys

import uvloop

from crawlerproj.demoweb.coverage import coverage_of_log
from crawlerproj.demoweb.service import CannotServe, bind, serve
from crawlerproj.demoweb.tls import authority_pem
from crawlerproj.demoweb.truth import truth
from crawlerproj.demoweb.world import World

FIRST_HTTP_PORT = 20000
PORT_RANGE = 20000
HIGHEST_PORT = 65535


def add_world_options(parser: argparse.ArgumentParser) -> None:
    """The options that say which world it is and where it is served."""
    parser.add_argument("--seed", type=int, default=1, help="which web (default 1)")
    parser.add_argument("--hosts", type=int, default=100, help="number of hosts (default 100)")
    parser.add_argument("--pages", type=int, default=2000, help="number of pages (default 2000)")
    parser.add_argument("--port", type=int, help="HTTP port (default 20000 + seed mod 20000; 0 is any)")
    parser.add_argument("--dns-port", type=int, help="DNS port, UDP (default HTTP port + 20000; 0 is any)")
    parser.add_argument(
        "--nuisance", default="mild", help="none, mild, all or name=share,... (default mild)"
    )
    parser.add_argument("--log", metavar="FILE", help="append the access log to FILE")


def add_options(parser: argparse.ArgumentParser) -> None:
    add_world_options(parser)
    parser.add_argument(
        "--truth", nargs="?", const="lines", choices=("lines", "json"),
        help="print what a correct crawl fetches, and end; json has MAY and NEVER too",
    )  # fmt: skip
    parser.add_argument("--seeds", action="store_true", help="print the seeds, and end")
    parser.add_argument(
        "--authority", action="store_true",
        help="print the certificate by which its TLS hosts can be verified (PEM), and end",
    )  # fmt: skip
    parser.add_argument(
        "--coverage",
        metavar="LOG",
        help="hold an access log against the truth, and end; exit status 1 if it does not hold",
    )
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)


def choose_ports(seed: int, port: int | None, dns_port: int | None) -> tuple[int, int]:
    if port is None:
        port = FIRST_HTTP_PORT + seed % PORT_RANGE
    if dns_port is None:
        dns_port = port + PORT_RANGE if port else 0
    for option, value in (("--port", port), ("--dns-port", dns_port)):
        if not 0 <= value <= HIGHEST_PORT:
            raise ValueError(f"{option} {value} is no port: give one from 0 to {HIGHEST_PORT} with {option}")
    return port, dns_port


def run(options: argparse.Namespace) -> int:
    """Do what the options ask; the exit status."""
    parent = options.parent or os.getppid()
    try:
        port, dns_port = choose_ports(options.seed, options.port, options.dns_port)
        world = World(options.seed, options.hosts, options.pages, options.nuisance, port)
        if options.authority:
            print(authority_pem(options.seed).decode(), end="")
            return 0
        if options.seeds or options.truth or options.coverage:
            if port == 0:
                raise ValueError("URLs contain the port: give the one that is served with --port")
            if options.coverage:
                return _judge(world, options.coverage)
            _print(world, options.seeds, options.truth)
            return 0
        ports = bind([address for address, _ in world.endpoints()], port, dns_port)
        if port == 0:
            world = World(options.seed, options.hosts, options.pages, options.nuisance, ports.http_port)
        # A connection is opened and closed in fewer calls of the kernel without it: a fifth of the time.
        os.environ.setdefault("UV_USE_IO_URING", "0")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(world, ports, options.log, parent))
    except (ValueError, CannotServe) as error:
        print(f"demoweb: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # whoever reads the output has left
    except OSError as error:
        print(f"demoweb: {error}; give a file that can be opened (--log, --coverage)", file=sys.stderr)
        return 1
    return 0


def _judge(world: World, log: str) -> int:
    with open(log, encoding="utf-8") as lines:
        found = coverage_of_log(truth(world), lines)
    print(found.as_text())
    return 0 if found.holds else 1


def _print(world: World, seeds: bool, form: str | None) -> None:
    if seeds:
        print("\n".join(world.seeds()))
    elif form == "json":
        print(json.dumps(truth(world).as_json()))
    else:
        print("\n".join(truth(world).must))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("demoweb", description="Serve a web whose truth is known")
    add_options(parser)
    return run(parser.parse_args(arguments))
