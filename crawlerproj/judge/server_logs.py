r"""The same out of the logs of nginx and Apache, so that any crawler of any site can be judged.

One format for each server, on one line in the configuration:

    nginx   log_format politeness '$scheme://$http_host $remote_addr $connection $connection_time $msec '
                                  '$request_time "$request" $status "$sent_http_retry_after" '
                                  '"$http_user_agent"';
    Apache  LogFormat "apache %{Host}i %a %{remote}p %k %{begin:usec}t %{end:usec}t \"%r\" %>s
                       \"%{Retry-After}o\" \"%{User-Agent}i\"" politeness

nginx: `$msec` is the end of the request, `$request_time` counts from its first byte, `$connection_time`
(nginx 1.19.10) from the accept. Apache does not tell when a connection was accepted: it counts as opened
when its first request (`%k` = 0) came. Neither tells when it was closed: it counts as closed when the last
request on it ended. Neither knows robots.txt: give the judge a copy of it.
"""

import re
from collections.abc import Iterable

from crawlerproj.judge.visits import Record, UnreadableLog, Visit

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_NGINX = re.compile(rf"(https?://\S+) (\S+) (\S+) ([\d.]+) ([\d.]+) ([\d.]+) {_TEXT} (\d+) {_TEXT} {_TEXT}")
_APACHE = re.compile(rf"apache (\S+) (\S+) (\d+) (\d+) (\d+) (\d+) {_TEXT} (\d+) {_TEXT} {_TEXT}")

_SAME_ACCEPT_SECONDS = 1.0


def read_server_log(lines: Iterable[str]) -> Record:
    """Lines of either server, in any mixture."""
    record = Record()
    opened: dict[str, tuple[str, float]] = {}
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line:
            continue
        if found := _NGINX.fullmatch(line):
            record.visits.append(_nginx(number, line, opened, *found.groups()))
        elif found := _APACHE.fullmatch(line):
            record.visits.append(_apache(number, line, opened, *found.groups()))
        else:
            raise UnreadableLog(
                f"line {number} is in no format the judge reads: {line[:100]!r}. "
                "Let the server log in the format of docs/demoweb.md (Judging other logs)"
            )
    return record


def _nginx(
    number: int, line: str, opened: dict[str, tuple[str, float]], origin: str, client: str, serial: str,
    age: str, end_text: str, took: str, request: str, status: str, retry_after: str, agent: str,
) -> Visit:  # fmt: skip
    end = float(end_text)
    accepted = end - float(age)
    if serial not in opened or abs(opened[serial][1] - accepted) > _SAME_ACCEPT_SECONDS:
        # nginx counts from 1 again after a restart.
        opened[serial] = f"{serial}@{number}", accepted
    connection, first = opened[serial]
    return _visit(
        number, line, origin, client, connection, first, end - float(took), end, request, status,
        retry_after, agent,
    )  # fmt: skip


def _apache(
    number: int, line: str, opened: dict[str, tuple[str, float]], host: str, client: str, port: str,
    earlier: str, begin: str, end_text: str, request: str, status: str, retry_after: str, agent: str,
) -> Visit:  # fmt: skip
    start, end = int(begin) / 1e6, int(end_text) / 1e6
    peer = f"{client}:{port}"
    if earlier == "0" or peer not in opened:
        # A port is used again by later connections: the first request on one gives it a name of its own.
        opened[peer] = f"{peer}@{number}", start
    connection, first = opened[peer]
    return _visit(
        number, line, f"http://{host}", client, connection, first, start, end, request, status, retry_after,
        agent,
    )  # fmt: skip


def _visit(
    number: int, line: str, origin: str, client: str, connection: str, opened: float, start: float,
    end: float, request: str, status: str, retry_after: str, agent: str,
) -> Visit:  # fmt: skip
    words = request.split(" ")
    path = words[1] if len(words) > 1 else ""
    host = origin.partition("://")[2].partition(":")[0].lower()
    return Visit(
        number,
        line,
        host=host,
        address=client,
        connection=connection,
        opened=opened,
        start=start,
        end=end,
        url=path if path.startswith(("http://", "https://")) else origin.lower() + path,
        status=int(status),
        # A date instead of seconds is not judged.
        retry_after=float(retry_after) if retry_after.isdigit() else 0.0,
        agent=agent,
    )
