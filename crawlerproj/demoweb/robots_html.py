"""Hosts that answer 200 with a page of HTML for robots.txt, as they do for everything they do not know."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.nuisance import Nuisance


class RobotsHtml(Nuisance):
    """Meets a share of the hosts, of those that have no rules: all is allowed."""

    name = "robots_html"
    default_share = 0.03

    def robots_answer(self, host: int, path: str, lines: list[str]) -> Answer | None:
        if lines or not self.meets_host(host):
            return None
        return Answer(200, "Welcome", links=("/",))
