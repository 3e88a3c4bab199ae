"""Relative links that were meant from the root: each visit appends the same folders once more."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.traps import Trap

_LINKS = ("shop/offers/index.html", "shop/index.html", "offers/index.html")
_MOST_BYTES = 8000


class RepeatingPaths(Trap):
    """Meets a share of the hosts; every folder shows the same text."""

    name = "repeating_paths"
    default_share = 0.02

    def door(self, host: int) -> str:
        return "index.html"

    def inside(self, host: int, rest: str) -> Answer | None:
        *folders, name = rest.split("/")
        if name != "index.html" or len(rest) > _MOST_BYTES or not set(folders) <= {"shop", "offers"}:
            return None
        text_key = f"shop {host} {folders[-1] if folders else ''}"
        return Answer(200, "Our shop", links=_LINKS, text_key=text_key)
