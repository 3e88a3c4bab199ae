"""What did the judge find? The verdict, as text for people and as JSON for programs."""

from collections import Counter
from dataclasses import dataclass, field

from crawlerproj.judge.visits import Visit

# Upper ends of the classes in which ratios of gap to required gap are counted.
CLASSES = (0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 10.0, 100.0)
_SHOWN = 50


@dataclass(slots=True, frozen=True)
class Violation:
    """What was done wrong: by which line, and after which earlier line where there is one."""

    kind: str
    group: str
    reason: str
    visit: Visit
    previous: Visit | None = None


@dataclass(slots=True)
class Verdict:
    """`ratios` holds gap / required gap for each two visits of a group that follow each other."""

    visits: int = 0
    groups: int = 0
    violations: list[Violation] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    @property
    def worst_ratio(self) -> float | None:
        return min(self.ratios, default=None)

    def distribution(self) -> dict[str, int]:
        """How many ratios lie in each class, `<1.1` meaning from the end of the class before."""
        counts = dict.fromkeys([f"<{end:g}" for end in CLASSES] + [f">={CLASSES[-1]:g}"], 0)
        for ratio in self.ratios:
            # A gap of exactly what is required lies in the class that begins there, not below it.
            end = next((end for end in CLASSES if ratio < end), None)
            counts[f">={CLASSES[-1]:g}" if end is None else f"<{end:g}"] += 1
        return counts

    def as_json(self) -> dict[str, object]:
        return {
            "visits": self.visits,
            "groups": self.groups,
            "violations": [
                {
                    "kind": found.kind,
                    "group": found.group,
                    "reason": found.reason,
                    "line": found.visit.line,
                    "line_number": found.visit.number,
                    "previous_line": found.previous.line if found.previous else None,
                    "previous_line_number": found.previous.number if found.previous else None,
                }
                for found in self.violations
            ],
            "by_kind": dict(Counter(found.kind for found in self.violations)),
            "worst_ratio": self.worst_ratio,
            "gaps": len(self.ratios),
            "distribution": self.distribution(),
        }

    def as_text(self) -> str:
        parts = [_violation_text(found) for found in self.violations[:_SHOWN]]
        if len(self.violations) > _SHOWN:
            parts.append(f"... and {len(self.violations) - _SHOWN} more (all with --json)")
        worst = "none" if self.worst_ratio is None else f"{self.worst_ratio:.3f}"
        parts.append(f"{self.visits} visits to {self.groups} groups, {len(self.ratios)} gaps, worst {worst}")
        parts.append("gap / required gap:")
        parts += [f"  {name:>6} {count:8d}" for name, count in self.distribution().items() if count]
        kinds = Counter(found.kind for found in self.violations)
        told = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        parts.append(f"violations: {len(self.violations)}" + (f" ({told})" if told else ""))
        return "\n".join(parts)


def _violation_text(found: Violation) -> str:
    lines = [f"{found.kind} at {found.group}: {found.reason}"]
    if found.previous is not None:
        lines.append(f"  line {found.previous.number}: {found.previous.line}")
    lines.append(f"  line {found.visit.number}: {found.visit.line}")
    return "\n".join(lines)
