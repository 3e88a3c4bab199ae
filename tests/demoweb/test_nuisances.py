"""Each nuisance is what its file says, alone and as a function of the world's numbers."""

import gzip
import io
import json
import re
import zipfile
import zlib
from email.utils import parsedate_to_datetime
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from protego import Protego

from crawlerproj.demoweb.catalogue import CATALOGUE, TRAPS, parse_nuisance
from crawlerproj.demoweb.own_hosts import OwnHosts
from crawlerproj.demoweb.own_pages import OwnPages
from crawlerproj.demoweb.truth import truth
from crawlerproj.demoweb.world import World

ATTEMPTS = 3


def world_of(name, share=None, seed=1, hosts=12, pages=150):
    return World(seed, hosts, pages, f"{name}={share}" if share is not None else name, 8000)


def nuisance(world):
    return world.nuisances[-1]


def met_hosts(world):
    return [host for host in range(world.layout.hosts) if nuisance(world).meets_host(host)]


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.name)
def test_every_nuisance_has_name_share_class_and_docstring(kind):
    assert re.fullmatch("[a-z0-9_]+", kind.name)
    assert 0 < kind.default_share <= 0.3
    assert kind.truth_class in ("MUST", "MAY", "NEVER")
    assert kind.__doc__


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.name)
@pytest.mark.parametrize("share", [None, 1.0])
def test_every_nuisance_leaves_all_pages_reachable_and_all_attempts_within_the_limit(kind, share):
    world = world_of(kind.name, share, hosts=6, pages=60)
    found = truth(world)
    assert len(found.must) >= 60
    assert found.nuisances == ((kind.name, share or kind.default_share, kind.truth_class),)
    for host in range(6):
        for page in range(world.layout.sizes[host]):
            response = world.answer(host, world.layout.path(host, page), ATTEMPTS)
            assert (response.status, response.wire, response.forbidden) == (200, None, False)


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.name)
def test_no_share_is_no_nuisance(kind):
    world, plain = world_of(kind.name, 0, hosts=6, pages=60), world_of("none", hosts=6, pages=60)
    assert truth(world).must == truth(plain).must
    assert world.body(0, 0) == plain.body(0, 0)
    assert len(world.layout.names) == 6


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.name)
def test_every_nuisance_is_met_in_a_small_world_and_linked_from_it(kind):
    world = world_of("all", hosts=8, pages=120)
    alone = world_of(kind.name, hosts=8, pages=120)
    families = truth(alone).may
    links = {
        link for host in range(8) for p in range(alone.layout.sizes[host]) for link in alone.links(host, p)
    }
    assert kind in {type(n) for n in world.nuisances}
    if kind.truth_class == "MAY" and kind.name not in ("duplicates", "sitemaps", "feeds"):
        assert families
        for family in families:
            assert any(map(family.holds, links))
    if kind.truth_class == "NEVER":
        assert set(truth(alone).never) & links


@pytest.mark.parametrize(
    "kind", [k for k in CATALOGUE if issubclass(k, OwnPages)], ids=lambda kind: kind.name
)
def test_own_pages_are_answered_and_not_like_those_that_do_not_exist(kind):
    world = world_of(kind.name, 0.3)
    urls = [url for host, page in nuisance(world).met() for url in nuisance(world).extra_links(host, page)]
    assert len(urls) > 5
    for url in urls:
        response = world.answer(*world.split(url))
        assert response.status != 404
        assert response.wire or response.body is not None
    host = world.split(urls[0])[0]
    missing = world.answer(host, f"/odd/{kind.name}/999999.html")
    assert missing.status == (200 if kind.name == "soft_404" else 404)


@pytest.mark.parametrize("kind", TRAPS, ids=lambda kind: kind.name)
def test_a_trap_has_no_end_and_its_links_stay_in_it(kind):
    world = world_of(kind.name)
    host = met_hosts(world)[0]
    door = world.layout.origins[host] + nuisance(world).folder + nuisance(world).door(host)
    assert door in world.links(host, 0)
    queue, known = [door], {door}
    for url in queue:
        body = world.answer(*world.split(url)).body.decode()
        for href in re.findall('href="([^"]*)"', body):
            link = href if href.startswith("/") else world.split(url)[1].rpartition("/")[0] + "/" + href
            link = world.layout.origins[host] + link
            assert link.startswith(world.layout.origins[host] + "/trap/")
            assert world.answer(*world.split(link)).status == 200
            if link not in known:
                known.add(link)
                queue.append(link)
        if len(queue) > 500:
            break
    assert len(queue) > 500


