"""Hosts whose robots.txt asks for a crawl-delay."""

from collections.abc import Iterable

from crawlerproj.demoweb.nuisance import Nuisance

_LONGEST_SECONDS = 1.0
_HOST_SECONDS = 20.0


class CrawlDelay(Nuisance):
    """Meets a share of the hosts; the larger the host the shorter its delay, so that a crawl can end."""

    name = "crawl_delay"
    default_share = 0.05

    def crawl_delay(self, host: int) -> float | None:
        if not self.meets_host(host):
            return None
        return max(0.01, round(min(_LONGEST_SECONDS, _HOST_SECONDS / self.layout.sizes[host]), 2))

    def robots_lines(self, host: int) -> Iterable[str]:
        delay = self.crawl_delay(host)
        return () if delay is None else (f"Crawl-delay: {delay}",)
