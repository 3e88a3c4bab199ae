"""A demo web in a child process: start it, know its ports, stop it."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from crawlerproj.demoweb.tls import authority_pem
from crawlerproj.demoweb.truth import Truth, truth
from crawlerproj.demoweb.world import World

_READY = re.compile(r"demoweb ready http_port=(\d+) dns=(\S+) seeds=\d+\n")
_STOP_SECONDS = 10
_ROOT = Path(__file__).parents[2]


class DemoWebFailed(Exception):
    """The child ended before it was ready; the text is what it said."""


class DemoWebProcess:
    """A demo web that is being served. As a context manager it stops at the end."""

    def __init__(self, process: subprocess.Popen[str], world: World, dns_server: str) -> None:
        self.process = process
        self.world = world
        self.http_port = world.layout.port
        self.dns_server = dns_server
        self.seeds = world.seeds()

    def truth(self) -> Truth:
        return truth(self.world)

    def authority_pem(self) -> bytes:
        """The certificate by which the good TLS hosts can be verified."""
        return authority_pem(self.world.layout.seed)

    def stop(self) -> int:
        """End the child if it still runs; its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()

    def __enter__(self) -> "DemoWebProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_demoweb(
    seed: int = 1,
    hosts: int = 100,
    pages: int = 2000,
    nuisance: str = "mild",
    log: str | os.PathLike[str] | None = None,
    port: int = 0,
    dns_port: int = 0,
) -> DemoWebProcess:
    """Start a demo web and return when it is ready; a port of 0 is any free one."""
    command = [
        sys.executable, "-m", "crawlerproj.demoweb", f"--seed={seed}", f"--hosts={hosts}", f"--pages={pages}",
        f"--nuisance={nuisance}", f"--port={port}", f"--dns-port={dns_port}", f"--parent={os.getpid()}",
    ]  # fmt: skip
    if log is not None:
        command.append(f"--log={os.fspath(log)}")
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            text=True,
        )
        assert process.stdout is not None
        # The line, or the end of the file when the child could not start.
        ready = _READY.fullmatch(process.stdout.readline())
        if ready is None:
            process.kill()
            process.wait()
            process.stdout.close()
            errors.seek(0)
            raise DemoWebFailed(errors.read().strip() or f"demoweb ended with status {process.returncode}")
    return DemoWebProcess(process, World(seed, hosts, pages, nuisance, int(ready[1])), ready[2])
