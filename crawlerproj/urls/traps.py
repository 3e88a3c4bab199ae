"""Does a path repeat itself? Broken relative links make sites that never end.

Two rules on the path alone, without memory: `/a/b/a/b/a/b/` is a cycle, and nothing worth reading
lies more than `MAX_SEGMENTS` segments deep.
"""

from __future__ import annotations

MAX_SEGMENTS = 30
MAX_SAME_SEGMENT = 4
MAX_CYCLES = 3


def trap_reason(url: str) -> str | None:
    """`trap_repeated_segments`, `trap_deep_path`, or None for a path that looks finite."""
    # Two slashes belong to the scheme; fewer than four segments cannot repeat enough.
    if url.count("/") < MAX_SAME_SEGMENT + 2:
        return None
    segments = url.partition("?")[0].split("/")[3:]
    if segments[-1:] == [""]:
        segments.pop()
    if len(segments) > MAX_SEGMENTS:
        return "trap_deep_path"
    if len(set(segments)) == len(segments):
        return None
    if max(map(segments.count, segments)) >= MAX_SAME_SEGMENT or _has_cycle(segments):
        return "trap_repeated_segments"
    return None


def _has_cycle(segments: list[str]) -> bool:
    """Does a run of two or more segments follow itself often enough?"""
    for length in range(2, len(segments) // MAX_CYCLES + 1):
        agreeing = 0
        for here, later in zip(segments, segments[length:], strict=False):
            agreeing = agreeing + 1 if here == later else 0
            if agreeing >= length * (MAX_CYCLES - 1):
                return True
    return False
