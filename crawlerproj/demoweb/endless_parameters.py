"""Lists that can be filtered, sorted and turned by parameters without end."""

from urllib.parse import parse_qsl

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.traps import Trap

_COLORS = ("red", "green", "blue")
_NAMES = {"color", "page", "sort"}


class EndlessParameters(Trap):
    """Meets a share of the hosts; page numbers beyond the third show the text of the last."""

    name = "endless_parameters"
    default_share = 0.02

    def door(self, host: int) -> str:
        return "list.html"

    def inside(self, host: int, rest: str) -> Answer | None:
        path, _, query = rest.partition("?")
        values = dict(parse_qsl(query))
        page = values.get("page", "1")
        if path != "list.html" or not set(values) <= _NAMES or not (page.isascii() and page.isdigit()):
            return None
        color = values.get("color", "red")
        number = int(page[:9])
        queries = [f"color={other}&page={number}" for other in _COLORS if other != color]
        queries += [f"color={color}&page={number + 1}", f"color={color}&page={number}&sort=price"]
        queries += [f"color={color}&page={number + 10}&sort=name"]
        links = tuple(f"{self.folder}list.html?{query}" for query in queries)
        return Answer(200, f"List {color}", links=links, text_key=f"list {host} {color} {min(number, 3)}")
