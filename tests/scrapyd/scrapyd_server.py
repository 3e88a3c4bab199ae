"""A real scrapyd in a directory of its own, with a password."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
USER, PASSWORD = "ops", "open sesame"
# scrapyd's environment has the dependencies, not the project: whatever runs comes out of the egg.
WITHOUT_PROJECT = '''
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
sys.path[:] = [path for path in sys.path if not path.startswith("__editable__")]
'''


class Scrapyd:
    """The server and its API."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "clean").mkdir(parents=True)
        (directory / "clean" / "sitecustomize.py").write_text(WITHOUT_PROJECT)
        with socket.socket() as probe:  # scrapyd takes port 0 for none
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}/"
        (directory / "scrapyd.conf").write_text(
            f"[scrapyd]\nbind_address = 127.0.0.1\nhttp_port = {self.url.rpartition(':')[2].rstrip('/')}\n"
            f"username = {USER}\npassword = {PASSWORD}\npoll_interval = 0.2\nmax_proc = 4\n"
            "jobstorage = scrapyd.jobstorage.SqliteJobStorage\n")
        environment = {**os.environ, "PYTHONPATH": str(directory / "clean")}
        self.log = (directory / "scrapyd.log").open("wb")
        self.process = subprocess.Popen([str(BIN / "scrapyd"), "--pidfile="], cwd=directory, env=environment,
                                        stdout=self.log, stderr=subprocess.STDOUT)
        wait_for(self._answers, "scrapyd to answer", lambda: (directory / "scrapyd.log").read_text())

    def _answers(self) -> bool:
        assert self.process.poll() is None, (self.directory / "scrapyd.log").read_text()
        try:
            return self.ask("daemonstatus.json")["status"] == "ok"
        except urllib.error.URLError:
            return False

    def ask(self, service: str, password: str = PASSWORD, post: dict[str, Any] | None = None,
            **query: str) -> dict[str, Any]:
        url = f"{self.url}{service}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        data = urllib.parse.urlencode(post, doseq=True).encode() if post is not None else None
        request = urllib.request.Request(url, data)
        if password:
            token = base64.b64encode(f"{USER}:{password}".encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        with urllib.request.urlopen(request, timeout=60) as response:
            answer: dict[str, Any] = json.load(response)
        return answer

    def schedule(self, settings: dict[str, str], **arguments: str) -> str:
        answer = self.ask("schedule.json", post={
            "project": "crawlerproj", "spider": "web", **arguments,
            "setting": [f"{name}={value}" for name, value in settings.items()]})
        assert answer["status"] == "ok", answer
        return str(answer["jobid"])

    def state(self, job: str) -> str:
        return str(self.ask("status.json", job=job).get("currstate"))

    def job_log(self, job: str) -> str:
        path = self.directory / "logs" / "crawlerproj" / "web" / f"{job}.log"
        return path.read_text() if path.exists() else ""

    def wait_until(self, job: str, state: str) -> str:
        """Returns the job's log when it has come into this state."""
        wait_for(lambda: self.state(job) == state, f"job {job} to be {state}", lambda: self.job_log(job))
        return self.job_log(job)

    def stop(self) -> None:
        for state, jobs in self.ask("listjobs.json", project="crawlerproj").items():
            if state == "running":
                for job in jobs:
                    os.kill(job["pid"], 9)  # scrapyd would leave them running
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


def wait_for(condition: Callable[[], bool], what: str, told: Callable[[], str]) -> None:
    deadline = time.monotonic() + 200  # a busy machine may leave little to a job
    while not condition():
        assert time.monotonic() < deadline, f"waited for {what} in vain:\n{told()[-4000:]}"
        time.sleep(0.05)
