"""The workers of a fleet on this machine: processes of `scrapy crawl`, started again when they are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

_TAIL = 4_000


@dataclass(slots=True)
class Worker:
    number: int
    log: Path
    process: subprocess.Popen[bytes]
    restarts: int = 0


@dataclass(slots=True)
class Workers:
    """`restarts`: how often one that a signal has ended is started again."""

    command: list[str]
    logs: Path
    restarts: int = 10
    running: list[Worker] = field(default_factory=list)
    failed: list[Worker] = field(default_factory=list)
    stopping: bool = False

    def start(self, workers: int) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        for number in range(workers):
            log = self.logs / f"worker-{number}.log"
            self.running.append(Worker(number, log, self._process(log)))

    def _process(self, log: Path) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            # A session of its own: Ctrl-C is for the parent to pass on, once.
            return subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=output,
                                    stderr=subprocess.STDOUT, start_new_session=True)

    def look(self) -> None:
        """Takes note of those that have ended; starts again what was killed."""
        for worker in list(self.running):
            code = worker.process.poll()
            if code is None:
                continue
            if code < 0 and not self.stopping and worker.restarts < self.restarts:
                worker.restarts += 1
                worker.process = self._process(worker.log)
                continue
            self.running.remove(worker)
            if code:
                self.failed.append(worker)

    def stop(self) -> None:
        """Once: cleanly. Twice: at once."""
        self.stopping = True
        for worker in self.running:
            worker.process.send_signal(signal.SIGINT)

    def last_words(self, worker: Worker) -> str:
        """Why a worker failed, as its log says."""
        said = worker.log.read_bytes()[-_TAIL:].decode("utf-8", "replace").strip().splitlines()
        told = [line for line in said if line.startswith("scrapy crawl:")]
        return (told or said or ["it said nothing"])[-1]


def crawl_command(spider: str, arguments: list[str], settings: dict[str, str]) -> list[str]:
    given = [part for argument in arguments for part in ("-a", argument)]
    chosen = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    return [sys.executable, "-m", "scrapy", "crawl", spider, *given, *chosen]
