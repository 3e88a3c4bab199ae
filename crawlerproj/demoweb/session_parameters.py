"""Session ids in a parameter: one page under a new name with every visit."""

import re
from zlib import crc32

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.traps import Trap

_PATH = re.compile(r"page-([1-5])\.html(\?visit=[0-9a-f]{8})?", re.ASCII)
_PAGES = 5


class SessionParameters(Trap):
    """Meets a share of the hosts."""

    name = "session_parameters"
    default_share = 0.02

    def door(self, host: int) -> str:
        return f"page-1.html?visit={crc32(self.layout.names[host].encode()):08x}"

    def inside(self, host: int, rest: str) -> Answer | None:
        found = _PATH.fullmatch(rest)
        if found is None:
            return None
        session = f"{crc32(rest.encode(), self.layout.seed):08x}"
        links = tuple(f"{self.folder}page-{page}.html?visit={session}" for page in range(1, _PAGES + 1))
        return Answer(200, f"Page {found[1]}", links=links, text_key=f"parameter {host} {found[1]}")
