"""A line to the server: one connection, its scripts, and what happens when it breaks.

The client's own silent reconnects are off. A new connection compares the server's `run_id`: if it
has changed, the server was restarted and may have lost its last second, so whoever uses the line is
told (`restarted`) and writes again what it may have lost.

Calls may be sent without waiting for the answer (`send`): the bytes leave the process at once, and
the answers are read before the next call that waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from redis.backoff import NoBackoff
from redis.exceptions import (
    BusyLoadingError,
    ConnectionError,
    MasterDownError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,
)
from redis.retry import Retry

from crawlerproj.storage.interface import Pause
from crawlerproj.storage.redis.scripts import DIGESTS, TEXTS

RETRY_SECONDS = 0.5
_UNREAD = 64  # answers left unread at most

_BROKEN = (ConnectionError, TimeoutError, OSError)
_WAIT = (BusyLoadingError, OutOfMemoryError, MasterDownError, ReadOnlyError)

Call = tuple[str, bytes, Sequence[Any]]
"""A script's name, its key, its arguments."""


class Line:
    """Belongs to one thread at a time."""

    def __init__(self, client: Any, *, node: tuple[str, int] | None = None, timeout: float = 5.0,
                 connect_timeout: float = 1.0,
                 restarted: Callable[[], None] = lambda: None,
                 answered: Callable[[Any, Any], None] = lambda tag, answer: None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        pool = client.connection_pool
        options = {**pool.connection_kwargs, "retry": Retry(NoBackoff(), 0), "retry_on_timeout": False,
                   "retry_on_error": [], "decode_responses": False, "health_check_interval": 0,
                   "socket_timeout": timeout, "socket_connect_timeout": connect_timeout}
        if node is not None:  # of a cluster, which the client's own address is only the way into
            options["host"], options["port"] = node
        self._connection = pool.connection_class(**options)
        self._clock = clock
        self._restarted, self._answered = restarted, answered
        self._open = False
        self._unread: list[Any] = []  # what was sent without waiting, oldest first
        self._later: list[tuple[Any, tuple[Any, ...]]] = []  # what goes out with the next call
        self._tried_at = -RETRY_SECONDS
        self.run_id = b""
        self.trouble = ""

    # --- calls ------------------------------------------------------------------------------

    def call(self, name: str, key: bytes, *arguments: Any) -> Any:
        return self.calls([(name, key, arguments)])[0]

    def calls(self, calls: Sequence[Call]) -> list[Any]:
        """The answers of several scripts, in one round trip; an error of one is raised after all are read."""
        answers = self.answers([spelled(*call) for call in calls])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def commands(self, *commands: Sequence[Any]) -> list[Any]:
        answers = self.answers(commands)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def answers(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The answers of several commands; errors are among them, but trouble is a `Pause`."""
        self.connect()
        try:
            self._write([*self._delayed(), *commands])
            self._drain()
            answers = [self._read() for _ in commands]
            forgotten = [i for i, answer in enumerate(answers) if _no_script(answer)]
            if forgotten:  # SCRIPT FLUSH: somebody else's doing, and harmless
                self._load_scripts()
                self._write([commands[i] for i in forgotten])
                for i in forgotten:
                    answers[i] = self._read()
        except _BROKEN as error:
            raise self._break(error) from error
        for answer in answers:
            if isinstance(answer, _WAIT):
                raise self._wait(answer) from answer
        self.trouble = ""
        return answers

    def send(self, tag: Any, name: str, key: bytes, *arguments: Any) -> None:
        """The bytes leave at once; `answered(tag, answer)` is called before the next call that waits."""
        self.connect()
        try:
            delayed = self._delayed()
            self._write([*delayed, spelled(name, key, arguments)])
            self._unread.append(tag)
            if len(self._unread) >= _UNREAD:
                self._drain()
        except _BROKEN as error:
            raise self._break(error) from error

    def send_later(self, tag: Any, name: str, key: bytes, *arguments: Any) -> None:
        """As `send`, but the bytes leave together with the next call, whatever it is."""
        self.connect()
        self._later.append((tag, spelled(name, key, arguments)))

    def _delayed(self) -> list[tuple[Any, ...]]:
        later, self._later = self._later, []
        self._unread.extend(tag for tag, _ in later)
        return [command for _, command in later]

    def reload(self) -> None:
        """Gives the server the scripts anew."""
        self.connect()
        try:
            self._drain()
            self._load_scripts()
        except _BROKEN as error:
            raise self._break(error) from error

    def _drain(self) -> None:
        tags, self._unread = self._unread, []
        for tag in tags:
            self._answered(tag, self._read())

    def _write(self, commands: Sequence[Sequence[Any]]) -> None:
        connection = self._connection
        connection.send_packed_command(connection.pack_commands(commands), check_health=False)

    def _read(self) -> Any:
        try:
            return self._connection.read_response()
        except _BROKEN:
            raise
        except RedisError as error:
            return error

    # --- connection -------------------------------------------------------------------------

    def connect(self) -> None:
        """Connects if the line is broken; a server that was just tried is left alone for a moment."""
        if self._open:
            return
        now = self._clock()
        if now - self._tried_at < RETRY_SECONDS:
            raise Pause(self.trouble)
        self._tried_at = now
        try:
            self._connection.connect()
            run_id = self._run_id()
            self._load_scripts()
        except (*_BROKEN, ResponseError, RedisError) as error:
            raise self._break(error) from error
        self._open, self.trouble = True, ""
        if self.run_id and self.run_id != run_id:
            self._restarted()  # if this fails, the next connection finds the same difference
        self.run_id = run_id

    def _run_id(self) -> bytes:
        self._write([("INFO", "server")])
        answer = self._read()
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, bytes) else str(answer).encode()
        return next((line.partition(b":")[2].strip() for line in text.splitlines()
                     if line.startswith(b"run_id:")), b"")

    def _load_scripts(self) -> None:
        self._write([("SCRIPT", "LOAD", text) for text in TEXTS.values()])
        for answer in [self._read() for _ in TEXTS]:
            if isinstance(answer, Exception):
                raise answer

    def _break(self, error: Exception) -> Pause:
        self._open = False
        self._unread.clear()
        self._later.clear()
        self._connection.disconnect()
        self.trouble = f"Redis cannot be reached ({error}): the crawl waits and goes on when it answers"
        return Pause(self.trouble)

    def _wait(self, error: Exception) -> Pause:
        if isinstance(error, OutOfMemoryError):
            self.trouble = ("Redis has reached its maxmemory: the crawl waits, nothing is lost. Raise "
                            "maxmemory (redis-cli config set maxmemory …) or add a server")
        else:
            self.trouble = f"Redis is not ready ({error}): the crawl waits and goes on when it is"
        return Pause(self.trouble)

    def close(self) -> None:
        self._open = False
        self._unread.clear()
        self._later.clear()
        self._connection.disconnect()


def spelled(name: str, key: bytes, arguments: Sequence[Any]) -> tuple[Any, ...]:
    return ("EVALSHA", DIGESTS[name], 1, key, *arguments)


def _no_script(answer: Any) -> bool:
    return isinstance(answer, ResponseError) and "NOSCRIPT" in f"{type(answer).__name__.upper()} {answer}"
