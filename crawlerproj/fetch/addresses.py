"""Which addresses may a crawl of the public web never contact?

A name anyone may register can point anywhere, so the decision is taken on the address
that will be connected to, never on the name. Addresses that carry an IPv4 address inside
(v4-mapped, NAT64, 6to4) are judged by the one they carry; Teredo (2001::/32), the local NAT64 prefix and
every other IPv6 address outside the global unicast block are refused whole.
"""

from __future__ import annotations

import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")
_TEREDO = IPv6Network("2001::/32")
# All that has been given out for the public web (IANA); the standard library's lists grow with its version.
_GLOBAL_UNICAST = IPv6Network("2000::/3")


@lru_cache(maxsize=65_536)
def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address spelled by `text`, None when it is not one."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def spelled_address(host: str) -> str | None:
    """The address that resolvers of old style read in a host: also 127.1, 0x7f000001, 2130706433."""
    if parse_address(host) is not None:
        return host
    if not host[:1].isdigit():
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=65_536)
def refused(address: str) -> str | None:
    """Why this address must not be contacted; None when it may be."""
    parsed = parse_address(address)
    if parsed is None:
        return "not_an_address"
    if isinstance(parsed, IPv6Address):
        parsed = _carried(parsed) or parsed
    return _reason(parsed)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that traffic to this IPv6 address ends up at."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour


def _reason(address: IPv4Address | IPv6Address) -> str | None:
    # The narrow words come first: `is_private` is true of most of them as well.
    if address.is_unspecified:
        return "unspecified"
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link_local"
    if address.is_multicast:
        return "multicast"
    if address.is_private or (isinstance(address, IPv6Address) and address.is_site_local):
        return "private"
    if address.is_reserved:
        return "reserved"
    if isinstance(address, IPv6Address) and (address in _TEREDO or address not in _GLOBAL_UNICAST):
        return "reserved"
    # What is left and not global is shared address space (100.64.0.0/10).
    return None if address.is_global else "reserved"
