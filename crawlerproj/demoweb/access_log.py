"""What was asked of the demo web, when, and how was it answered?

JSON lines, appended, each by one unbuffered write: what a client has received is already in the log, and
a log that several servers share has no torn lines. Times are seconds since the epoch.
"""

import json
import os
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted


@dataclass(slots=True)
class Entry:
    """One request; `end` is stamped before the last body write or when the connection closed."""

    host: str
    address: str
    connection: str
    opened: float
    start: float
    end: float
    method: str
    url: str
    status: int
    bytes: int
    retry_after: int | None
    crawl_delay: float | None
    forbidden: bool


class AccessLog:
    """Writes to a file, or nowhere if there is none."""

    def __init__(self, path: str | None) -> None:
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def request(self, entry: Entry) -> None:
        if self._file is not None:
            e = entry
            # A third of the time that json.dumps takes: one line is written for every request.
            line = (
                f'{{"host": {quoted(e.host)}, "address": "{e.address}", "connection": "{e.connection}", '
                f'"opened": {e.opened!r}, "start": {e.start!r}, "end": {e.end!r}, '
                f'"method": {quoted(e.method)}, "url": {quoted(e.url)}, "status": {e.status}, '
                f'"bytes": {e.bytes}, "retry_after": {_or_null(e.retry_after)}, '
                f'"crawl_delay": {_or_null(e.crawl_delay)}, '
                f'"forbidden": {"true" if e.forbidden else "false"}}}\n'
            )
            os.write(self._file, line.encode())

    def closed(self, connection: str, at: float, since: float, **unasked: object) -> None:
        """It was noticed `at`, and has happened not before `since`.

        Of a connection on which no request came, `opened`, `host` and `address` are told: the host was
        contacted all the same.
        """
        if self._file is not None:
            more = f", {json.dumps(unasked)[1:-1]}" if unasked else ""
            line = f'{{"closed": "{connection}", "at": {at!r}, "since": {since!r}{more}}}\n'
            os.write(self._file, line.encode())

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _or_null(number: float | None) -> str:
    return "null" if number is None else repr(number)
