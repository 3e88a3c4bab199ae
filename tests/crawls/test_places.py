"""Who waits does not hold up the others: places for transfers."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .conftest import HASTE, ROOT

PAGES = [f"/{number}" for number in range(8)]


class Host(BaseHTTPRequestHandler):
    """Eight quick pages at 127.0.0.2; one at 127.0.0.3 that waits for all of them to be asked for."""

    wanted: set[str]
    all_asked: threading.Event
    answered: list[tuple[str, str]]

    def do_GET(self) -> None:
        host = str(self.connection.getsockname()[0])
        if self.path == "/robots.txt":
            self.send_error(404)
            return
        if host == "127.0.0.3":
            self.all_asked.wait(200)
        body = f"<title>{self.path}</title>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.answered.append((host, self.path))
        self.wanted.discard(self.path)
        if not self.wanted:
            self.all_asked.set()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(address: str, handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer((address, 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{address}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_slow_transfer_gives_its_place_to_others(tmp_path):
    """With one place in all, the page that waits for the others can only come last."""
    answered: list[tuple[str, str]] = []
    handler = type("Asked", (Host,), {
        "wanted": set(PAGES), "all_asked": threading.Event(), "answered": answered})
    with served("127.0.0.2", handler) as quick, served("127.0.0.3", handler) as slow:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join([f"{slow}/last", *(quick + path for path in PAGES)]))
        settings = {**HASTE, "CRAWL_DIR": str(tmp_path / "crawl"), "CONCURRENT_REQUESTS": "1",
                    "FETCH_SLOW_AFTER": "0.05", "FETCH_FIRST_BYTE_TIMEOUT": "200", "DOWNLOAD_TIMEOUT": "200",
                    "DELAY_FACTOR": "0", "SOFT_404_PROBE": "0"}
        pairs = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        command = [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={seeds}", *pairs]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr[-3000:]
    assert answered[-1] == ("127.0.0.3", "/last")
    assert {path for _, path in answered[:-1]} == set(PAGES)
