"""What a finished build says about itself, and which build is the current one."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path

FORMAT = 3  # 1: names compressed by zstd, without a check of their own; 2: links without one


class GraphError(Exception):
    """A graph cannot be built or opened; the text says why and what to do."""


@dataclass(slots=True)
class Manifest:
    """What a build holds. Levels are `url`, `host` and `domain`."""

    format: int = FORMAT
    pages: int = 0  # records of pages in the logs
    pages_void: int = 0  # of them, replaced by a later one
    links_read: int = 0
    built_at: float = 0.0
    anchors: bool = True
    levels: dict[str, dict[str, float]] = field(default_factory=dict)
    logs: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        try:
            data = json.loads((directory / "manifest.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise GraphError(
                f"{directory} holds no finished graph ({error}): run `scrapy graph build`"
            ) from error
        written = data.get("format") if isinstance(data, dict) else None
        if written != FORMAT:
            raise GraphError(
                f"{directory} is a graph of format {written}, this program reads {FORMAT}: "
                "run `scrapy graph build`"
            )
        check = data.pop("check", None)
        if check != _check(data):
            raise GraphError(f"{directory}/manifest.json is damaged: run `scrapy graph build`")
        try:
            return cls(**data)
        except TypeError as error:
            raise GraphError(
                f"{directory}/manifest.json is of another version ({error}): run `scrapy graph build`"
            ) from error

    def to_json(self) -> str:
        data = asdict(self)
        return json.dumps({**data, "check": _check(data)}, indent=2)


def _check(data: dict[str, object]) -> int:
    """CRC-32 of what a manifest says, however it is spaced."""
    return zlib.crc32(json.dumps(data, sort_keys=True).encode())


def current_build(graph: Path) -> Path:
    """The folder of the build that `current` points to."""
    link = graph / "current"
    if not link.is_symlink():
        raise GraphError(f"{graph} holds no finished graph: run `scrapy graph build`")
    return graph / os.readlink(link)
