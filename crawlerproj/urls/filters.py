"""Is a URL wanted? The rules of a crawl, asked for every link and again when a URL is drawn.

A rejected URL has a reason, and the reason is the name of its count in the statistics
(`filter/too_long`). Rules run from cheap to dear; what depends on the host alone is decided once
and remembered for a bounded number of hosts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from .blacklist import Blacklist, advertisements, load_blacklist
from .hosts import CACHED_HOSTS, domain_suffix, host_of, hostname, in_domains

__all__ = [
    "DOCUMENT_TYPES", "SKIPPED_EXTENSIONS", "Blacklist", "Filters", "advertisements", "load_blacklist",
]

# What carries neither text nor links. PDF and office documents are not here: they can be converted.
# Nor is "js": pages are named so (/wiki/Node.js), and scripts are seldom linked.
SKIPPED_EXTENSIONS: frozenset[str] = frozenset(
    extension
    for family in (
        "avif bmp cdr dwg dxf eps gif heic ico jfif jpe jpeg jpg mng pct png psd psp svg tga tif tiff webp",
        "aac aif aiff au flac m3u m3u8 m4a mid midi mp3 oga ogg opus ra wav weba wma",
        "3g2 3gp asf asx avi f4v flv m2ts m4v mkv mov mp4 mpeg mpg ogv qt rm swf vob webm wmv",
        "7z bz2 cab gz iso jar lz lzma rar tar tbz2 tgz txz xz zip zst",
        "apk bin deb dll dmg exe img ipa msi pkg rpm war whl",
        "eot otf ttf woff woff2 css wasm mdb parquet pyc sqlite torrent",
    )
    for extension in family.split()
)

DOCUMENT_TYPES: tuple[str, ...] = (
    "text/*", "application/xhtml+xml", "application/xml", "application/rss+xml", "application/atom+xml",
    "application/rdf+xml", "application/feed+json", "application/pdf", "application/msword",
    "application/rtf",
    "application/vnd.openxmlformats-officedocument.*", "application/vnd.oasis.opendocument.*",
)

Search = Callable[[str], re.Match[str] | None]


class Filters:
    """Decides for a canonical URL, and for a content type, whether the crawl wants it.

    Empty `allow`, `domains` and `content_types` mean "all"; 0 for `max_length` or `depth_limit` means
    "no limit".
    """

    __slots__ = (
        "_allow", "_blacklist", "_deny", "_depth_limit", "_domains", "_excluded_domains", "_extension_length",
        "_extensions", "_host_rules", "_hosts", "_max_length", "_type_prefixes", "_types",
    )

    def __init__(
        self,
        *,
        max_length: int = 2_000,
        depth_limit: int = 0,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        domains: Iterable[str] = (),
        exclude_domains: Iterable[str] = (),
        extensions: Iterable[str] = SKIPPED_EXTENSIONS,
        blacklist: Blacklist | None = None,
        content_types: Iterable[str] = (),
    ) -> None:
        self._max_length = max_length or float("inf")
        self._depth_limit = depth_limit or float("inf")
        self._allow = _compiled("allow", allow)
        self._deny = _compiled("deny", deny)
        self._domains = frozenset(map(domain_suffix, domains)) - {""}
        self._excluded_domains = frozenset(map(domain_suffix, exclude_domains)) - {""}
        self._extensions = frozenset(extension.lower().lstrip(".") for extension in extensions)
        self._extension_length = max(map(len, self._extensions), default=0) + 1
        self._blacklist = blacklist
        self._host_rules = bool(self._domains or self._excluded_domains or blacklist)
        self._hosts: dict[str, tuple[str | None, tuple[str, ...]]] = {}
        types = [content_type.strip().lower() for content_type in content_types]
        self._types = frozenset(name for name in types if not name.endswith("*"))
        self._type_prefixes = tuple(name[:-1] for name in types if name.endswith("*"))

    def reason(self, url: str, depth: int = 0) -> str | None:
        """Why the URL is not wanted, in one word; None if it is."""
        if depth > self._depth_limit:
            return "too_deep"
        if len(url) > self._max_length:
            return "too_long"
        if not url.startswith(("https://", "http://")):
            return "scheme"
        if self._host_rules:
            host = host_of(url)
            reason, prefixes = self._hosts.get(host) or self._judge_host(host)
            if reason:
                return reason
            if prefixes and url.startswith(prefixes):
                return "blacklisted"
        if self._extensions and self._has_skipped_extension(url):
            return "extension"
        if self._deny and any(search(url) for search in self._deny):
            return "denied"
        if self._allow and not any(search(url) for search in self._allow):
            return "not_allowed"
        return None

    def banned(self, url: str) -> str | None:
        """`blacklisted` for what is never fetched, whatever asked for it."""
        if self._blacklist is None:
            return None
        host = host_of(url)
        prefixes = self._blacklist.prefixes(host)
        if self._blacklist.has_host(host) or (prefixes and url.startswith(prefixes)):
            return "blacklisted"
        return None

    def content_type_reason(self, content_type: str) -> str | None:
        """`content_type` if a response of this type is not wanted. An absent type is not held against it."""
        name = content_type.partition(";")[0].strip().lower()
        if not name or not (self._types or self._type_prefixes):
            return None
        if name in self._types or name.startswith(self._type_prefixes):
            return None
        return "content_type"

    def ban(self, entry: str) -> None:
        """Refuses a host, a `.suffix` or a URL prefix from now on."""
        if self._blacklist is None:
            self._blacklist = Blacklist()
        self._blacklist.add(entry)
        self._host_rules = True
        self._hosts.clear()

    def _has_skipped_extension(self, url: str) -> bool:
        query = url.find("?")
        end = query if query >= 0 else len(url)
        # An "extension" of the host, as in "https://example.com/", holds a slash and is in no set.
        dot = url.rfind(".", end - self._extension_length, end)
        return dot >= 0 and url[dot + 1 : end].lower() in self._extensions

    def _judge_host(self, host: str) -> tuple[str | None, tuple[str, ...]]:
        if len(self._hosts) >= CACHED_HOSTS:
            self._hosts.clear()
        prefixes = self._blacklist.prefixes(host) if self._blacklist else ()
        judged = (self._host_reason(host), prefixes)
        self._hosts[host] = judged
        return judged

    def _host_reason(self, host: str) -> str | None:
        name = hostname(host)
        if self._excluded_domains and in_domains(name, self._excluded_domains):
            return "excluded_domain"
        if self._domains and not in_domains(name, self._domains):
            return "domain"
        if self._blacklist and self._blacklist.has_host(host):
            return "blacklisted"
        return None


def _compiled(argument: str, expressions: Sequence[str]) -> tuple[Search, ...]:
    searches = []
    for expression in expressions:
        try:
            searches.append(re.compile(expression).search)
        except re.error as error:
            raise ValueError(
                f"{argument}: {expression!r} is not a regular expression ({error}). "
                "Put a backslash before characters meant literally, such as \\? \\+ \\( \\[ ."
            ) from error
    return tuple(searches)
