"""One line of the index: `surt-key timestamp {json}`, as CDXJ readers expect it (pywb, OutbackCDX).

Numbers are strings in the JSON, as other writers have them. The key and the time come first, so the byte
order of lines is the order of keys, then of times.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from time import gmtime, strftime

from crawlerproj.urls.hosts import surt

REVISIT_MIME = "warc/revisit"


@dataclass(slots=True, frozen=True)
class Entry:
    """Where a record is, and what it is. `timestamp` is UTC, 14 digits."""

    key: str
    timestamp: str
    url: str
    mime: str
    status: int
    digest: str
    length: int
    offset: int
    filename: str

    @property
    def at(self) -> float:
        return seconds(self.timestamp)

    @property
    def when(self) -> str:
        """The time as people read it, in UTC."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M:%S")

    def plain(self) -> dict[str, object]:
        """The entry in JSON's types."""
        return {
            "url": self.url, "time": self.when.replace(" ", "T") + "Z", "status": self.status,
            "type": self.mime, "digest": self.digest, "filename": self.filename, "offset": self.offset,
            "length": self.length,
        }

    @property
    def end(self) -> int:
        return self.offset + self.length

    @property
    def is_revisit(self) -> bool:
        return self.mime == REVISIT_MIME

    def line(self) -> bytes:
        return encode(self.url, self.timestamp, self.mime, self.status, self.digest, self.filename,
                      self.offset, self.length)


def encode(
    url: str, timestamp: str, mime: str, status: int, digest: str, filename: str, offset: int, length: int
) -> bytes:
    quoted, kind = json.dumps(url), json.dumps(mime)
    return (
        f'{index_key(url)} {timestamp} {{"url": {quoted}, "mime": {kind}, "status": "{status}", '
        f'"digest": "{digest}", "length": "{length}", "offset": "{offset}", "filename": "{filename}"}}\n'
    ).encode("utf-8", "surrogatepass")


def decode(line: bytes) -> Entry:
    """Raises ValueError for what is no line of an index."""
    try:
        key, timestamp, values = line.decode("utf-8", "surrogatepass").split(" ", 2)
        fields = json.loads(values)
        return Entry(
            key, timestamp, fields["url"], fields["mime"], int(fields["status"]), fields["digest"],
            int(fields["length"]), int(fields["offset"]), fields["filename"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"no line of an index: {line[:200]!r}") from error


def index_key(url: str) -> str:
    """The SURT key; it holds no space and no line break, whatever the URL."""
    key = surt(url)
    return "%20".join(key.split()) if not key.isascii() or any(map(key.__contains__, " \t\r\n\v\f")) else key


def timestamp_of(at: float) -> str:
    return _timestamp(int(at))


@lru_cache(maxsize=64)
def _timestamp(at: int) -> str:
    return strftime("%Y%m%d%H%M%S", gmtime(at))


def seconds(timestamp: str) -> float:
    """The time of a timestamp, which may be cut: `2024`, `202403`, `20240305`..."""
    if not timestamp.isdigit() or not 4 <= len(timestamp) <= 14:
        raise ValueError(f"{timestamp!r} is no time: give up to 14 digits, YYYYMMDDhhmmss (UTC).")
    whole = timestamp + "00000101000000"[len(timestamp) :]
    return datetime.strptime(whole, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
