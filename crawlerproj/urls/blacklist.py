"""What is never fetched, whatever the crawl's rules say: hosts and URL prefixes from a file.

A line is a host (`ads.example.com`), a suffix (`.doubleclick.net`: the domain and all below it), or
a URL prefix (`https://example.com/ads/`; without a scheme it stands for both). `#` begins a comment.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from .canonical import Speller
from .hosts import domain_suffix, host_of, hostname, in_domains

_spell = Speller(strip_params=()).spell


class Blacklist:
    """Hosts, domains and URL prefixes that are refused."""

    __slots__ = ("_domains", "_hosts", "_prefixes")

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._domains: set[str] = set()
        self._prefixes: dict[str, tuple[str, ...]] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: str) -> None:
        """Adds a host, a `.suffix` or a URL prefix; ValueError if it is none of them."""
        if entry.startswith("."):
            self._domains.add(domain_suffix(entry))
        elif "://" in entry:
            self._add_prefix(entry)
        elif "/" in entry:
            self._add_prefix("http://" + entry)
            self._add_prefix("https://" + entry)
        else:
            spelled = self._spelled("http://" + entry, entry)
            self._hosts.add(hostname(host_of(spelled)))

    def joined(self, other: Blacklist) -> Blacklist:
        """What either of the two refuses."""
        both = Blacklist()
        for one in (self, other):
            both._hosts |= one._hosts
            both._domains |= one._domains
            for host, prefixes in one._prefixes.items():
                both._prefixes[host] = (*both._prefixes.get(host, ()), *prefixes)
        return both

    def has_host(self, host: str) -> bool:
        name = hostname(host)
        return name in self._hosts or in_domains(name, self._domains)

    def prefixes(self, host: str) -> tuple[str, ...]:
        """The refused URL prefixes on this host, for `str.startswith`."""
        return self._prefixes.get(host, ())

    def _add_prefix(self, url: str) -> None:
        spelled = self._spelled(url, url)
        host = host_of(spelled)
        self._prefixes[host] = (*self._prefixes.get(host, ()), spelled)

    @staticmethod
    def _spelled(url: str, entry: str) -> str:
        spelled = _spell(url)
        if spelled is None:
            raise ValueError(
                f"blacklist entry {entry!r} is not a host, a `.suffix` or an http(s) URL prefix: correct it."
            )
        return spelled


def load_blacklist(path: str | Path) -> Blacklist:
    """Reads a blacklist file; an error names the line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"BLACKLIST: {path} cannot be read ({error}): give a text file with a host, a "
                         ".suffix or a URL prefix in each line") from error
    return _parsed(text, str(path))


def advertisements() -> Blacklist:
    """The list that ships with the package: ad servers and trackers."""
    listed = files(__package__) / "advertisements.txt"
    return _parsed(listed.read_text(encoding="utf-8"), listed.name)


def _parsed(text: str, name: str) -> Blacklist:
    blacklist = Blacklist()
    for number, line in enumerate(text.splitlines(), 1):
        # A "#" inside a URL is no comment: only one at the start or after a space is.
        entry = line.strip() if not line.startswith("#") else ""
        entry = entry.partition(" #")[0].partition("\t#")[0].strip()
        if not entry:
            continue
        try:
            blacklist.add(entry)
        except ValueError as error:
            raise ValueError(f"{name}:{number}: {error}") from error
    return blacklist
