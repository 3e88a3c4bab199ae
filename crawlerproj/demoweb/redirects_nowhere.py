"""Redirects that name no web page: other schemes, no host, nothing at all."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

_LOCATIONS = (
    "mailto:nobody@example.com", "javascript:history.back()", "http://", "http://[::1", "https:///", "",
    "http://www.nowhere.invalid/", "ftp://ftp.example.com/file", "data:text/html,nothing", "http://%zz/",
)  # fmt: skip


class RedirectsNowhere(OwnPages):
    """Meets a share of the pages; some redirects have no Location at all."""

    name = "redirects_nowhere"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        choice = self.code(host, page) % (len(_LOCATIONS) + 1)
        return Answer(301, "Moved", location=_LOCATIONS[choice] if choice < len(_LOCATIONS) else None)
