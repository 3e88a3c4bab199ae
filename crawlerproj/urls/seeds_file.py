r"""Where do the first URLs come from? A file, standard input, or the command line itself.

A line of a seed file is a URL, or a bare host, which gets `http://`. After tabs it may carry
`priority=N` (a front queue; 0 leaves it to the prioritiser) and `label=TEXT`. Blank lines and lines
that begin with `#` are skipped. Files are streamed: a million seeds never stand in memory. A name
that ends in `.gz` is unpacked on the way.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

_CHECKOUT_SEEDS = Path(__file__).parents[2] / "seeds"
_IS_URL = re.compile(r"\s*https?://", re.IGNORECASE).match
# A comma may belong to a URL: only one that stands before the next scheme parts two of them.
_BETWEEN_URLS = re.compile(r"\s*,\s*(?=https?://)", re.IGNORECASE)
# "mailto:x" has a scheme, "host:8080" has a port.
_HAS_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE).match


class Seed(NamedTuple):
    """A URL to begin with, as written: it is not yet spelled canonically nor filtered."""

    url: str
    priority: int = 0
    label: str = ""
    line_number: int = 0


def read_seeds(source: str) -> Iterator[Seed]:
    """The seeds of a file path, a URL, a comma list of URLs, or `-` (standard input).

    A file is looked for at once, so a wrong name is an error here and not at the first seed.
    """
    if source == "-":
        return _seeds(sys.stdin, "standard input")
    if _IS_URL(source):
        return _seeds(_BETWEEN_URLS.split(source.strip().rstrip(",")), "seeds")
    return _read_file(_found(source))


def _found(source: str) -> Traversable:
    name = source.removeprefix("./").removeprefix("seeds/")
    places: list[Traversable] = [Path(source)]
    if not Path(source).is_absolute():
        # The package may be a zip (an egg), so its own seeds are no path of the file system.
        places += [files("crawlerproj") / "seeds" / name, _CHECKOUT_SEEDS / name]
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(str(place.absolute() if isinstance(place, Path) else place) for place in places)
    raise FileNotFoundError(
        f"no seed file {source!r}; looked for {looked}. "
        "Give a file, a URL (with http:// or https://), a comma list of URLs, or - for standard input."
    )


def _read_file(place: Traversable) -> Iterator[Seed]:
    with place.open("rb") as packed:
        stream = gzip.GzipFile(fileobj=packed) if place.name.endswith(".gz") else packed
        with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace") as lines:
            try:
                yield from _seeds(lines, str(place))
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ValueError(f"{place} is no whole gzip file ({error}): pack it again, or take .gz off "
                                 "its name if it is plain text") from error


def _seeds(lines: Iterable[str], name: str) -> Iterator[Seed]:
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if line and not line.startswith("#"):
            yield _parsed(line, name, number)


def _parsed(line: str, name: str, number: int) -> Seed:
    url, *attributes = line.split("\t")
    url = url.strip()
    if "://" not in url.partition("?")[0] and not _HAS_SCHEME(url):
        url = "http://" + url
    priority, label = 0, ""
    for attribute in filter(None, map(str.strip, attributes)):
        key, _, value = attribute.partition("=")
        if key == "label":
            label = value
        elif key == "priority" and value.isdecimal():
            priority = int(value)
        else:
            raise ValueError(
                f"{name}:{number}: {attribute!r} is not understood. "
                "After the URL, each after a tab, may stand `priority=N` and `label=TEXT`."
            )
    return Seed(url, priority, label, number)
