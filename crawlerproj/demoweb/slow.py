"""Hosts that answer late."""

from crawlerproj.demoweb.nuisance import Nuisance

_LEAST_SECONDS = 0.02
_SPREAD_SECONDS = 0.03


class Slow(Nuisance):
    """Meets a share of the hosts, none of over twice the mean size: a polite crawl waits long for those."""

    name = "slow"
    default_share = 0.05
    is_mild = True

    def delay_seconds(self, host: int) -> float:
        if self.layout.sizes[host] * self.layout.hosts > 2 * self.layout.pages or not self.meets_host(host):
            return 0.0
        return _LEAST_SECONDS + _SPREAD_SECONDS * self.layout.chance(self.salt + 1, host)
