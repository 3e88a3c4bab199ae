"""Markup that no validator has seen: open tags, deep nesting, NUL bytes, comments without end."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

_DEPTH = 20_000
_BODIES = (
    b"<div>" * _DEPTH + b"deep",
    b"<table><a href='/'>root<p><tr><b><a href=/>again</table></b><script>if (a </p> b) {",
    b"<p>before<!-- a comment that never ends <a href='/'>root</a>" + b" text" * 500,
    b"<html\x00><a\x00 href='/'>r\x00oot</a>\xff\xfe\x80" + bytes(range(256)) * 8,
    b"<a href='/" + b"x" * 100_000 + b"'>long</a>",
    b"<a " + b"".join(b"a%d=1 " % n for n in range(_DEPTH)) + b"href='/'>many attributes</a>",
    b"",
    b"<base href='http://[::1'><a href='/'>x</a><base href='//'><a href='/'>y</a>",
)


class BrokenHtml(OwnPages):
    """Meets a share of the pages."""

    name = "broken_html"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        return Answer(200, body=_BODIES[self.code(host, page) % len(_BODIES)])
