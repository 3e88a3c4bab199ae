"""Redirects that lead back to where they began, in one, two or three steps."""

from collections.abc import Iterable

from crawlerproj.demoweb.answers import Answer, Family
from crawlerproj.demoweb.own_pages import OwnPages


class RedirectLoops(OwnPages):
    """Meets a share of the pages."""

    name = "redirect_loops"
    default_share = 0.005

    def own_page(self, host: int, page: int, query: str) -> Answer:
        steps = self._steps(host, page)
        path = self.path(page)
        following = steps[(steps.index(query) + 1) % len(steps)] if query in steps else steps[0]
        return Answer(302, "Moved", location=f"{path}?{following}" if following else path)

    def may(self) -> Iterable[Family]:
        urls = [
            f"{self.layout.origins[host]}{self.path(page)}{'?' if step else ''}{step}"
            for host, page in self.met()
            for step in self._steps(host, page)
        ]
        return (Family(self.name, len(urls), tuple(urls)),) if urls else ()

    def _steps(self, host: int, page: int) -> list[str]:
        return ["", "step=1", "step=2"][: 1 + self.code(host, page) % 3]
