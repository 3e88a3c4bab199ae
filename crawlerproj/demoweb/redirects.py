"""Pages that links reach only through a redirect: one, two or three hops, by way of another host or not."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.layout import mix, page_number
from crawlerproj.demoweb.nuisance import Nuisance

_STATUSES = (301, 302, 307, 308)


class Redirects(Nuisance):
    """Meets a share of the pages. Chain: /go/ (-> /step/) (-> /hop/ on the neighbouring host) -> page."""

    name = "redirects"
    default_share = 0.05
    is_mild = True

    def entry(self, host: int, page: int) -> str | None:
        return f"{self.layout.origins[host]}/go/{page}.html" if self.meets_page(host, page) else None

    def answer(self, host: int, path: str) -> Answer | None:
        kind, _, rest = path[1:].partition("/")
        page = page_number(rest) if kind in ("go", "step", "hop") else None
        owner = self._neighbour(host) if kind == "hop" else host
        if (
            page is None
            or owner is None
            or page >= self.layout.sizes[owner]
            or not self.meets_page(owner, page)
        ):
            return None
        return self._hop(kind, owner, page)

    def _hop(self, kind: str, owner: int, page: int) -> Answer | None:
        code = mix(self.layout.seed, self.salt + 1, owner, page)
        neighbour = self._neighbour(owner)
        hops = ["go", "step", "hop"][: 1 + code % 3] if neighbour is not None else ["go"]
        if len(hops) == 2 and code & 64:
            hops[1] = "hop"
        if kind not in hops:
            return None
        following = hops[hops.index(kind) + 1 :]
        if not following:
            location = self.layout.url(owner, page)
        elif following[0] == "hop" and neighbour is not None:
            location = f"{self.layout.origins[neighbour]}/hop/{page}.html"
        else:
            location = f"/step/{page}.html"
        return Answer(_STATUSES[(code >> 8) & 3], title="Moved", location=location)

    def _neighbour(self, host: int) -> int | None:
        return host ^ 1 if host ^ 1 < self.layout.hosts else None
