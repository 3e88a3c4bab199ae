"""Which nuisances are there, and which does `--nuisance` ask for?"""

from crawlerproj.demoweb.bad_chunks import BadChunks
from crawlerproj.demoweb.bad_gzip import BadGzip
from crawlerproj.demoweb.bad_status import BadStatus
from crawlerproj.demoweb.broken_html import BrokenHtml
from crawlerproj.demoweb.calendar import Calendar
from crawlerproj.demoweb.changing import Changing
from crawlerproj.demoweb.charsets import Charsets
from crawlerproj.demoweb.chunked import Chunked
from crawlerproj.demoweb.compression import Compression
from crawlerproj.demoweb.crawl_delay import CrawlDelay
from crawlerproj.demoweb.cut_bodies import CutBodies
from crawlerproj.demoweb.dns_changing import DnsChanging
from crawlerproj.demoweb.dns_failing import DnsFailing
from crawlerproj.demoweb.dns_lossy import DnsLossy
from crawlerproj.demoweb.dns_short_ttl import DnsShortTtl
from crawlerproj.demoweb.dns_slow import DnsSlow
from crawlerproj.demoweb.documents import Documents
from crawlerproj.demoweb.duplicates import Duplicates
from crawlerproj.demoweb.endless_body import EndlessBody
from crawlerproj.demoweb.endless_parameters import EndlessParameters
from crawlerproj.demoweb.endless_paths import EndlessPaths
from crawlerproj.demoweb.facets import Facets
from crawlerproj.demoweb.feeds import Feeds
from crawlerproj.demoweb.foreign import Languages
from crawlerproj.demoweb.giant import Giant
from crawlerproj.demoweb.gzip_bomb import GzipBomb
from crawlerproj.demoweb.hanging import Hanging
from crawlerproj.demoweb.many_headers import ManyHeaders
from crawlerproj.demoweb.mirrors import Mirrors
from crawlerproj.demoweb.near_duplicates import NearDuplicates
from crawlerproj.demoweb.nuisance import Nuisance
from crawlerproj.demoweb.odd_links import OddLinks
from crawlerproj.demoweb.parameters import Parameters
from crawlerproj.demoweb.redirect_chains import RedirectChains
from crawlerproj.demoweb.redirect_loops import RedirectLoops
from crawlerproj.demoweb.redirects import Redirects
from crawlerproj.demoweb.redirects_forbidden import RedirectsForbidden
from crawlerproj.demoweb.redirects_nowhere import RedirectsNowhere
from crawlerproj.demoweb.refusing import Refusing
from crawlerproj.demoweb.repeating_paths import RepeatingPaths
from crawlerproj.demoweb.resets import Resets
from crawlerproj.demoweb.resetting import Resetting
from crawlerproj.demoweb.retry import Retry
from crawlerproj.demoweb.robots import Robots
from crawlerproj.demoweb.robots_absent import RobotsAbsent
from crawlerproj.demoweb.robots_bom import RobotsBom
from crawlerproj.demoweb.robots_changing import RobotsChanging
from crawlerproj.demoweb.robots_html import RobotsHtml
from crawlerproj.demoweb.robots_huge import RobotsHuge
from crawlerproj.demoweb.robots_redirect import RobotsRedirect
from crawlerproj.demoweb.robots_unreachable import RobotsUnreachable
from crawlerproj.demoweb.session_parameters import SessionParameters
from crawlerproj.demoweb.sessions import Sessions
from crawlerproj.demoweb.sitemaps import Sitemaps
from crawlerproj.demoweb.slow import Slow
from crawlerproj.demoweb.slow_body import SlowBody
from crawlerproj.demoweb.soft_404 import Soft404
from crawlerproj.demoweb.tls import Tls
from crawlerproj.demoweb.tls_bad import TlsBad
from crawlerproj.demoweb.topics import Topics
from crawlerproj.demoweb.traps import Trap
from crawlerproj.demoweb.wrong_length import WrongLength
from crawlerproj.demoweb.wrong_type import WrongType

# Hosts are numbered, and first answers taken, in this order.
CATALOGUE: tuple[type[Nuisance], ...] = (
    # In the mild web, and like it.
    Redirects,
    Duplicates,
    Robots,
    Slow,
    Retry,
    CrawlDelay,
    # Ordinary pages and hosts, harder to get.
    Resets,
    Compression,
    Chunked,
    Languages,
    Charsets,
    Changing,
    Topics,
    OddLinks,
    Tls,
    # Names.
    DnsSlow,
    DnsLossy,
    DnsChanging,
    DnsShortTtl,
    # robots.txt. The first that answers is taken: a redirect goes before what is at its end.
    RobotsRedirect,
    RobotsHuge,
    RobotsBom,
    RobotsAbsent,
    RobotsHtml,
    RobotsChanging,
    # Other ways to pages, and other files.
    Sitemaps,
    Feeds,
    Documents,
    # Pages that misbehave.
    Soft404,
    NearDuplicates,
    Parameters,
    RedirectLoops,
    RedirectChains,
    RedirectsForbidden,
    RedirectsNowhere,
    WrongType,
    WrongLength,
    BadChunks,
    BadGzip,
    GzipBomb,
    ManyHeaders,
    BadStatus,
    CutBodies,
    BrokenHtml,
    # Families without end.
    Calendar,
    Sessions,
    SessionParameters,
    EndlessPaths,
    RepeatingPaths,
    EndlessParameters,
    Facets,
    # Hosts that are bad, or too much, as a whole.
    Mirrors,
    Refusing,
    Hanging,
    Resetting,
    EndlessBody,
    SlowBody,
    DnsFailing,
    RobotsUnreachable,
    TlsBad,
    Giant,
)
TRAPS = tuple(kind for kind in CATALOGUE if issubclass(kind, Trap))
for number, kind in enumerate(TRAPS):
    kind.start = number / len(TRAPS)


def parse_nuisance(text: str) -> dict[type[Nuisance], float]:
    """`none`, `mild`, `all`, or `name=share,...`; a name alone has its default share.

    `mild` and `all` may begin a list, whose shares then go before; `traps` are all traps together.
    """
    kinds = {kind.name: kind for kind in CATALOGUE}
    shares: dict[type[Nuisance], float] = {}
    for number, part in enumerate(text.split(",")):
        name, _, share = part.strip().partition("=")
        if number == 0 and part in ("none", "mild", "all"):
            chosen = [kind for kind in CATALOGUE if part == "all" or (kind.is_mild and part == "mild")]
            shares = {kind: kind.default_share for kind in chosen}
        elif name == "traps":
            each = _share(part, share) / len(TRAPS) if share else None
            shares.update({kind: kind.default_share if each is None else each for kind in TRAPS})
        elif name in kinds:
            shares[kinds[name]] = _share(part, share) if share else kinds[name].default_share
        else:
            known = ", ".join(kinds)
            raise ValueError(f"unknown nuisance {name!r}: give none, mild, all, traps, or any of {known}")
    return {kind: shares[kind] for kind in CATALOGUE if kind in shares}


def _share(part: str, text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"nuisance {part!r}: give a share from 0 to 1, as in redirects=0.1")
    return share
