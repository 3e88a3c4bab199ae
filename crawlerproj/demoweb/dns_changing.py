"""Hosts that move between two addresses, and say so with a short time to live."""

from collections.abc import Iterable
from dataclasses import replace

from crawlerproj.demoweb.answers import Lookup
from crawlerproj.demoweb.nuisance import Nuisance

_TTL_SECONDS = 2


class DnsChanging(Nuisance):
    """Meets a share of the hosts: every question gets the other address; both serve."""

    name = "dns_changing"
    default_share = 0.03

    def lookup(self, host: int, query: int, lookup: Lookup) -> Lookup:
        other = tuple(self.addresses(host))
        if not other:
            return lookup
        addresses = lookup.addresses if query % 2 else other
        return replace(lookup, addresses=addresses, ttl_seconds=_TTL_SECONDS)

    def addresses(self, host: int) -> Iterable[str]:
        if host >= self.layout.hosts or not self.meets_host(host):
            return ()
        return (self.layout.address(len(self.layout.names) + host),)
