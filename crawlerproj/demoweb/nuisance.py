"""What may make a page of the demo web harder to crawl, and what does that change?

A nuisance is a subclass of `Nuisance` in a file of its own that overrides the questions it has an answer
to, listed in `catalogue.py`. It asks the layout, never another nuisance, and keeps no state: what it
answers is a function of the world's numbers (and of the attempt, the time, the query, where it is told).
Three kinds have their own parent: `own_pages.py` (pages beside the ordinary ones), `traps.py` (families
without end) and `own_hosts.py` (hosts beside the ordinary ones).
"""

from collections.abc import Iterable
from typing import ClassVar
from zlib import crc32

from crawlerproj.demoweb.answers import Answer, Edition, Family, Lookup, Response, Voice
from crawlerproj.demoweb.layout import Layout, mix


class Nuisance:
    """`share` is the part of the hosts or pages that it meets (each class says which).

    `truth_class` is the class of the URLs that it touches: a nuisance of the class MUST makes ordinary
    pages harder to get, and a correct crawl gets them all the same.
    """

    name: ClassVar[str]
    default_share: ClassVar[float]
    truth_class: ClassVar[str] = "MUST"
    is_mild: ClassVar[bool] = False

    def __init__(self, layout: Layout, share: float) -> None:
        self.layout = layout
        self.share = share
        self.salt = crc32(self.name.encode())
        self._met_hosts: dict[int, bool] = {}
        self._sure_host = mix(layout.seed, self.salt) % layout.hosts

    def meets_host(self, host: int) -> bool:
        """One host is always met, so that a small world has every nuisance that was asked for."""
        met = self._met_hosts.get(host)
        if met is None:
            met = self.share > 0 and (
                host == self._sure_host or self.layout.chance(self.salt, host) < self.share
            )
            self._met_hosts[host] = met
        return met

    def meets_page(self, host: int, page: int) -> bool:
        return page > 0 and self.layout.chance(self.salt, host, page) < self.share

    # What pages show.

    def entry(self, host: int, page: int) -> str | None:
        """The URL by which links reach this page, if not its own."""
        return None

    def source(self, host: int, page: int) -> tuple[int, int] | None:
        """The host and page whose text this page shows, if the text is shared."""
        return None

    def extra_links(self, host: int, page: int) -> Iterable[str]:
        """More URLs to link to."""
        return ()

    def relative_links(self, host: int, page: int) -> Iterable[str]:
        """More links, written into the page as they are."""
        return ()

    def head_lines(self, host: int, page: int) -> Iterable[str]:
        """More elements for the head of the page."""
        return ()

    def voice(self, host: int, page: int) -> Voice | None:
        """Language and charset of the page, if not English in UTF-8."""
        return None

    def subject(self, host: int, page: int) -> str | None:
        """The topic that the page is about, if any."""
        return None

    # How requests are answered.

    def answer(self, host: int, path: str) -> Answer | None:
        """The answer to a path that is this nuisance's own."""
        return None

    def missing(self, host: int) -> Answer | None:
        """The answer to a path that nobody knows, instead of 404."""
        return None

    def refusal(self, host: int, page: int, attempt: int) -> Answer | None:
        """The answer to this attempt (the first is 1) instead of the page."""
        return None

    def edition(self, host: int, page: int, now: float) -> Edition | None:
        """What the page says of its changes at this time."""
        return None

    def deliver(self, host: int, page: int, response: Response) -> Response:
        """The page in another wrapping."""
        return response

    def delay_seconds(self, host: int) -> float:
        return 0.0

    # robots.txt.

    def robots_lines(self, host: int) -> Iterable[str]:
        """Lines of the host's robots.txt below `User-agent: *`."""
        return ()

    def robots_lines_of(self, host: int, reads: int) -> Iterable[str]:
        """More of them that are not the same each time it is read (the first is 1)."""
        return ()

    def robots_answer(self, host: int, path: str, lines: list[str]) -> Answer | None:
        """The answer to /robots.txt (or a place it has moved to), if not simply these lines."""
        return None

    def crawl_delay(self, host: int) -> float | None:
        return None

    def is_forbidden(self, host: int, path: str, reads: int) -> bool:
        """Does robots.txt, as it was read for the n-th time, forbid this path?"""
        return self.is_never(host, path)

    # Names, addresses and connections.

    def lookup(self, host: int, query: int, lookup: Lookup) -> Lookup:
        """The answer to the n-th question for the host's address (the first is 1)."""
        return lookup

    def addresses(self, host: int) -> Iterable[str]:
        """Addresses of the host beside its first."""
        return ()

    def certificate(self, host: int) -> str | None:
        """The kind of certificate (see tls.py) of a host that speaks TLS."""
        return None

    # The truth.

    def is_never(self, host: int, path: str) -> bool:
        return False

    def is_may(self, host: int, path: str) -> bool:
        return False

    def never(self) -> Iterable[str]:
        """Every URL that must not be fetched, though pages link to it."""
        return ()

    def may(self) -> Iterable[Family]:
        return ()

    def labels(self) -> Iterable[tuple[str, str, object]]:
        """What else is known of a URL or host: (kind of label, URL or host, value)."""
        return ()
