"""Links that name no page of the web: other schemes, broken addresses, fragments of the page itself."""

from collections.abc import Iterable

from crawlerproj.demoweb.nuisance import Nuisance

_LINKS = (
    "mailto:somebody@example.com", "javascript:void(0)", "tel:+123456", "data:text/html,hello", "#top", "",
    "http://", "http://[::1", "ftp://ftp.example.com/", "about:blank", "http://%zz/",
    "http://a b/", "file:///etc/passwd", "http://256.256.256.256/", "http://host:99999/", "//",
)  # fmt: skip


class OddLinks(Nuisance):
    """Meets a share of the pages, which have some of them each; the pages themselves are ordinary."""

    name = "odd_links"
    default_share = 0.1

    def relative_links(self, host: int, page: int) -> Iterable[str]:
        if not self.meets_page(host, page):
            return ()
        first = int(self.layout.chance(self.salt + 1, host, page) * len(_LINKS))
        return (_LINKS + _LINKS)[first : first + 3]
