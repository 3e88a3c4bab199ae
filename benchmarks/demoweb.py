"""Pages per CPU second of the demo web's server, and how far that is above the crawler's, in one run.

A crawl fetches each page once, so pages are asked for in turn, far more of them than the server keeps
anything of: each is made anew. The access log is written. Only the server's own CPU (user + system) counts.
Load comes from wrk if it is installed, else from a small client here. Then the web of benchmarks/crawl.py is
crawled as it does it: with everything that is on by default (`all`), and with frontier and archive only
(`ours`). Both keep their connections, for some 25 pages each.

Figures: server_pages_per_cpu_second (kept connections), server_pages_per_cpu_second_new_connections (a
connection for each page), server_pages_per_cpu_second_crawled (while it is crawled with frontier and archive
only; DNS and robots.txt cost too, and are no pages); crawler_pages_per_cpu_second (everything on),
crawler_pages_per_cpu_second_frontier_and_archive. server_headroom is the least of three: kept connections by
wrk over the FASTER crawl, and server over crawler during each crawl; server_headroom_new_connections a
connection for each page by wrk over the faster crawl, which no crawl here asks for.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import crawl

from crawlerproj.demoweb.process import DemoWebProcess, start_demoweb

SCRIPT = """
local lines, at = {}, 0
for line in io.lines(os.getenv("DEMOWEB_PATHS")) do
  local host, path = line:match("(%S+) (%S+)")
  lines[#lines + 1] = wrk.format("GET", path, {Host = host, Connection = os.getenv("DEMOWEB_CONNECTION")})
end
function request()
  at = at % #lines + 1
  return lines[at]
end
"""


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def answered(log: Path) -> int:
    with log.open("rb") as lines:
        return sum(b'"status": 200' in line for line in lines)


def paths(web: DemoWebProcess) -> list[tuple[str, str]]:
    layout = web.world.layout
    pairs = [(page, host) for host in range(layout.hosts) for page in range(layout.sizes[host])]
    # Page by page through all hosts, as a polite crawl goes.
    return [(f"{layout.names[host]}:{layout.port}", layout.path(host, page)) for page, host in sorted(pairs)]


def load_by_wrk(web: DemoWebProcess, asked: list[tuple[str, str]], seconds: float, close: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "load.lua").write_text(SCRIPT)
        (Path(place) / "paths").write_text("".join(f"{host} {path}\n" for host, path in asked))
        environment = {
            **os.environ,
            "DEMOWEB_PATHS": str(Path(place) / "paths"),
            "DEMOWEB_CONNECTION": "close" if close else "keep-alive",
        }
        address = f"http://{web.world.layout.address(0)}:{web.http_port}/"
        command = ["wrk", "-t1", "-c16", f"-d{seconds:.0f}s", "-s", str(Path(place) / "load.lua"), address]
        subprocess.run(command, env=environment, check=True, capture_output=True)


def load_by_hand(web: DemoWebProcess, asked: list[tuple[str, str]], seconds: float, close: bool) -> None:
    address = web.world.layout.address(0), web.http_port
    until = cpu_seconds(web.process.pid) + seconds
    connection = None
    for host, path in asked * 1000:
        connection = connection or socket.create_connection(address)
        kept = "close" if close else "keep-alive"
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: {kept}\r\n\r\n".encode())
        data = connection.recv(65536)
        size = data.index(b"\r\n\r\n") + 4 + int(data.split(b"Content-Length: ")[1].split(b"\r\n")[0])
        while len(data) < size:
            data += connection.recv(65536)
        if close:
            connection.close()
            connection = None
        if cpu_seconds(web.process.pid) > until:
            return


def measure(web: DemoWebProcess, log: Path, seconds: float, close: bool) -> float:
    load = load_by_wrk if shutil.which("wrk") else load_by_hand
    asked = paths(web)
    load(web, asked[:200], 1, close)
    pages, cpu = answered(log), cpu_seconds(web.process.pid)
    load(web, asked, seconds, close)
    return (answered(log) - pages) / (cpu_seconds(web.process.pid) - cpu)


def crawled(web: DemoWebProcess, log: Path, kind: str, pages: int) -> tuple[float, float]:
    """Pages per CPU second of the server while a crawl fetches so many, and of that crawl."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "seeds.txt").write_text("\n".join(web.seeds))
        served, cpu = answered(log), cpu_seconds(web.process.pid)
        result = crawl.RUNS[kind](web, Path(place), pages)
    served, cpu = answered(log) - served, cpu_seconds(web.process.pid) - cpu
    return served / cpu, result["pages"] / result["cpu_seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="shorter: under 3 minutes")
    parser.add_argument("--nuisance", default="none", help="as of scrapy demoweb (default: none)")
    options = parser.parse_args()
    seconds, pages = (8, 5_000) if options.quick else (30, 12_000)
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "access.log"
        with start_demoweb(seed=7, hosts=500, pages=20_000, nuisance=options.nuisance, log=log) as web:
            kept, new = (measure(web, log, seconds, close) for close in (False, True))
        log = Path(place) / "crawled.log"
        with start_demoweb(seed=7, hosts=200, pages=pages, nuisance=options.nuisance, log=log) as web:
            (server, default), (other, fastest) = (crawled(web, log, kind, pages) for kind in ("all", "ours"))
    headrooms = (kept / max(default, fastest), server / default, other / fastest)
    figures = {
        "server_pages_per_cpu_second": round(kept, 1),
        "server_pages_per_cpu_second_new_connections": round(new, 1),
        "server_pages_per_cpu_second_crawled": round(other, 1),
        "crawler_pages_per_cpu_second": round(default, 1),
        "crawler_pages_per_cpu_second_frontier_and_archive": round(fastest, 1),
        "server_headroom": round(min(headrooms), 2),
        "server_headroom_new_connections": round(new / max(default, fastest), 2),
    }
    print(json.dumps({"name": "demoweb", "figures": figures}))


if __name__ == "__main__":
    main()
