"""Hosts with feeds (RSS 2.0, Atom, JSON Feed): of ordinary pages, and of posts that only they name."""

import json
from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.nuisance import Nuisance

_RSS, _ATOM, _JSON = "/feeds/rss.xml", "/feeds/atom.xml", "/feeds/feed.json"
_TYPES = {_RSS: "application/rss+xml", _ATOM: "application/atom+xml", _JSON: "application/feed+json"}
_POSTS = tuple(f"/feeds/post-{number}.html" for number in range(1, 4))
_ENTRIES = 10
_DATE = "2026-01-01T00:00:00Z"
_RSS_DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


class Feeds(Nuisance):
    """Meets a share of the hosts; every page of theirs names the feeds in its head. All of it is MAY."""

    name = "feeds"
    default_share = 0.1
    truth_class = "MAY"

    def head_lines(self, host: int, page: int) -> Iterable[str]:
        if not self.meets_host(host):
            return ()
        origin = self.layout.origins[host]
        return [f'<link rel="alternate" type="{_TYPES[p]}" href="{origin}{p}">' for p in _TYPES]

    def answer(self, host: int, path: str) -> Answer | None:
        if not self.is_may(host, path):
            return None
        if path in _POSTS:
            return Answer(200, f"Post {path}")
        origin = self.layout.origins[host]
        urls = [self.layout.url(host, n) for n in range(min(_ENTRIES, self.layout.sizes[host]))]
        urls += [origin + post for post in _POSTS]
        make = {_RSS: _rss, _ATOM: _atom, _JSON: _json}[path]
        return Answer(200, body=make(origin, urls).encode(), content_type=_TYPES[path])

    def is_may(self, host: int, path: str) -> bool:
        return (path in _TYPES or path in _POSTS) and self.meets_host(host)

    def may(self) -> Iterable[Family]:
        hosts = filter(self.meets_host, range(self.layout.hosts))
        urls = tuple(self.layout.origins[host] + path for host in hosts for path in (*_TYPES, *_POSTS))
        return (Family(self.name, len(urls), urls),) if urls else ()


def _rss(origin: str, urls: list[str]) -> str:
    items = "".join(
        f"<item><title>News</title><link>{url}</link><guid>{url}</guid><pubDate>{_RSS_DATE}</pubDate></item>\n"
        for url in urls
    )
    head = f"<title>News</title><link>{origin}/</link><description>News</description>"
    return f'<?xml version="1.0"?>\n<rss version="2.0"><channel>{head}\n{items}</channel></rss>\n'


def _atom(origin: str, urls: list[str]) -> str:
    entries = "".join(
        f'<entry><id>{url}</id><title>News</title><link href="{url}"/><updated>{_DATE}</updated></entry>\n'
        for url in urls
    )
    head = f"<id>{origin}/</id><title>News</title><updated>{_DATE}</updated>"
    return f'<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom">{head}\n{entries}</feed>\n'


def _json(origin: str, urls: list[str]) -> str:
    items = [{"id": url, "url": url, "title": "News", "date_published": _DATE} for url in urls]
    head = {"version": "https://jsonfeed.org/version/1.1", "title": "News", "home_page_url": origin + "/"}
    return json.dumps({**head, "items": items})
