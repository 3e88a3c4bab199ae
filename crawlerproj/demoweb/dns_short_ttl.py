"""Hosts whose addresses may be kept for a second, or not at all."""

from dataclasses import replace

from crawlerproj.demoweb.answers import Lookup
from crawlerproj.demoweb.nuisance import Nuisance


class DnsShortTtl(Nuisance):
    """Meets a share of the hosts."""

    name = "dns_short_ttl"
    default_share = 0.05

    def lookup(self, host: int, query: int, lookup: Lookup) -> Lookup:
        if host >= self.layout.hosts or not self.meets_host(host):
            return lookup
        return replace(lookup, ttl_seconds=int(self.layout.chance(self.salt + 1, host) * 2))
