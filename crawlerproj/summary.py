"""What a crawl says when it ends: what was found, where it is, what to type next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawlerproj.assembly import Crawl

_REASONS = {
    "finished": "The crawl is finished: nothing is left to fetch.",
    "waiting": "The crawl waits: what is left may not be fetched soon. Start the command again later.",
    "shutdown": "The crawl was stopped. Start the same command again to go on.",
    "no_seed_reachable": "No seed could be reached.",
}


def closing_words(crawl: Crawl, reason: str, counts: Mapping[str, int], stats: Mapping[str, Any]) -> str:
    """The last message of a run; `counts` are those of the whole crawl, `stats` of this run."""
    offered, done, parked = (counts.get(name, 0) for name in ("offered", "done", "parked"))
    queued = offered - done - parked
    this_run = stats.get("frontier/done", 0)
    if reason == "finished" and not this_run and done:
        return (
            f"This crawl was finished before, with {done:,} URLs done: there was nothing to do.\n"
            f"  For a new crawl choose another directory (-s CRAWL_DIR=...) or remove {crawl.directory}.\n"
            f"  To go on with more URLs: scrapy frontier add FILE --dir {crawl.directory}"
        )
    first = _REASONS.get(reason, f"The crawl ended ({reason}). Start the same command again to go on.")
    outcomes = sorted(((n, name.removeprefix("done/")) for name, n in counts.items()
                       if name.startswith("done/")), reverse=True)
    lines = [
        first,
        f"  {done:,} URLs done ({this_run:,} in this run), {queued:,} queued, {parked:,} parked",
        "  " + ", ".join(f"{word} {n:,}" for n, word in outcomes[:10]),
        f"  documents: {crawl.directory}/warc/*.warc.gz",
        f"  next: scrapy frontier stats --dir {crawl.directory}",
    ]
    return "\n".join(line for line in lines if line.strip())
