"""A crawl of a demo web in processes of their own, as a user would run it; killed, watched and judged.

The rules are the product's, the waits are not: `HASTE` is all that differs from settings.py. Its horizon is
above ten times the timeout, so that no crawl ends as `waiting` for a page that a busy machine let time out.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from crawlerproj.demoweb.coverage import Coverage, coverage
from crawlerproj.demoweb.process import start_demoweb
from crawlerproj.judge.rules import judge
from crawlerproj.judge.verdict import Verdict
from crawlerproj.judge.visits import read_json_lines

ROOT = Path(__file__).resolve().parents[2]
FACTOR, MINIMUM = 10, 0.1
HASTE: dict[str, Any] = {
    "DELAY_FACTOR": FACTOR, "DELAY_MINIMUM": MINIMUM, "DOWNLOAD_TIMEOUT": 2, "BACKOFF_BASE": 0.2,
    "BACKOFF_MAXIMUM": 2, "HOST_FAILURES_MAXIMUM": 4, "DNS_FIRST_WAIT": 0.5, "DNS_LAST_WAIT": 3,
    "DNS_NEGATIVE_TTL": 1, "IDLE_HORIZON": 30,
}
_ALWAYS = {"FETCH_PRIVATE_ADDRESSES": 1, "DISK_FREE_MINIMUM": 0, "LOG_LEVEL": "INFO"}
# Inside a commit, where a crash is most likely to tear something.
FAULTS = ("before_files", "before_batch", "after_batch", "after_sync")
_LINE_BYTES = 300  # of the access log, about
_LONGEST_SECONDS = 3600


@dataclass
class Crawl:
    """One demo web and the crawl of it, until both are closed."""

    name: str
    directory: Path
    seed: int
    hosts: int
    pages: int
    nuisance: str
    settings: dict[str, Any] = field(default_factory=dict)
    port: int = 0  # any free one
    peak_bytes: int = 0
    kills: int = 0
    starts: int = 0

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.log = self.directory / "access.jsonl"
        self.output = self.directory / "crawl.log"
        self.web = start_demoweb(self.seed, self.hosts, self.pages, self.nuisance, self.log,
                                 self.port)
        (self.directory / "seeds.txt").write_text("\n".join(self.web.seeds))

    def close(self) -> None:
        self.web.stop()

    def run(self) -> int:
        """To its end; the exit status."""
        process = self._start()
        self._watch(process, None)
        return process.wait()

    def run_killed(self, fetches: int, rng: random.Random) -> None:
        """kill -9 after so many further answers of the server, and up to a tenth of a second."""
        process = self._start()
        self._watch(process, fetches)
        time.sleep(rng.random() * 0.1)
        process.kill()
        self.kills += process.wait() == -signal.SIGKILL

    def run_with_fault(self, fault: str) -> None:
        """Killed by itself at a point inside a commit."""
        process = self._start(fault)
        self._watch(process, None)
        self.kills += process.wait() == -signal.SIGKILL

    def _start(self, fault: str = "") -> subprocess.Popen[bytes]:
        self.starts += 1
        chosen = {**HASTE, **_ALWAYS, "DNS_SERVERS": self.web.dns_server,
                  "CRAWL_DIR": self.directory / "crawl", **self.settings}
        pairs = [part for name, value in chosen.items() for part in ("-s", f"{name}={value}")]
        command = [sys.executable, "-m", "scrapy", "crawl", "web",
                   "-a", f"seeds={self.directory / 'seeds.txt'}", *pairs]
        with self.output.open("ab") as output:
            return subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output,
                                    env={**os.environ, "CRAWLERPROJ_FAULT": fault})

    def _watch(self, process: subprocess.Popen[bytes], fetches: int | None) -> None:
        """Until the crawl has ended or has fetched so much; keeps its peak memory, tells how it goes."""
        wanted = None if fetches is None else self._log_bytes() + fetches * _LINE_BYTES
        deadline = time.monotonic() + _LONGEST_SECONDS
        told = looked = 0.0
        while process.poll() is None:
            now = time.monotonic()
            if now > looked + 0.5:
                looked = now
                self.peak_bytes = max(self.peak_bytes, _peak_of(process.pid))
            if now > told + 20:
                told = now
                self.say(f"about {self._log_bytes() // _LINE_BYTES:,} answers")
            if now > deadline:
                process.kill()
                raise TimeoutError(f"the crawl did not end in {_LONGEST_SECONDS} s")
            if wanted is not None and self._log_bytes() >= wanted:
                return
            time.sleep(0.02)

    def say(self, text: str) -> None:
        print(f"  {self.name}: {time.monotonic() - self.began:5.0f} s, {self.kills} kills, "
              f"{self.peak_bytes >> 20} MiB: {text}", flush=True)

    def _log_bytes(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    # --- what came of it ----------------------------------------------------------------------

    def last_words(self) -> str:
        return self.output.read_text(errors="replace")[-2000:] if self.output.exists() else ""

    def ended_with(self) -> str:
        """The reason in the log's last `Closing spider`."""
        words = self.output.read_text(errors="replace") if self.output.exists() else ""
        return words.rpartition("Closing spider (")[2].partition(")")[0]

    def frontier(self, question: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "frontier", question, "--dir", str(self.directory / "crawl"),
             "--json"],
            cwd=ROOT, capture_output=True, text=True, timeout=600,
        )
        if done.returncode:
            return {"sound": False, "said": done.stdout[-500:] + done.stderr[-500:]}
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def fetched(self) -> Counter[str]:
        """How often each URL was asked for, robots.txt left out."""
        urls = (json.loads(line).get("url") for line in self.log.open(encoding="utf-8"))
        return Counter(url for url in urls if url and not url.endswith("/robots.txt"))

    def stored(self) -> dict[str, list[str]]:
        """Status and digest of each whole response stored for a URL, read to the end by another's reader."""
        found: dict[str, list[str]] = {}
        for path in sorted((self.directory / "crawl" / "warc").glob("*.warc.gz")):
            with path.open("rb") as stream:
                for record in ArchiveIterator(stream, check_digests="raise"):
                    if record.rec_type == "response":
                        record.content_stream().read()
                        headers = record.rec_headers
                        if headers.get_header("WARC-Truncated"):
                            continue  # kept as it came, and asked for again
                        status = record.http_headers.get_statuscode() if record.http_headers else ""
                        digest = f"{status} {headers.get_header('WARC-Payload-Digest')}"
                        found.setdefault(headers.get_header("WARC-Target-URI"), []).append(digest)
        return found

    def coverage(self, fetched: Counter[str], stored: dict[str, list[str]]) -> Coverage:
        return coverage(self.web.truth(), fetched, stored)

    def verdict(self) -> Verdict:
        with self.log.open(encoding="utf-8") as lines:
            factor, minimum = (float(self.settings.get(name, HASTE[name]))
                               for name in ("DELAY_FACTOR", "DELAY_MINIMUM"))
            return judge(read_json_lines(lines), factor, minimum)


def _peak_of(pid: int) -> int:
    """The largest resident size the process has had so far, in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    sizes = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(next(sizes, "0")) * 1024
