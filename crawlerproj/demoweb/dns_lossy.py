"""Hosts for whose names every other question is lost, the first among them."""

from dataclasses import replace

from crawlerproj.demoweb.answers import Lookup
from crawlerproj.demoweb.nuisance import Nuisance


class DnsLossy(Nuisance):
    """Meets a share of the hosts: who asks again gets an answer."""

    name = "dns_lossy"
    default_share = 0.02

    def lookup(self, host: int, query: int, lookup: Lookup) -> Lookup:
        if host >= self.layout.hosts or not self.meets_host(host) or query % 2 == 0:
            return lookup
        return replace(lookup, is_lost=True)
