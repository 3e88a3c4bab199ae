"""The world is a pure function of its numbers."""

from ipaddress import ip_address

import pytest

from crawlerproj.demoweb.catalogue import CATALOGUE, parse_nuisance
from crawlerproj.demoweb.truth import truth
from crawlerproj.demoweb.world import World


def test_two_worlds_of_the_same_numbers_are_the_same():
    first, second = (World(3, 20, 200, "all", 8000) for _ in range(2))
    assert first.addresses() == second.addresses()
    assert truth(first) == truth(second)
    for host in reversed(range(20)):  # another order of asking
        assert first.body(host, 0) == World(3, 20, 200, "all", 8000).body(host, 0) == second.body(host, 0)


def test_another_seed_is_another_world():
    assert World(1, 20, 200).addresses() != World(2, 20, 200).addresses()
    assert World(1, 20, 200).body(0, 0) != World(2, 20, 200).body(0, 0)


@pytest.mark.parametrize(
    ("hosts", "pages"), [(1, 1), (3, 30), (45, 60), (40, 40), (100, 2000), (1000, 30000)]
)
def test_sizes_add_up_and_no_host_is_over_its_share(hosts, pages):
    sizes = World(5, hosts, pages).layout.sizes
    assert sum(sizes) == pages
    assert min(sizes) >= 1
    assert max(sizes) <= max(pages * (0.03 if hosts >= 40 else 2 / hosts), -(-pages // hosts))


def test_each_host_has_a_loopback_address_and_a_name_of_its_own():
    world = World(9, 2000, 2000)
    addresses = world.addresses()
    assert len(set(addresses)) == len(set(world.layout.names)) == 2000
    assert all(ip_address(address).is_loopback for address in addresses)
    assert "127.0.0.1" not in addresses


def test_hosts_and_their_in_degrees_are_uneven():
    world = World(1, 200, 4000, "none")
    degrees = [0] * 200
    for host in range(200):
        for link in set(world.links(host, 0)):
            degrees[world.split(link)[0]] += 1
    assert max(world.layout.sizes) > 4 * sorted(world.layout.sizes)[100]
    assert max(degrees) > 10 * sorted(degrees)[100]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("nuisance", ["none", "mild", "all", "redirects=0.9,duplicates=0.9,robots=1"])
def test_truth_asserts_that_every_page_is_reached(seed, nuisance):
    world = World(seed, 30, 400, nuisance, 8000)
    found = truth(world)
    assert len(found.must) == len(set(found.must)) >= 400
    assert bool(found.never) == (nuisance != "none")


def test_a_page_is_of_ordinary_size():
    world = World(1, 100, 2000)
    bodies = [world.body(host, 1) for host in range(100)]
    assert 13_000 < sum(map(len, bodies)) / 100 < 18_000
    assert 40 <= sum(body.count(b"<a ") for body in bodies) / 100 <= 65


def test_duplicates_have_the_same_bytes_and_other_pages_do_not():
    world = World(1, 20, 400, "duplicates=0.5")
    copies = [(h, p) for h in range(20) for p in range(world.layout.sizes[h]) if world.is_duplicate(h, p)]
    bodies = {world.body(h, p) for h in range(20) for p in range(world.layout.sizes[h])}
    assert len(copies) > 10
    assert len(bodies) == 400 - len(copies) // 2


def test_the_catalogue_reads_what_it_is_asked_for():
    mild = {"redirects", "duplicates", "robots", "slow"}
    assert parse_nuisance("none") == {}
    assert {kind.name for kind in parse_nuisance("mild")} == mild
    assert set(parse_nuisance("all")) == set(CATALOGUE)
    shares = parse_nuisance("retry=0.25,slow")
    assert {kind.name: share for kind, share in shares.items()} == {"retry": 0.25, "slow": 0.05}


@pytest.mark.parametrize("text", ["", "moths", "retry=2", "retry=much", "mild,retry=x"])
def test_a_wrong_nuisance_is_told_with_a_remedy(text):
    with pytest.raises(ValueError, match="give"):
        parse_nuisance(text)


LONG = "9" * 5000 + ".html"


@pytest.mark.parametrize(
    "path",
    [
        "/go/1",
        "/go/01.html",
        "/hop/99999999.html",
        f"/x/aside-{LONG}",
        f"/a-b-{LONG}",
        "/?q",
        "*",
        "/go/².html",
    ],
)
def test_an_unknown_path_is_not_found(path):
    assert World(1, 10, 100, "all").answer(0, path).status == 404
