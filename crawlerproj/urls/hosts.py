"""Whose URL is it? The parts of a canonical URL that other rooms key by.

Everything here takes URLs as `canonical.Speller` spells them, so slicing is enough: the scheme is
`http` or `https`, the host is lower-case ASCII, there are no credentials and the path begins with "/".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

from ada_url import idna_to_ascii
from publicsuffixlist import PublicSuffixList

CACHED_HOSTS = 65_536

_IPV4 = re.compile(r"\d+\.\d+\.\d+\.\d+", re.ASCII).fullmatch
_WWW = re.compile(r"www\d*\.", re.ASCII)


def host_of(url: str) -> str:
    """`host[:port]`, the port only where it is not the scheme's default."""
    start = 8 if url[4:5] == "s" else 7
    end = url.find("/", start)
    return url[start:end] if end >= 0 else url[start:]


def authority(url: str) -> str:
    """Scheme, host and port: what one robots.txt speaks for."""
    end = url.find("/", 8)
    return url[:end] if end >= 0 else url


def hostname(host: str) -> str:
    """The host without its port and without a root dot; IPv6 addresses keep their brackets."""
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.partition(":")[0].removesuffix(".")


def is_address(name: str) -> bool:
    """Is this host name an IP address?"""
    return name.startswith("[") or _IPV4(name) is not None


def domain_suffix(text: str) -> str:
    """A domain as people write it (`.Edu`, `bücher.de`) as it stands in canonical URLs."""
    text = text.strip().strip(".")
    encoded: bytes = idna_to_ascii(text)
    return encoded.decode() if encoded else text.lower()


def in_domains(name: str, domains: frozenset[str] | set[str]) -> bool:
    """Is the host name one of the domains or below one? `notmit.edu` is not in `mit.edu`."""
    while name not in domains:
        _, dot, name = name.partition(".")
        if not dot:
            return False
    return True


@lru_cache(maxsize=CACHED_HOSTS)
def registered_domain(host: str) -> str:
    """The domain someone registered: `example.co.uk` for `www.example.co.uk:8080`.

    Addresses, `localhost` and public suffixes themselves are their own domain.
    """
    name = hostname(host)
    if is_address(name):
        return name
    domain: str | None = _public_suffixes().privatesuffix(name)
    return domain or name


@cache
def _public_suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def surt(url: str) -> str:
    """The sort-friendly key of a CDXJ index: `com,example)/path?query`.

    As archive readers build it: lower case, no scheme, no leading `www.`, no slash at the end of a
    path, parameters in order.
    """
    host = host_of(url)
    path, _, query = url[len(authority(url)) :].lower().partition("?")
    name, port = hostname(host), ""
    if ":" in host.rpartition("]")[2]:
        port = ":" + host.rpartition(":")[2]
    if not name.startswith("["):
        www = _WWW.match(name)
        name = ",".join(reversed(name[www.end() if www else 0 :].split(".")))
    if len(path) > 1:
        path = path.removesuffix("/")
    if query:
        query = "?" + "&".join(sorted(query.split("&"), key=lambda parameter: parameter.split("=", 1)))
    return f"{name}{port}){path or '/'}{query}"


def group_by(spec: str) -> Callable[[str], str]:
    """The politeness group of a URL: hosts of one group share one delay.

    `spec` is `host`, `domain` (the registered one), or a file whose lines are
    `name<TAB>host-or-.suffix`; a host the file does not name is a group of its own.
    """
    if spec == "host":
        return host_of
    if spec == "domain":
        return lambda url: registered_domain(host_of(url))
    group_of = _named_groups(spec)
    return lambda url: group_of(host_of(url))


def _named_groups(path: str) -> Callable[[str], str]:
    hosts: dict[str, str] = {}
    suffixes: dict[str, str] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise FileNotFoundError(
            f"POLITENESS_GROUP is {path!r}, which is no readable file ({error.strerror}). "
            "Give `host`, `domain`, or a file with lines of `name<TAB>host-or-.suffix`."
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        group, tab, member = line.partition("\t")
        if not tab or not group.strip() or not member.strip():
            raise ValueError(f"{path}:{number}: {line!r} is not `name<TAB>host-or-.suffix`.")
        member = member.strip()
        table = suffixes if member.startswith(".") else hosts
        table[domain_suffix(member)] = group.strip()

    @lru_cache(maxsize=CACHED_HOSTS)
    def group_of(host: str) -> str:
        name = hostname(host)
        if name in hosts:
            return hosts[name]
        while name:
            if name in suffixes:
                return suffixes[name]
            name = name.partition(".")[2]
        return host

    return group_of
