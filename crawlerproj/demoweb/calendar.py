"""Calendars: every month links to the next and to the one before, and nothing ever happens."""

import re

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.traps import Trap

_MONTH = re.compile(r"(\d{1,6})/(\d\d)\.html", re.ASCII)


class Calendar(Trap):
    """Meets a share of the hosts."""

    name = "calendar"
    default_share = 0.02

    def door(self, host: int) -> str:
        return "2026/01.html"

    def inside(self, host: int, rest: str) -> Answer | None:
        found = _MONTH.fullmatch(rest)
        if found is None or not 1 <= int(found[2]) <= 12:
            return None
        month = int(found[1]) * 12 + int(found[2]) - 1
        links = tuple(_name(self.folder, month + step) for step in (-1, 1, 12) if month + step >= 0)
        return Answer(200, f"Events in {found[1]}-{found[2]}", links=links, text_key=f"calendar {host}")


def _name(folder: str, month: int) -> str:
    return f"{folder}{month // 12}/{month % 12 + 1:02d}.html"
