"""Start URLs that people put into a Redis list or set, as scrapy-redis does: `NAME:start_urls`.

At least once: what is taken lies in a pending list until `offered` says that its commit has landed. A
worker that starts takes what another, or its own former self, left there; URL-seen drops the repeats.
"""

from __future__ import annotations

from collections.abc import Sequence

from crawlerproj.storage.redis.line import Line
from crawlerproj.storage.redis.scripts import DIGESTS


class StartUrls:
    def __init__(self, line: Line, key: str) -> None:
        self._line, self.key = line, key.encode()
        self._pending = b"{" + self.key + b"}:pending"
        self._looked = False  # at what is left in the pending list

    def pop(self, n: int) -> list[str]:
        """Up to n start URLs; the caller offers them, then says `offered` when its group has landed."""
        if not self._looked:
            [left] = self._line.commands(("LRANGE", self._pending, 0, -1))
            self._looked = True
            if left:
                return [url.decode(errors="replace") for url in left]
        [found] = self._line.commands(("EVALSHA", DIGESTS["start_urls"], 2, self.key, self._pending, n))
        return [url.decode(errors="replace") for url in found]

    def offered(self, urls: Sequence[str]) -> None:
        if urls:
            self._line.commands(*(("LREM", self._pending, 1, url) for url in urls))
