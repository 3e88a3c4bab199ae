"""Which URLs must, may and must never a correct crawl fetch?

MUST is found by walking the generated links from the seeds, through MUST pages and redirects alone, and
by no link of a duplicate; it is asserted to be every page and every redirect on the way to one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from crawlerproj.demoweb.answers import Family
from crawlerproj.demoweb.world import World


@dataclass(slots=True, frozen=True)
class Truth:
    """MUST in the order found, the MAY families, and NEVER; and what else is known.

    `nuisances` holds name, share and class of each; `labels` values by kind of label and by URL or host.
    """

    must: tuple[str, ...]
    may: tuple[Family, ...]
    never: tuple[str, ...]
    nuisances: tuple[tuple[str, float, str], ...] = ()
    labels: dict[str, dict[str, object]] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        may = [
            {
                "family": family.name,
                "cap": family.cap,
                "urls": list(family.urls),
                "prefixes": list(family.prefixes),
            }
            for family in self.may
        ]
        kinds = [{"name": name, "share": share, "class": kind} for name, share, kind in self.nuisances]
        must, never = list(self.must), list(self.never)
        return {"must": must, "may": may, "never": never, "nuisances": kinds, "labels": self.labels}


def truth(world: World) -> Truth:
    must = _reachable(world)
    never = tuple(url for nuisance in world.nuisances for url in nuisance.never())
    may = tuple(family for nuisance in world.nuisances for family in nuisance.may())
    found = set(must)
    pages = {
        world.layout.url(host, page)
        for host in range(world.layout.hosts)
        for page in range(world.layout.sizes[host])
    }
    assert pages <= found, f"{len(pages - found)} pages cannot be reached, among them {min(pages - found)}"
    others = found - pages
    assert all(world.redirect_target(url) for url in others), "MUST holds more than pages and redirects"
    assert not found.intersection(never), "a URL is both MUST and NEVER"
    assert not any(found.intersection(family.urls) for family in may), "a URL is both MUST and MAY"
    prefixes = tuple(prefix for family in may for prefix in family.prefixes)
    assert not any(url.startswith(prefixes) for url in must), "a URL of MUST is in a MAY family"
    nuisances = tuple((n.name, n.share, n.truth_class) for n in world.nuisances)
    labels: dict[str, dict[str, object]] = {}
    for nuisance in world.nuisances:
        for kind, where, value in nuisance.labels():
            labels.setdefault(kind, {}).setdefault(where, value)
    return Truth(must, may, never, nuisances, labels)


def _reachable(world: World) -> tuple[str, ...]:
    found = dict.fromkeys(world.seeds())
    queue = list(found)
    for url in queue:
        for link in _steps(world, url):
            if link not in found and world.is_must_step(link):
                found[link] = None
                queue.append(link)
    return tuple(found)


def _steps(world: World, url: str) -> Iterator[str]:
    target = world.redirect_target(url)
    if target is not None:
        yield target
        return
    host, path = world.split(url)
    page = world.layout.page_at(host, path)
    if page is not None and not world.is_duplicate(host, page):
        yield from world.links(host, page)
