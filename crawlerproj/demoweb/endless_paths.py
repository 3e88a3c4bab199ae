"""Paths without end: every folder has three more, and every page a text of its own."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.layout import WORDS
from crawlerproj.demoweb.traps import Trap

_FOLDERS = 3
_MOST_BYTES = 8000


class EndlessPaths(Trap):
    """Meets a share of the hosts."""

    name = "endless_paths"
    default_share = 0.02

    def door(self, host: int) -> str:
        return "index.html"

    def inside(self, host: int, rest: str) -> Answer | None:
        *folders, name = rest.split("/")
        if name != "index.html" or len(rest) > _MOST_BYTES or not all(folder in WORDS for folder in folders):
            return None
        below = [WORDS[(host + len(folders) * _FOLDERS + n) % len(WORDS)] for n in range(_FOLDERS)]
        path = "".join(f"{folder}/" for folder in folders)
        links = tuple(f"{self.folder}{path}{word}/index.html" for word in below)
        return Answer(200, f"Folder {path}", links=links)
