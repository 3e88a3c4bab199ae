"""Pages that do not care for the order of their parameters, and links in every order."""

from collections.abc import Iterable
from itertools import permutations

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.own_pages import OwnPages

_PARAMETERS = ("color=red", "size=9", "view=list")


class Parameters(OwnPages):
    """Meets a share of the pages; each links to six spellings of one page."""

    name = "parameters"
    default_share = 0.003

    def paths(self, page: int) -> Iterable[str]:
        return [f"{self.path(page)}?{'&'.join(order)}" for order in permutations(_PARAMETERS)]

    def own_page(self, host: int, page: int, query: str) -> Answer:
        return Answer(200, f"Goods {page}", text_key=f"goods {host} {page}")