def test_traps_share_out_what_is_asked_for_all_of_them():
    shares = parse_nuisance("all,traps=0.3")
    assert [shares[kind] for kind in TRAPS] == pytest.approx([0.3 / len(TRAPS)] * len(TRAPS))
    assert len(shares) == len(CATALOGUE)
    for hosts in (30, 100, 1000):
        world = World(1, hosts, 2000, "traps=0.3")
        trapped = [h for h in range(hosts) for trap in world.nuisances if trap.meets_host(h)]
        assert len(trapped) == len(set(trapped)) == 0.3 * hosts
        assert all(any(map(trap.meets_host, range(hosts))) for trap in world.nuisances)


@pytest.mark.parametrize(
    "kind", [k for k in CATALOGUE if issubclass(k, OwnHosts)], ids=lambda kind: kind.name
)
def test_own_hosts_come_beside_the_ordinary_ones(kind):
    world = world_of(kind.name, 0.5)
    assert world.layout.hosts == 12
    assert len(world.layout.names) > 12
    assert len(world.addresses()) == len(set(world.addresses())) == len(world.layout.names)
    listening = {host for _, host in world.endpoints()}
    assert set(range(12)) <= listening
    assert (listening == set(range(len(world.layout.names)))) == kind.listens


def test_mirrors_are_the_same_and_the_second_is_known_from_the_first_alone():
    world = world_of("mirrors", 0.1)
    first, second = nuisance(world).own[:2]
    assert world.answer(first, "/").body == world.answer(second, "/").body
    assert world.answer(first, "/leaf-1.html").body == world.answer(second, "/leaf-1.html").body
    linked = {link for h in range(12) for p in range(world.layout.sizes[h]) for link in world.links(h, p)}
    assert world.layout.origins[first] + "/" in linked
    assert world.layout.origins[second] + "/" not in linked
    assert world.layout.origins[second].encode() in world.answer(first, "/leaf-1.html").body


def test_the_giant_is_whole_reachable_and_no_two_of_its_pages_are_alike():
    world = world_of("giant", 1)
    (host,) = nuisance(world).own
    texts, queue = {}, ["/"]
    for path in queue:
        answer = nuisance(world).own_answer(host, path, 1)
        texts[path] = world.answer(host, path).body
        queue += [link for link in answer.links if link not in queue]
    assert len(texts) == len(set(texts.values())) == 150
    assert world.answer(host, "/all/150.html").status == 404
    (family,) = nuisance(world).may()
    assert family.cap == 150
    assert all(family.holds(world.layout.origins[host] + path) for path in texts)


def test_both_asides_of_a_pair_of_copies_have_the_same_bytes():
    world = world_of("duplicates", 0.5)
    (family,) = nuisance(world).may()
    bodies = [world.answer(*world.split(url)).body for url in family.urls]
    assert len(bodies) == 2 * len(set(bodies)) == 2 * family.cap > 10


ROBOTS = [name for name in (kind.name for kind in CATALOGUE) if name.startswith("robots_")]


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "robots_unreachable"])
@pytest.mark.parametrize("seed", range(4))
def test_robots_txt_of_every_kind_forbids_what_is_never_and_no_page(name, seed):
    world = World(seed, 12, 150, f"robots=0.5,{name}=1", 8000)
    for host in range(12):
        path, reads = "/robots.txt", 1
        answer = world.answer(host, path, reads)
        for _ in range(5):
            if answer.location:
                where = (
                    answer.location
                    if "://" in answer.location
                    else world.layout.origins[host] + answer.location
                )
                answer = world.answer(*world.split(where), 1)
        assert answer.status == 200 or 400 <= answer.status < 500
        text = answer.body.decode("utf-8-sig") if answer.status == 200 else ""
        rules = Protego.parse(text)
        for page in range(world.layout.sizes[host]):
            assert rules.can_fetch(world.layout.url(host, page), "demo")
        for url in (url for n in world.nuisances for url in n.never()):
            if world.split(url)[0] == host:
                assert not rules.can_fetch(url, "demo")


@pytest.mark.parametrize("seed", range(3))
def test_what_is_logged_as_forbidden_is_what_robots_txt_said(seed):
    world = World(seed, 40, 400, "all,robots_changing=0.5", 8000)
    links = {
        link for host in range(40) for p in range(world.layout.sizes[host]) for link in world.links(host, p)
    }
    checked = set()
    for url in links:
        host, path = world.split(url)
        if host >= 20:
            continue
        for reads in (1, 2):
            at, where = host, "/robots.txt"
            while (robots := world.answer(at, where, robots_reads=reads)).location:
                target = robots.location
                at, where = world.split(target) if "://" in target else (at, target)
            rules = Protego.parse(robots.body.decode("utf-8-sig") if robots.status == 200 else "")
            said = not rules.can_fetch(url, "demo")
            if at == host:
                assert world.answer(host, path, 3, robots_reads=reads).forbidden == said
                checked.add(said)
    assert checked == {True, False}


