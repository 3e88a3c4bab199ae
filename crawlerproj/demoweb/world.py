"""What does each host of the demo web answer to each request?

`World` is a pure function of its arguments; pages are made anew each time they are asked for, as a crawl asks
for each of them once.
"""

from functools import lru_cache
from urllib.parse import urljoin

from crawlerproj.demoweb.answers import HTML, PLAIN, Answer, Edition, Lookup, Response
from crawlerproj.demoweb.catalogue import parse_nuisance
from crawlerproj.demoweb.layout import Layout
from crawlerproj.demoweb.own_hosts import OwnHosts
from crawlerproj.demoweb.pages import Pages, overriding


class World:
    """A web of `hosts` hosts and `pages` pages, served on `port`."""

    def __init__(
        self, seed: int = 1, hosts: int = 100, pages: int = 2000, nuisance: str = "mild", port: int = 80
    ) -> None:
        self.layout = Layout(seed, hosts, pages, port)
        self.nuisances = [kind(self.layout, share) for kind, share in parse_nuisance(nuisance).items()]
        self._owners = {host: n for n in self.nuisances if isinstance(n, OwnHosts) for host in n.own}
        self._asked = {
            question: overriding(self.nuisances, question)
            for question in (
                "answer", "refusal", "edition", "deliver", "delay_seconds", "robots_lines", "robots_lines_of",
                "robots_answer", "crawl_delay", "is_never", "is_may", "is_forbidden", "lookup", "certificate",
                "missing",
            )
        }  # fmt: skip
        self._judges = list(dict.fromkeys(self._asked["is_never"] + self._asked["is_forbidden"]))
        # Before anything asks for a URL: all are spelled with the scheme of their host.
        for host in range(len(self.layout.names)):
            if self.certificate(host) is not None:
                self.layout.set_scheme(host, "https")
        self._pages = Pages(self.layout, self.nuisances)
        self._delay = lru_cache(None)(self._host_delay)
        self.crawl_delay = lru_cache(None)(self._crawl_delay)

    def seeds(self) -> list[str]:
        return [self.layout.url(host, 0) for host in range(self.layout.seed_hosts)]

    def addresses(self) -> list[str]:
        """The address of each host, in the order of `layout.names`."""
        return [self.layout.address(host) for host in range(len(self.layout.names))]

    def endpoints(self) -> list[tuple[str, int]]:
        """Every address that is listened on, with the host whose it is."""
        found = []
        for host in range(len(self.layout.names)):
            owner = self._owners.get(host)
            if owner is None or owner.listens:
                found.append((self.layout.address(host), host))
            found += [(address, host) for n in self.nuisances for address in n.addresses(host)]
        return found

    def certificate(self, host: int) -> str | None:
        return next(filter(None, (n.certificate(host) for n in self._asked["certificate"])), None)

    def lookup(self, name: str, query: int) -> Lookup | None:
        """The answer to the n-th question for the address of a name; None: there is no such name."""
        host = self.layout.numbers.get(name)
        if host is None:
            return None
        lookup = Lookup((self.layout.address(host),))
        for nuisance in self._asked["lookup"]:
            lookup = nuisance.lookup(host, query, lookup)
        return lookup

    def answer(
        self, host: int, path: str, attempt: int = 1, now: float = 0.0, robots_reads: int = 1
    ) -> Response:
        """The response of this host to the n-th request for a path (the first attempt is 1)."""
        owner = self._owners.get(host)
        if owner is not None:
            return self._special(host, path, owner.own_answer(host, path, attempt), robots_reads)
        if path.endswith("/robots.txt"):
            return self._robots(host, path, max(attempt, robots_reads))
        page = self.layout.page_at(host, path)
        if page is None:
            answer = self._own_answer(host, path) or self._missing(host)
            return self._special(host, path, answer, robots_reads)
        for nuisance in self._asked["refusal"]:
            if (refusal := nuisance.refusal(host, page, attempt)) is not None:
                return self._special(host, path, refusal, robots_reads)
        return self._page_response(host, page, self._edition(host, page, now))

    def _missing(self, host: int) -> Answer:
        return next(filter(None, (n.missing(host) for n in self._asked["missing"])), Answer(404, "Not found"))

    def body(self, host: int, page: int) -> bytes:
        return self._pages.body(host, page)

    def links(self, host: int, page: int) -> list[str]:
        """The URLs a page that is no duplicate links to, in its order, with those of the navigation twice."""
        return self._pages.links(host, page)

    def is_duplicate(self, host: int, page: int) -> bool:
        return self._pages.source(host, page) is not None

    def redirect_target(self, url: str) -> str | None:
        host, path = self.split(url)
        answer = self._own_answer(host, path) if host < self.layout.hosts else None
        return urljoin(url, answer.location) if answer and answer.location else None

    def is_must_step(self, url: str) -> bool:
        host, path = self.split(url)
        if host >= self.layout.hosts:
            return False
        return self.layout.page_at(host, path) is not None or not (
            any(n.is_never(host, path) for n in self._asked["is_never"])
            or any(n.is_may(host, path) for n in self._asked["is_may"])
        )

    def split(self, url: str) -> tuple[int, str]:
        """The host number and the path of a URL of this world."""
        authority, _, path = url.partition("://")[2].partition("/")
        return self.layout.numbers[authority.partition(":")[0]], "/" + path

    def _host_delay(self, host: int) -> float:
        return sum(nuisance.delay_seconds(host) for nuisance in self._asked["delay_seconds"])

    def _crawl_delay(self, host: int) -> float | None:
        if host in self._owners:
            return None
        delays = (n.crawl_delay(host) for n in self._asked["crawl_delay"])
        return max((delay for delay in delays if delay is not None), default=None)

    def _edition(self, host: int, page: int, now: float) -> Edition | None:
        # A copy has the text of another page, which it would have to change with.
        if not self._asked["edition"] or self.is_duplicate(host, page):
            return None
        return next(filter(None, (n.edition(host, page, now) for n in self._asked["edition"])), None)

    def _page_response(self, host: int, page: int, edition: Edition | None) -> Response:
        body = self._pages.body(host, page, edition.number if edition else 0)
        voice = self._pages.voice(*(self._pages.source(host, page) or (host, page)))
        content_type = HTML if voice.header == "utf-8" else "text/html"
        if voice.header not in (None, "utf-8"):
            content_type += f"; charset={voice.header}"
        response = Response(
            200,
            body,
            content_type,
            delay_seconds=self._delay(host),
            etag=edition.etag if edition else None,
            last_modified=edition.last_modified if edition else None,
        )
        for nuisance in self._asked["deliver"]:
            response = nuisance.deliver(host, page, response)
        return response

    def _own_answer(self, host: int, path: str) -> Answer | None:
        return next(filter(None, (n.answer(host, path) for n in self._asked["answer"])), None)

    def _robots(self, host: int, path: str, reads: int) -> Response:
        lines = [line for nuisance in self._asked["robots_lines"] for line in nuisance.robots_lines(host)]
        for nuisance in self._asked["robots_lines_of"]:
            lines += nuisance.robots_lines_of(host, reads)
        for nuisance in self._asked["robots_answer"]:
            if (answer := nuisance.robots_answer(host, path, lines)) is not None:
                return self._special(host, path, answer, reads)
        if not lines:
            return Response(404, b"no robots.txt\n", PLAIN, delay_seconds=self._delay(host))
        text = "\n".join(["User-agent: *", *lines, ""])
        return Response(200, text.encode(), PLAIN, delay_seconds=self._delay(host))

    def _special(self, host: int, path: str, answer: Answer, reads: int) -> Response:
        is_own = host in self._owners
        forbidden = answer.forbidden or (
            not is_own and any(nuisance.is_forbidden(host, path, reads) for nuisance in self._judges)
        )
        return Response(
            answer.status,
            b"" if answer.wire else self._pages.special(host, path, answer),
            answer.content_type,
            location=answer.location,
            retry_after=answer.retry_after,
            delay_seconds=answer.delay_seconds + (0.0 if is_own else self._delay(host)),
            forbidden=forbidden,
            headers=answer.headers,
            wire=answer.wire,
        )
