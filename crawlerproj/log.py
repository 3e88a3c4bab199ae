"""What the log says of a single request: nothing. A broad crawl would fill the disk with it."""

from __future__ import annotations

from typing import Any

from scrapy.logformatter import LogFormatter


class QuietLog(LogFormatter):
    """No line for each page, item or failed fetch: they are counted, and the archive has them."""

    def crawled(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        return None

    def scraped(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        return None

    def download_error(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        logged: Any = super().download_error(*args, **kwargs)
        return {**logged, "level": 10}