def test_a_robots_txt_that_changes_forbids_by_turns():
    world = world_of("robots_changing", 1)
    first, second = (Protego.parse(world.answer(0, "/robots.txt", n).body.decode()) for n in (1, 2))
    for path in ("/changing/odd/1.html", "/changing/even/1.html"):
        url = world.layout.origins[0] + path
        assert first.can_fetch(url, "demo") != second.can_fetch(url, "demo")
        assert world.answer(0, path, robots_reads=1).forbidden == (not first.can_fetch(url, "demo"))
        assert world.answer(0, path, robots_reads=2).forbidden == (not second.can_fetch(url, "demo"))


def test_the_huge_robots_txt_has_its_rules_within_the_first_500_kib():
    world = World(1, 12, 150, "robots=1,robots_huge=1", 8000)
    body = world.answer(0, "/robots.txt").body
    assert len(body) > 512_000
    assert body.index(b"Disallow") < 512_000


def test_all_hosts_under_a_5xx_robots_txt_are_forbidden():
    world = world_of("robots_unreachable", 0.5)
    for url in truth(world).never:
        host, path = world.split(url)
        assert world.answer(host, "/robots.txt").status >= 500
        assert world.answer(host, path).forbidden


def test_charsets_are_declared_rightly_wrongly_or_not_at_all():
    world = World(1, 200, 400, "charsets=1", 8000)
    labels = truth(world).labels
    seen = set()
    for host, name in enumerate(world.layout.names[:200]):
        response = world.answer(host, "/")
        charset, declaration = labels["charset"][name], labels["charset_declaration"][name]
        text = response.body.decode(charset)
        assert f'lang="{labels["language"][name]}"' in text
        assert re.search(r"<p>[^<]*[^\x00-\x7f]", text)
        declared = response.content_type.partition("charset=")[2], "<meta charset=" in text
        assert declared == {
            "header": (charset, False), "meta": ("", True), "both": (charset, True), "none": ("", False),
            "wrong": ("utf-8", True), "contradiction": (charset, True),
        }[declaration]  # fmt: skip
        if charset not in ("utf-16", "iso-2022-jp"):
            assert response.body.count(b'<a href="') == text.count('<a href="')
        seen.add((charset, declaration))
    assert {declaration for _, declaration in seen} == {
        "header",
        "meta",
        "both",
        "none",
        "wrong",
        "contradiction",
    }
    assert len({charset for charset, _ in seen}) == 16


def test_languages_have_scripts_of_their_own():
    world = World(1, 200, 200, "languages=1", 8000)
    labels = truth(world).labels["language"]
    assert len(set(labels.values())) == 13
    samples = {labels[name]: world.body(host, 0).decode() for host, name in enumerate(world.layout.names)}
    for language, letter in (("ru", "ж"), ("ja", "は"), ("ar", "ا"), ("ko", "집"), ("th", "น"), ("de", "ß")):
        assert letter in samples[language]


def test_pages_change_at_their_rate_and_their_links_never():
    world = World(1, 4, 60, "changing=1", 8000)
    labels = truth(world).labels
    checked = set()
    for url, period in labels["period_seconds"].items():
        host, path = world.split(url)
        start = 1_000_000_000.0
        at = [world.answer(host, path, now=start + period * n / 4) for n in range(13)]
        bodies = [response.body for response in at]
        assert sum(before != after for before, after in pairwise(bodies)) == 3
        assert len({tuple(re.findall(rb'href="[^"]*"', body)) for body in bodies}) == 1
        etags = [response.etag for response in at]
        kind = labels["validators"][url]
        checked.add(kind)
        if kind == "right":
            assert [a == b for a, b in pairwise(etags)] == [a == b for a, b in pairwise(bodies)]
            modified = parsedate_to_datetime(at[-1].last_modified).timestamp()
            assert 0 <= start + 3 * period - modified <= period + 1
        elif kind == "stuck":
            assert len(set(etags)) == 1
        elif kind == "restless":
            assert len(set(etags)) == 13
        else:
            assert set(etags) == {None}
    assert checked == {"right", "absent", "stuck", "restless"}


def test_pages_about_a_topic_link_to_pages_about_it():
    world = World(1, 100, 2000, "topics", 8000)
    labels = truth(world).labels["topic"]
    own = other = 0
    for url, subject in labels.items():
        host, path = world.split(url)
        links = {
            link
            for link in world.links(host, world.layout.page_at(host, path))
            if world.split(link)[0] != host
        }
        own += sum(labels.get(link) == subject for link in links)
        other += sum(labels.get(link) != subject for link in links)
    base = sum(subject == "sailing" for subject in labels.values()) / 2000
    assert len(set(labels.values())) == 5
    assert own / (own + other) > 0.2 > 4 * base
    url = next(url for url, subject in labels.items() if subject == "sailing")
    host, path = world.split(url)
    assert world.answer(host, path).body.count(b"rudder") > 3


