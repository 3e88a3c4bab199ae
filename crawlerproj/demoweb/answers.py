"""What passes between nuisances, the world and its servers."""

from dataclasses import dataclass

HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


@dataclass(slots=True, frozen=True)
class Wire:
    """An answer as it goes over the wire, when it is not a head and a body of HTTP.

    `data` is sent as it is; `then` the connection is closed, reset, left hanging without another byte, or
    `drip` is sent every `interval` seconds, `drips` times or, if that is 0, until the client has enough.
    """

    data: bytes = b""
    then: str = "close"
    drip: bytes = b""
    interval: float = 0.0
    drips: int = 0


@dataclass(slots=True, frozen=True)
class Answer:
    """What a path is answered with, other than a page of the layout.

    Without a `body`, a page with this title and these links is made; with status 200 it has paragraphs,
    which are the same for the same `text_key` (the path, if it is empty).
    """

    status: int
    title: str = ""
    location: str | None = None
    retry_after: int | None = None
    links: tuple[str, ...] = ()
    text_key: str = ""
    body: bytes | None = None
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()
    wire: Wire | None = None
    forbidden: bool = False
    delay_seconds: float = 0.0


@dataclass(slots=True, frozen=True)
class Response:
    """One answer, with what the access log says about it."""

    status: int
    body: bytes
    content_type: str = HTML
    location: str | None = None
    retry_after: int | None = None
    delay_seconds: float = 0.0
    forbidden: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    wire: Wire | None = None
    etag: str | None = None
    last_modified: str | None = None
    gzip: bytes | None = None  # the body for clients that accept it so
    chunked: bool = False


@dataclass(slots=True, frozen=True)
class Voice:
    """In which language and charset a page is written, and what its header and its meta element say."""

    language: str = "en"
    charset: str = "utf-8"
    header: str | None = "utf-8"
    meta: str | None = "utf-8"


@dataclass(slots=True, frozen=True)
class Edition:
    """The state of a page that changes: its number, and the validators that are sent with it."""

    number: int
    etag: str | None
    last_modified: str | None


@dataclass(slots=True, frozen=True)
class Lookup:
    """The answer to a question for addresses; `code` as in RFC 1035, `is_lost`: there is none."""

    addresses: tuple[str, ...]
    ttl_seconds: int = 300
    delay_seconds: float = 0.0
    code: int = 0
    is_lost: bool = False


@dataclass(slots=True, frozen=True)
class Family:
    """URLs of which a correct crawl fetches any, but at most `cap`: these, and all that begin so.

    robots.txt belongs to no family: it is no page, and asked for as often as it expires.
    """

    name: str
    cap: int
    urls: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    def holds(self, url: str) -> bool:
        return url in self.urls or (url.startswith(self.prefixes) and not url.endswith("/robots.txt"))
