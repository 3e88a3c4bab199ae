"""FEEDS that survive kill -9: an item is on the disk before its page counts as done.

Scrapy leaves items in a file's buffer until it is full. A page that is done is never fetched again, so
an item lost there would be lost for good. With each commit the feeds are therefore brought to the disk
first; a line torn by a kill is cut off when the crawl goes on, and its page is fetched once more.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage, StdoutFeedStorage

from crawlerproj.assembly import Crawl

logger = logging.getLogger(__name__)

_LINES = ("jsonlines", "jsonl", "jl", "csv")  # formats that can be gone on with
_BLOCK = 65_536


class FeedFiles:
    """The feeds of a crawler, as files whose content is part of each commit."""

    def __init__(self, crawler: Crawler) -> None:
        self._exporters = [one for one in crawler.extensions.middlewares if isinstance(one, FeedExporter)]

    def lengths(self) -> dict[str, int]:
        return {}  # they may be moved, read and cleared by others: no length is promised

    def flush_and_sync(self, sync: bool = True) -> None:
        """Brings to the disk at least what was written before the call. Safe in another thread."""
        for slot in self._slots():
            file = slot.file
            if file is None or not isinstance(slot.storage, (FileFeedStorage, StdoutFeedStorage)):
                continue
            try:
                file.flush()
                if sync and isinstance(slot.storage, FileFeedStorage):
                    os.fsync(file.fileno())
            except (ValueError, AttributeError):
                continue  # closed meanwhile, which has written it out; or compressed, which cannot be flushed

    def refusal(self, crawl: Crawl) -> str:
        """Why the feeds and the crawl do not go together; empty if they do."""
        done = crawl.storage.counts.get("done", 0)
        for exporter in self._exporters:
            for uri, options in exporter.feeds.items():
                path = _local_path(uri)
                if done and options.get("overwrite") and path is not None and _size(path):
                    exporter.feeds.clear()  # or the file would be emptied when the spider closes
                    return _overwriting(uri, crawl, done)
        return ""

    def mend(self) -> None:
        """Before the first item: cuts off torn lines, warns of feeds that do not survive a kill."""
        for slot in self._slots():
            if isinstance(slot.storage, StdoutFeedStorage):
                continue
            if not isinstance(slot.storage, FileFeedStorage):
                logger.warning("the feed %s is sent when it is complete: if the process is killed, its items "
                               "are lost. A local file is safe; FEED_EXPORT_BATCH_ITEM_COUNT limits the loss",
                               slot.uri)
            elif slot.format not in _LINES or "postprocessing" in slot.feed_options:
                logger.warning("the feed %s cannot be gone on with after a kill or a stop: give it the "
                               "format jsonlines, without postprocessing", slot.uri)
            elif slot.storage.write_mode == "ab":
                _cut_torn_line(Path(slot.storage.path))

    def _slots(self) -> list[Any]:
        return [slot for exporter in self._exporters for slot in list(exporter.slots)]


def _overwriting(uri: str, crawl: Crawl, done: int) -> str:
    place = crawl.directory
    return (f"the feed {uri} would be overwritten, but {place} goes on with a crawl that has {done:,} URLs "
            "done, which are not fetched again: their items would be gone. Append to it (-o, not -O, or "
            "\"overwrite\": False), name another file, or begin anew: with another CRAWL_DIR, or by removing "
            f"{place}")


def _local_path(uri: str) -> Path | None:
    """The file of a feed; None if it is elsewhere, or named anew by each run."""
    if "%(" in uri or ("://" in uri and not uri.startswith("file:")):
        return None
    path = FileFeedStorage(uri).path
    return Path(path)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _cut_torn_line(path: Path) -> None:
    """Ends the file after its last whole line."""
    size = end = _size(path)
    if not size:
        return
    with path.open("r+b") as file:
        while end:
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            end = begin + found + 1 if found >= 0 else begin
            if found >= 0:
                break
        if end < size:
            file.truncate(end)
            logger.warning("%s ended in the middle of a line (the process was killed): %d bytes are cut off, "
                           "their page is fetched again", path, size - end)