def test_sitemaps_name_the_pages_of_their_host_and_more():
    world = world_of("sitemaps", 1)
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"

    def places(body):
        return [place.text for place in ElementTree.fromstring(body).iter(f"{space}loc")]

    robots = world.answer(3, "/robots.txt").body.decode()
    index = next(iter(Protego.parse(robots).sitemaps))
    plain, packed = places(world.answer(*world.split(index)).body)
    assert places(world.answer(*world.split(plain)).body) == [
        world.layout.url(3, page) for page in range(world.layout.sizes[3])
    ]
    listed = places(gzip.decompress(world.answer(*world.split(packed)).body))
    assert [world.answer(*world.split(url)).status for url in listed] == [200, 200, 200]


def test_feeds_are_named_in_the_head_and_name_pages():
    world = world_of("feeds", 1)
    feeds = re.findall('<link rel="alternate" type="([^"]*)" href="([^"]*)">', world.body(3, 0).decode())
    assert [kind for kind, _ in feeds] == [
        "application/rss+xml",
        "application/atom+xml",
        "application/feed+json",
    ]
    rss, atom, data = (world.answer(*world.split(url)) for _, url in feeds)
    links = [item.findtext("link") for item in ElementTree.fromstring(rss.body).iter("item")]
    atoms = ElementTree.fromstring(atom.body).iter("{http://www.w3.org/2005/Atom}entry")
    assert [entry.find("{http://www.w3.org/2005/Atom}link").get("href") for entry in atoms] == links
    assert [item["url"] for item in json.loads(data.body)["items"]] == links
    assert all(world.answer(*world.split(url)).status == 200 for url in links)
    assert rss.content_type == feeds[0][0]


def test_documents_are_files_of_their_kind():
    world = world_of("documents", 1)
    found = {}
    for url in truth(world).may[0].urls:
        found[url.rpartition(".")[2]] = world.answer(*world.split(url))
    assert set(found) == {"pdf", "docx", "xlsx", "pptx", "odt", "rtf", "csv"}
    pdf = found["pdf"].body
    start = int(pdf.split(b"startxref\n")[1].split()[0])
    assert pdf[start : start + 4] == b"xref"
    for place in re.findall(rb"(\d{10}) 00000 n", pdf):
        assert re.match(rb"\d obj|\d 0 obj", pdf[int(place) :])
    for name in ("docx", "xlsx", "pptx", "odt"):
        with zipfile.ZipFile(io.BytesIO(found[name].body)) as archive:
            assert archive.testzip() is None
            texts = [archive.read(entry) for entry in archive.namelist() if entry.endswith(".xml")]
            assert all(ElementTree.fromstring(text) is not None for text in texts)
            assert any(b"written to be read" in text for text in texts)


def test_a_gzip_bomb_is_small_and_unpacks_to_much():
    world = world_of("gzip_bomb", 1)
    codings = {}
    for host, page in nuisance(world).met():
        response = world.answer(host, f"/odd/gzip_bomb/{page}.html")
        codings[response.headers[0][1]] = response.body
    assert set(codings) == {"gzip", "gzip, gzip"}
    assert zlib.decompress(codings["gzip, gzip"], 31) == codings["gzip"]
    assert len(codings["gzip"]) < 1 << 19
    unpacker, size, data = zlib.decompressobj(31), 0, codings["gzip"]
    while not unpacker.eof:
        size += len(unpacker.decompress(data, 1 << 20))
        data = unpacker.unconsumed_tail
    assert size == 256 << 20


def test_the_documentation_names_every_nuisance_with_its_share_and_class():
    text = (Path(__file__).parents[2] / "docs" / "demoweb.md").read_text()
    for kind in CATALOGUE:
        assert re.search(
            rf"^\| `{kind.name}` \| {kind.default_share:g} of [a-z ]+ \| {kind.truth_class} \|", text, re.M
        )


def test_a_host_with_soft_404s_answers_200_to_whatever_it_does_not_know():
    world = world_of("soft_404", share=0.05)
    soft, page = next(nuisance(world).met())
    gone, odd = world.answer(soft, "/no/such/page.html"), world.answer(soft, nuisance(world).path(page))
    assert (gone.status, odd.status) == (200, 200)
    assert gone.body == odd.body
    hard = min(set(range(world.layout.hosts)) - {host for host, _ in nuisance(world).met()})
    assert world.answer(hard, "/no/such/page.html").status == 404
