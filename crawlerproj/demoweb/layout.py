"""The bare web: which hosts and pages are there, and by which tree is each of them reached?

Invariants: every page of a host hangs in a 10-ary tree below the host's root page, every host that is no
seed hangs in an 8-ary tree below the seeds (root page links to root page), so the depth of any page is
logarithmic. No host has over 3 % of the pages, unless there are too few hosts for that.
"""

import random

PAGE_CHILDREN = 10
HOST_CHILDREN = 8
SEED_HOSTS = 10
HOST_SHARE_LIMIT = 0.03
SIZE_EXPONENT = 0.8
_WORD_LIST = (
    "alder amber anchor autumn barley basin beacon birch bramble bridge canyon cedar clover copper coral "
    "delta ember falcon fern field garden glacier granite harbor hazel heather island ivory juniper lagoon "
    "lantern laurel linden maple marble meadow mill moss north oak orchard otter pebble pine prairie quarry "
    "raven ridge river rowan saddle sage sparrow spring stone summit thicket timber valley willow winter "
    "wren yarrow zephyr"
)
WORDS = _WORD_LIST.split()
_DOMAIN_ENDINGS = ("example", "test")
_SECOND_NAMES = ("news", "docs", "blog", "shop")
_MASK = (1 << 64) - 1
# x.y.z with x and z in 1..254: never 127.0.0.1, no network or broadcast address.
_ADDRESSES = 254 * 256 * 254
_ADDRESS_STEP = 7368787  # prime, hence coprime to _ADDRESSES: addresses are distinct


def mix(a: int, b: int, c: int = 0, d: int = 0) -> int:
    """A 64-bit hash of four small numbers."""
    x = a * 0x9E3779B97F4A7C15 + b * 0xC2B2AE3D27D4EB4F
    x = (x + c * 0x165667B19E3779F9 + d * 0x27D4EB2F165667C5) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def page_number(name: str) -> int | None:
    """The number in a file name such as `12.html`."""
    digits = name.removesuffix(".html")
    if len(digits) > 12 or not (digits.isascii() and digits.isdigit()) or name != f"{int(digits)}.html":
        return None
    return int(digits)


def _host_name(host: int) -> str:
    # Every fifth host shares the registered domain of the host before it.
    owner = host - 1 if host % 5 == 4 else host
    first = _SECOND_NAMES[host % len(_SECOND_NAMES)] if owner != host else "www"
    return f"{first}.{WORDS[owner * 7 % len(WORDS)]}{owner}.{_DOMAIN_ENDINGS[owner % 2]}"


def host_sizes(seed: int, hosts: int, pages: int) -> list[int]:
    """Pages of each host: a power law, cut at the limit, exactly `pages` in all, at least one each."""
    share = HOST_SHARE_LIMIT if hosts >= 40 else 2 / hosts
    limit = max(int(pages * share), -(-pages // hosts))
    weights = [(rank + 1) ** -SIZE_EXPONENT for rank in range(hosts)]
    sizes = [1] * hosts
    left, weight = pages - hosts, sum(weights)
    for rank in range(hosts):
        more = min(limit - 1, round(left * weights[rank] / weight)) if weight > 0 else 0
        sizes[rank] += more
        left -= more
        weight -= weights[rank]
    for rank in range(hosts):
        more = min(limit - sizes[rank], left)
        sizes[rank] += more
        left -= more
    # Neighbours 2k and 2k+1 stay of like size: a mirror of one has its original in the other.
    pairs = [sizes[start : start + 2] for start in range(0, hosts - hosts % 2, 2)]
    random.Random(mix(seed, 1)).shuffle(pairs)
    return [size for pair in pairs for size in pair] + sizes[hosts - hosts % 2 :]


class Layout:
    """Hosts are numbers below `hosts`, pages of a host numbers below `sizes[host]`; page 0 is its root.

    Numbers from `hosts` on are hosts that nuisances have added: they have names, no pages of the layout.
    """

    def __init__(self, seed: int, hosts: int, pages: int, port: int) -> None:
        if hosts < 1 or pages < hosts:
            raise ValueError(f"{pages} pages on {hosts} hosts: give at least one host and a page for each")
        if hosts > _ADDRESSES:
            raise ValueError(f"{hosts} hosts do not fit into 127.0.0.0/8: give at most {_ADDRESSES}")
        self.seed, self.hosts, self.pages, self.port = seed, hosts, pages, port
        self.sizes = host_sizes(seed, hosts, pages)
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}
        self.origins: list[str] = []
        self.seed_hosts = min(hosts, SEED_HOSTS)
        self.add_hosts(hosts)

    def add_hosts(self, count: int) -> range:
        """More names and addresses, without pages: the numbers of hosts beside the ordinary ones."""
        added = range(len(self.names), len(self.names) + count)
        for host in added:
            self.names.append(_host_name(host))
            self.numbers[self.names[host]] = host
            self.origins.append("")
            self.set_scheme(host, "http")
        return added

    def set_scheme(self, host: int, scheme: str) -> None:
        default_port = 443 if scheme == "https" else 80
        suffix = "" if self.port == default_port else f":{self.port}"
        self.origins[host] = f"{scheme}://{self.names[host]}{suffix}"

    def address(self, host: int) -> str:
        """The address of a host; numbers above the last host are addresses that belong to none."""
        number = (mix(self.seed, 2) + host * _ADDRESS_STEP) % _ADDRESSES
        high, z = divmod(number, 254)
        x, y = divmod(high, 256)
        return f"127.{x + 1}.{y}.{z + 1}"

    def path(self, host: int, page: int) -> str:
        if page == 0:
            return "/"
        code = mix(self.seed, 3, host, page)
        section, first, second = code & 7, (code >> 8) & 63, (code >> 16) & 63
        return f"/{WORDS[(section + host) % 64]}/{WORDS[first]}-{WORDS[second]}-{page}.html"

    def url(self, host: int, page: int) -> str:
        return self.origins[host] + self.path(host, page)

    def page_at(self, host: int, path: str) -> int | None:
        """The page with exactly this path."""
        if host >= self.hosts:
            return None
        if path == "/":
            return 0
        page = page_number(path[path.rfind("-") + 1 :])
        if page is None or page >= self.sizes[host] or self.path(host, page) != path:
            return None
        return page

    def children(self, host: int, page: int) -> range:
        """The pages of the same host that hang below this one."""
        first = page * PAGE_CHILDREN + 1
        return range(min(first, self.sizes[host]), min(first + PAGE_CHILDREN, self.sizes[host]))

    def child_hosts(self, host: int) -> range:
        first = self.seed_hosts + host * HOST_CHILDREN
        return range(min(first, self.hosts), min(first + HOST_CHILDREN, self.hosts))

    def is_leaf(self, host: int, page: int) -> bool:
        """No page and no host hangs below it."""
        return page > 0 and page * PAGE_CHILDREN + 1 >= self.sizes[host]

    def chance(self, salt: int, host: int, page: int = 0) -> float:
        """A number in [0, 1) that belongs to this page (or host), independent for each salt."""
        return mix(self.seed, salt, host, page) / 2**64
