"""docs/proof.md: a section for each run, replaced when the run is made again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from crawls import HASTE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "proof.md"
_HEAD = f"""# The long proofs

`make proof` makes these runs and writes this page; `make proof ONLY=kills` makes one of them (several with
commas), `python benchmarks/proof --only kills --seed 7` another story. A section says how the run went when
it was last made, on a small shared machine (two cores for crawler, demo web and everybody else). Durations
are of that machine. The web and its truth follow from the seed; the order in which real processes meet it,
and the moments of kills, do not, so counts differ a little from run to run. `trouble` repeats exactly.

Crawls are hastened, with the product's rules and shorter waits:
{", ".join(f"`{name}` {value}" for name, value in HASTE.items())}
(`traps` and `texts` without any delay). The judge holds the demo web's access log against the same factor and
minimum. `trouble` is the exception: its time is simulated, and its delays are the product's own.

What is counted: *fetched* are requests for anything but robots.txt; *asked for more than once* are those
beyond the first for a URL, which the web itself causes (429, 503, resets, dead hosts) and kills add to; MUST,
MAY and NEVER are those of [the demo web](demoweb.md); *peak RSS* is that of the crawling process. After every
crawl the archive is read to its last byte by another's reader, no page may be stored whole more than once,
and the frontier is checked against itself.
"""


def write_section(
    name: str, what: str, seed: int, figures: Mapping[str, object], failures: Sequence[str]
) -> None:
    page = PAGE.read_text() if PAGE.exists() else ""
    parts = re.split(r"^## ", page, flags=re.M)[1:]
    sections = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}
    sections[name] = _section(name, what, seed, figures, failures)
    order = [each for each in _ORDER if each in sections]
    PAGE.write_text(_HEAD + "".join(f"\n## {each}\n\n{sections[each]}\n" for each in order))


_ORDER = ("hostile", "hostile_kills", "kills", "trouble", "fleet", "traps", "texts", "budget", "spine",
          "laws")


def _section(name: str, what: str, seed: int, figures: Mapping[str, object], failures: Sequence[str]) -> str:
    rows = {"command": f"`python benchmarks/proof --only {name} --seed {seed}`", **figures}
    told = "; ".join(failure.split("\n")[0] for failure in failures)
    rows["outcome"] = f"**fails**: {told}" if failures else "holds"
    lines = [what, "", "| | |", "|---|---|"]
    lines += [f"| {figure} | {_cell(value)} |" for figure, value in rows.items()]
    return "\n".join(lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")
