"""The prioritiser: an integer 1..F for each candidate; F is the most urgent queue.

Breadth first is the base order: a seed starts at F - 1 and each step away from it costs one
queue. A host's weight (traffic, rank) and rules of the application move a candidate up or down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from crawlerproj.items import Candidate

Rule = Callable[[Candidate, str], int]
"""Takes a candidate and its host; gives the number of queues to move it up (negative: down)."""


class Prioritiser:
    def __init__(self, queues: int, weights: dict[str, int] | None = None,
                 rules: Iterable[Rule] = ()) -> None:
        self._queues = queues
        self._weights = weights or {}
        self._rules = tuple(rules)

    def __call__(self, candidate: Candidate, host: str) -> int:
        if candidate.priority:
            priority = candidate.priority
        else:
            priority = self._queues - 1 - candidate.depth
        if self._weights:
            priority += self._weights.get(host, 0)
        for rule in self._rules:
            priority += rule(candidate, host)
        return max(1, min(priority, self._queues))


def read_weights(path: str) -> dict[str, int]:
    """Reads lines `host<TAB>weight`: how many queues up (or down) a host's candidates go."""
    weights: dict[str, int] = {}
    try:
        lines = Path(path).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"HOST_WEIGHTS: {path} cannot be read ({error}): give a text file with lines of "
                         "host<TAB>whole number") from error
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        host, _, weight = text.partition("\t")
        try:
            weights[host.strip().lower()] = int(weight)
        except ValueError:
            raise ValueError(f"{path}:{number}: expected host<TAB>whole number, got {line!r}") from None
    return weights
