"""Did a crawl fetch what it had to, no more than it might, and nothing that it must not?"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from crawlerproj.demoweb.answers import Family
from crawlerproj.demoweb.truth import Truth

_SHOWN = 10
# The rules of a host, and what a crawler asks for to learn how a missing page looks.
_NO_PAGES = ("/robots.txt", "-no-such-page.html")


@dataclass(slots=True)
class Coverage:
    """Where a crawl and the truth disagree; `families` counts the URLs fetched of each MAY family.

    `unknown` are URLs that were fetched and that the truth does not know. They are no fault: a link may be
    misread, and the host says 404.
    """

    must: int
    missing: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    over_cap: list[tuple[str, int, int]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    families: Counter[str] = field(default_factory=Counter)

    @property
    def holds(self) -> bool:
        return not (self.missing or self.forbidden or self.over_cap)

    def as_text(self) -> str:
        lines = [f"MUST: {self.must - len(self.missing)} of {self.must}"]
        lines += [f"  missing {url}" for url in self.missing[:_SHOWN]]
        lines.append(f"NEVER: {len(self.forbidden)} fetched")
        lines += [f"  fetched {url}" for url in self.forbidden[:_SHOWN]]
        lines.append(f"MAY: {self.families.total()} fetched, {len(self.over_cap)} families over their cap")
        lines += [f"  {name}: {count}, cap {cap}" for name, count, cap in self.over_cap[:_SHOWN]]
        lines.append(f"unknown: {len(self.unknown)} fetched")
        lines += [f"  fetched {url}" for url in self.unknown[:_SHOWN]]
        return "\n".join(lines)


def coverage(truth: Truth, fetched: Iterable[str], got: Iterable[str]) -> Coverage:
    """`fetched` are the URLs that were asked for, `got` those that were answered and kept."""
    kept, asked = set(got), set(fetched)
    found = Coverage(len(truth.must), [url for url in truth.must if url not in kept])
    found.forbidden = [url for url in truth.never if url in asked]
    family_of = _Families(truth.may)
    counts: Counter[Family] = Counter()
    others = asked.difference(truth.must, truth.never)
    for url in sorted(url for url in others if not url.endswith(_NO_PAGES)):
        family = family_of(url)
        if family is None:
            found.unknown.append(url)
        else:
            counts[family] += 1
    found.families = Counter({family.name: count for family, count in counts.items()})
    found.over_cap = [(family.name, n, family.cap) for family, n in counts.items() if n > family.cap]
    return found


def coverage_of_log(truth: Truth, lines: Iterable[str]) -> Coverage:
    """By an access log alone: what was answered with a page or a redirect counts as kept."""
    requests = [line for line in map(json.loads, lines) if "url" in line]
    answered = (line["url"] for line in requests if 200 <= line["status"] < 400)
    return coverage(truth, (line["url"] for line in requests), answered)


class _Families:
    """The family of a URL, without asking each: by the URL, or by the host of a prefix."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._urls: dict[str, Family] = {}
        self._hosts: dict[str, list[Family]] = {}
        for family in families:
            self._urls.update(dict.fromkeys(family.urls, family))
            for origin in dict.fromkeys(map(_origin, family.prefixes)):
                self._hosts.setdefault(origin, []).append(family)

    def __call__(self, url: str) -> Family | None:
        if url in self._urls:
            return self._urls[url]
        return next((f for f in self._hosts.get(_origin(url), ()) if url.startswith(f.prefixes)), None)


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])
