"""Hosts whose names take their time."""

from dataclasses import replace

from crawlerproj.demoweb.answers import Lookup
from crawlerproj.demoweb.nuisance import Nuisance

_LEAST_SECONDS = 0.2
_SPREAD_SECONDS = 0.6


class DnsSlow(Nuisance):
    """Meets a share of the hosts."""

    name = "dns_slow"
    default_share = 0.03

    def lookup(self, host: int, query: int, lookup: Lookup) -> Lookup:
        if host >= self.layout.hosts or not self.meets_host(host):
            return lookup
        delay = _LEAST_SECONDS + _SPREAD_SECONDS * self.layout.chance(self.salt + 1, host)
        return replace(lookup, delay_seconds=delay)
