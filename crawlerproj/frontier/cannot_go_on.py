"""What an adapter does when a step of the frontier fails: nothing may be committed after it.

Half of a page may be written, or a contact may not be: as after a crash, the next start goes on from the
last commit. A disk that cannot be written is told with its remedy; anything else is a fault of ours, which
is told with where it happened.
"""

from __future__ import annotations

import logging
from typing import Protocol

from crawlerproj.storage.interface import StorageError

logger = logging.getLogger(__name__)


class Groups(Protocol):
    def fail(self, error: Exception) -> None: ...


class Place(Protocol):
    """What is needed of the crawl."""

    @property
    def commits(self) -> Groups: ...

    def fail(self, reason: str, message: str) -> None: ...


def cannot_go_on(crawl: Place, what: str, error: Exception) -> None:
    """Ends the crawl; `what` could not be done."""
    # The embedded engine's own errors are bare Exceptions.
    if not isinstance(error, OSError | StorageError) and type(error) is not Exception:
        logger.error("%s", what, exc_info=error)
        crawl.fail("internal_error", f"{what} ({error!r}): a fault of the crawler; nothing is lost, the same "
                   "command goes on from the last commit")
    crawl.commits.fail(error)
