"""What happened, line by line? The demo web's access log (JSON lines) as visits.

A line is either a request, or `{"closed": connection, "at": time, "since": time}`: noticed at one moment, and
has happened since another. A closed line that also says `opened` and `host` tells of a connection on which
nothing was asked (a client that broke off): a visit too, since the host was contacted.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


class UnreadableLog(ValueError):
    """The text says which line, why, and what to do about it."""


@dataclass(slots=True)
class Visit:
    """One request. Times are seconds since the epoch; `line` is the log's own text."""

    number: int
    line: str
    host: str
    address: str
    connection: str
    opened: float
    start: float
    end: float
    url: str
    status: int = 0
    retry_after: float = 0.0
    crawl_delay: float | None = None
    forbidden: bool = False
    agent: str = ""


@dataclass(slots=True)
class Record:
    """A whole log: its visits as they stand in it, and when connections were closed, as far as it says.

    `closed` is when that was noticed, `closed_since` the earliest moment at which it may have happened.
    """

    visits: list[Visit] = field(default_factory=list)
    closed: dict[str, float] = field(default_factory=dict)
    closed_since: dict[str, float] = field(default_factory=dict)


def read_json_lines(lines: Iterable[str]) -> Record:
    record = Record()
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line:
            continue
        try:
            _add(record, number, line, json.loads(line))
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableLog(
                f"line {number} is no line of a demo web's access log ({type(error).__name__}: {error}): "
                "cut a torn last line off, or see docs/demoweb.md for the logs that are read"
            ) from error
    return record


def _add(record: Record, number: int, line: str, data: dict[str, Any]) -> None:
    if "closed" not in data:
        record.visits.append(
            Visit(
                number,
                line,
                host=data["host"],
                address=data["address"],
                connection=data["connection"],
                opened=float(data["opened"]),
                start=float(data["start"]),
                end=float(data["end"]),
                url=data["url"],
                status=data["status"],
                retry_after=float(data["retry_after"] or 0),
                crawl_delay=data["crawl_delay"],
                forbidden=data["forbidden"],
            )
        )
        return
    name, at = data["closed"], float(data["at"])
    record.closed[name] = at
    if "since" in data:
        record.closed_since[name] = min(at, float(data["since"]))
    if "opened" in data:
        opened = float(data["opened"])
        record.visits.append(Visit(number, line, data["host"], data["address"], name, opened, opened, at, ""))
