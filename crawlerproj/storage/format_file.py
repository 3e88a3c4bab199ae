"""CRAWL_DIR/FORMAT: which format and which URL rules a crawl was made with.

With other spelling rules the URL-seen test would silently stop matching, so they are refused.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

FORMAT_VERSION = 1


class FormatError(Exception):
    """The directory belongs to another kind of crawl; the message says what to do."""


def check_format(directory: Path, spelling: str, software: str) -> int:
    """Reads FORMAT, or writes it for a new crawl; gives the seed of the crawl's URL keys."""
    path = directory / "FORMAT"
    try:
        if not path.exists():
            return _write(path, spelling, software)
    except OSError as error:
        raise FormatError(f"{directory} cannot be made or written ({error.strerror}): choose a CRAWL_DIR "
                          "where you may write") from error
    try:
        found = json.loads(path.read_text())
        version, seed = found["version"], int(found["hash_seed"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} cannot be read ({error!r}): restore it, or crawl into another "
                          "CRAWL_DIR") from error
    if version != FORMAT_VERSION:
        raise FormatError(f"{directory} has format {version}, this is {software} with format "
                          f"{FORMAT_VERSION}: use the version that made it, or crawl into another CRAWL_DIR")
    if found.get("spelling") != spelling:
        raise FormatError(f"{directory} was crawled with other URL rules (URL_STRIP_PARAMETERS, "
                          "URL_SORT_QUERY): set them as they were, or crawl into another CRAWL_DIR")
    return seed


def _write(path: Path, spelling: str, software: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = secrets.randbits(63)
    draft = path.with_suffix(".new")
    with draft.open("w") as file:
        json.dump({"version": FORMAT_VERSION, "spelling": spelling, "hash_seed": seed, "software": software},
                  file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)  # a crash leaves no half a file
    return seed
