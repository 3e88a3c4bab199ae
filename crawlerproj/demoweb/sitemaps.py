"""Hosts with sitemaps (sitemaps.org): an index, a plain and a packed one, and pages that only they name."""

import gzip
from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.nuisance import Nuisance

_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_INDEX, _PLAIN, _PACKED = "/sitemap.xml", "/sitemaps/pages.xml", "/sitemaps/listed.xml.gz"
_LISTED = tuple(f"/listed/{number}.html" for number in range(1, 4))
_MOST_PAGES = 1000
_XML = "application/xml"


class Sitemaps(Nuisance):
    """Meets a share of the hosts; robots.txt names the index. Its pages beside the ordinary ones are MAY."""

    name = "sitemaps"
    default_share = 0.1
    truth_class = "MAY"

    def robots_lines(self, host: int) -> Iterable[str]:
        return (f"Sitemap: {self.layout.origins[host]}{_INDEX}",) if self.meets_host(host) else ()

    def answer(self, host: int, path: str) -> Answer | None:
        if not self.is_may(host, path):
            return None
        origin = self.layout.origins[host]
        if path == _INDEX:
            return Answer(200, body=_index([origin + _PLAIN, origin + _PACKED]), content_type=_XML)
        if path == _PLAIN:
            pages = range(min(_MOST_PAGES, self.layout.sizes[host]))
            return Answer(200, body=_urls([self.layout.url(host, n) for n in pages]), content_type=_XML)
        if path == _PACKED:
            body = gzip.compress(_urls([origin + listed for listed in _LISTED]), mtime=0)
            return Answer(200, body=body, content_type="application/gzip")
        return Answer(200, f"Listed {path}")

    def is_may(self, host: int, path: str) -> bool:
        return path in (_INDEX, _PLAIN, _PACKED, *_LISTED) and self.meets_host(host)

    def may(self) -> Iterable[Family]:
        paths = (_INDEX, _PLAIN, _PACKED, *_LISTED)
        hosts = filter(self.meets_host, range(self.layout.hosts))
        urls = tuple(self.layout.origins[host] + path for host in hosts for path in paths)
        return (Family(self.name, len(urls), urls),) if urls else ()


def _index(urls: list[str]) -> bytes:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>\n" for url in urls)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {_NAMESPACE}>\n{entries}</sitemapindex>\n'
    return text.encode()


def _urls(urls: list[str]) -> bytes:
    entries = "".join(f"<url><loc>{url}</loc><priority>0.5</priority></url>\n" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {_NAMESPACE}>\n{entries}</urlset>\n'.encode()
