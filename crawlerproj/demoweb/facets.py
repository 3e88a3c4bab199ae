"""Shops whose goods are shown in every order, in every view and after every other: few goods, many URLs."""

from urllib.parse import parse_qsl, urlencode

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.traps import CAP, Trap

_GOODS = 20
_ORDERS = ("price", "name", "age")
_VIEWS = ("list", "grid", "large")
_NAMES = {"id", "sort", "view", "from"}


class Facets(Trap):
    """Meets a share of the hosts; goods have texts of their own: to give up the shop would lose them."""

    name = "facets"
    default_share = 0.02
    cap = _GOODS + CAP

    def door(self, host: int) -> str:
        return "goods.html?id=0"

    def inside(self, host: int, rest: str) -> Answer | None:
        path, _, query = rest.partition("?")
        values = dict(parse_qsl(query))
        number = values.get("id", "")
        if path != "goods.html" or not set(values) <= _NAMES or number not in map(str, range(_GOODS)):
            return None
        this = int(number)
        shown = [values | {"sort": order} for order in _ORDERS] + [values | {"view": view} for view in _VIEWS]
        others = [(this + step) % _GOODS for step in (1, 2, 3, 7)]
        shown += [values | {"id": str(other), "from": number} for other in others]
        links = tuple(f"{self.folder}goods.html?{urlencode(each)}" for each in shown)
        return Answer(200, f"Goods {this}", links=links, text_key=f"goods {host} {this}")
