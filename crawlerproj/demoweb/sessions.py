"""Session ids in the path: the same five pages under a new name with every visit."""

import re
from zlib import crc32

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.traps import Trap

_PATH = re.compile(r"([0-9a-f]{8})/page-([1-5])\.html", re.ASCII)
_PAGES = 5


class Sessions(Trap):
    """Meets a share of the hosts."""

    name = "sessions"
    default_share = 0.02

    def door(self, host: int) -> str:
        return f"{crc32(self.layout.names[host].encode()):08x}/page-1.html"

    def inside(self, host: int, rest: str) -> Answer | None:
        found = _PATH.fullmatch(rest)
        if found is None:
            return None
        # Each page gives out a session of its own: the family grows by five with every page.
        session = f"{crc32(rest.encode(), self.layout.seed):08x}"
        links = tuple(f"{self.folder}{session}/page-{page}.html" for page in range(1, _PAGES + 1))
        return Answer(200, f"Page {found[2]}", links=links, text_key=f"session {host} {found[2]}")
