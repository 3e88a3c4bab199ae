import random
import re
from urllib.parse import urljoin

import pytest

from crawlerproj.demoweb.world import World
from crawlerproj.documents.content_seen import ContentSeen, links_digest
from crawlerproj.documents.path_families import path_family
from crawlerproj.documents.soft_404 import probe_url
from crawlerproj.documents.tables import MemoryTables
from crawlerproj.storage.embedded import open_storage

LINKS = ["/a", "b.html", "http://c.example/"]


def text(seed, words=200):
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(3_000)}" for _ in range(words))


def near(original):
    return original.replace(" ", " extra ", 1)


class Seen(ContentSeen):
    """Judges by URL alone, the host being read from it."""

    def __call__(self, url, content, links=LINKS):
        return self.judge(url, url.split("/")[2], content, links)


@pytest.fixture
def tables():
    return MemoryTables()


@pytest.fixture
def seen(tables):
    return Seen(tables)


def test_a_text_of_its_own_is_followed(seen):
    for number in range(20):
        verdict = seen(f"http://a.example/{number}", text(number))
        assert (verdict.kind, verdict.duplicate_of, verdict.follow) == ("new", "", "all")


def test_an_exact_copy_on_another_host_is_a_mirror_and_not_followed(seen):
    seen("http://a.example/x", text(1))
    verdict = seen("http://b.example/x", text(1).upper())
    assert (verdict.kind, verdict.duplicate_of, verdict.follow) == ("mirror", "http://a.example/x", "none")


def test_other_links_or_the_same_host_make_no_mirror(seen):
    seen("http://a.example/x", text(1))
    for url, links in [("http://b.example/x", ["/other"]), ("http://a.example/y", LINKS)]:
        verdict = seen(url, text(1), links)
        assert (verdict.kind, verdict.follow) == ("exact", "demote")
        assert verdict.duplicate_of == "http://a.example/x"


def test_near_copies_are_demoted_wherever_they_are(seen):
    seen("http://a.example/x", text(1))
    # Each is nearer to the original than to the other copy.
    copies = {"http://a.example/y": near(text(1)), "http://b.example/x": text(1) + " and six words more"}
    for url, copy in copies.items():
        verdict = seen(url, copy)
        assert (verdict.kind, verdict.follow) == ("near", "demote")
        assert verdict.duplicate_of == "http://a.example/x"
        assert 0.9 <= verdict.similarity < 1


def test_the_textbook_rule_follows_no_duplicate(tables):
    seen = Seen(tables, follow="never")
    seen("http://a.example/x", text(1))
    assert seen("http://a.example/y", text(1)).follow == "none"
    assert seen("http://a.example/z", near(text(1))).follow == "none"


def test_exact_mode_sees_equal_texts_only(tables):
    seen = Seen(tables, near=False)
    seen("http://a.example/x", text(1))
    assert seen("http://a.example/z", near(text(1))).kind == "new"
    assert seen("http://a.example/y", text(1)).kind == "exact"
    assert not any(table == "fp-near" for table, _ in tables.rows)


def test_short_pages_are_duplicates_only_with_the_same_links_and_never_mirrors(seen):
    seen("http://a.example/1", "Next photo")
    assert seen("http://a.example/2", "Next photo", ["/3"]).kind == "new"
    verdict = seen("http://b.example/1", "Next photo")
    assert (verdict.kind, verdict.follow) == ("exact", "demote")


def test_pages_without_words_are_never_duplicates(seen, tables):
    for url in ("http://a.example/1", "http://b.example/1"):
        assert seen(url, " ... ").kind == "empty"
    assert not any(table == "fp-pages" for table, _ in tables.rows)


def test_a_page_is_no_duplicate_of_its_former_self(seen):
    for content in (text(1), text(1), near(text(1)), text(2), text(2)):
        assert seen("http://a.example/x", content).kind == "new"


def test_an_original_stays_one_when_its_copies_are_known(seen):
    seen("http://a.example/x", text(1))
    seen("http://b.example/x", text(1))
    assert seen("http://a.example/x", text(1)).kind == "new"
    assert seen("http://b.example/x", text(1)).duplicate_of == "http://a.example/x"


def test_outdated_fingerprints_are_deleted_when_a_page_changes(seen, tables):
    seen("http://a.example/x", text(1))
    before = {row for row in tables.rows if row[0] in ("fp-texts", "fp-near")}
    seen("http://a.example/x", text(2))
    after = {row for row in tables.rows if row[0] in ("fp-texts", "fp-near")}
    assert len(before) == len(after) and not before & after
    assert seen("http://b.example/x", text(1)).kind == "new"
    assert seen("http://c.example/x", text(2)).kind == "mirror"


def test_a_page_that_lost_its_words_is_forgotten(seen):
    seen("http://a.example/x", text(1))
    seen("http://a.example/x", "")
    assert seen("http://b.example/x", text(1)).kind == "new"


def test_copies_outlive_their_original(seen):
    for host in "abc":
        seen(f"http://{host}.example/x", text(1))
    seen("http://a.example/x", text(2))
    verdict = seen("http://d.example/x", text(1))
    assert (verdict.kind, verdict.duplicate_of) == ("mirror", "http://b.example/x")


def test_pages_that_share_an_id_are_told_apart_by_their_urls(tables, monkeypatch):
    monkeypatch.setattr("crawlerproj.documents.content_seen.page_id", lambda url: b"sameid")
    seen = Seen(tables)
    seen("http://a.example/x", text(1))
    assert seen("http://b.example/x", text(2)).kind == "new"
    assert seen("http://a.example/x", text(1)).kind == "new"
    assert seen("http://a.example/x", text(3)).kind == "new"


def test_a_done_page_costs_storage_little(seen, tables):
    """Rows of a page without its URL: the budget of a shared store is 300 bytes, its overheads included."""
    urls = [f"http://a.example/{number}" for number in range(50)]
    for number, url in enumerate(urls):
        seen(url, text(number))
    of_pages = ("fp-pages", "fp-texts", "fp-near")
    pages = [(key, row) for (table, key), row in tables.rows.items() if table in of_pages]
    kept = sum(len(key) + len(row) for key, row in pages) - sum(len(url) - len("http://") for url in urls)
    assert kept / len(urls) <= 166
    assert len(pages) / len(urls) <= 8


def test_uncommitted_groups_count_and_committed_ones_survive_reopening(tmp_path):
    storage = open_storage(tmp_path)
    seen = Seen(storage)
    seen("http://a.example/1", text(1))
    assert seen("http://b.example/1", text(1)).kind == "mirror"
    group = storage.seal({})
    assert seen("http://c.example/1", text(1)).kind == "mirror"
    storage.write(group, lambda: None)
    storage.landed(group)
    assert seen("http://d.example/1", near(text(1))).kind == "near"
    seen("http://a.example/2", text(2))
    del seen
    storage.close()
    reopened = open_storage(tmp_path)
    seen = Seen(reopened)
    assert seen("http://e.example/1", text(1)).duplicate_of == "http://a.example/1"
    assert seen("http://e.example/2", text(2)).kind == "new"  # its group was never committed
    del seen
    reopened.close()


def test_a_million_alike_pages_cost_no_more_than_a_few(seen, tables):
    sizes = []
    for number in range(60):
        seen(f"http://a.example/{number}", text(1) + f" number {number}")
        sizes.append(sum(len(row) for (table, _), row in tables.rows.items() if table == "fp-near"))
    assert sizes[-1] <= 6 * 8 * 6 * 2  # bands, pages a bucket, bytes a page; some edits touch a band


def test_the_share_of_duplicates_lowers_a_host(seen):
    assert seen.share.steps_down("a.example") == 0
    for number in range(30):
        seen(f"http://a.example/{number}", text(number % 2))
    assert seen.share.of("a.example") == 28 / 30
    assert seen.share.steps_down("a.example") == 2
    assert seen.share.of("b.example") == 0.0


def test_a_family_whose_duplicates_lead_nowhere_is_stopped_and_named(seen):
    seen("http://a.example/", text(1))
    for number in range(50):
        assert seen(f"http://a.example/print/{number}.html", text(1)).follow == "demote"
        seen.led_to(f"http://a.example/print/{number}.html", [])
    verdict = seen("http://a.example/print/50.html", text(1))
    assert (verdict.follow, verdict.family) == ("none", "a.example/print/*.html")
    assert seen("http://a.example/other/50.html", text(1)).follow == "demote"


def test_a_family_that_feeds_on_itself_is_stopped_sooner(seen):
    seen("http://a.example/", text(1))
    followed = 0
    for number in range(50):
        url = f"http://a.example/list.html?page={number}&sort=up"
        followed += seen(url, text(1)).follow == "demote"
        seen.led_to(url, [f"http://a.example/list.html?page={number + 1}"])  # other parameters, same corner
    assert followed == 9


@pytest.mark.parametrize("event", ["new text", "new url"])
def test_something_new_gives_a_family_its_patience_back(seen, event):
    seen("http://a.example/", text(1))
    for number in range(80):
        verdict = seen(f"http://a.example/print/{number}.html", text(1))
        assert verdict.follow == "demote"
        new = ["http://a.example/story"] if number == 40 and event == "new url" else []
        seen.led_to(f"http://a.example/print/{number}.html", new)
        if number == 40 and event == "new text":
            seen("http://a.example/print/new.html", text(9))


def test_no_family_is_stopped_where_nobody_tells_what_became_of_the_links(seen):
    seen("http://a.example/", text(1))
    follows = {seen(f"http://a.example/print/{number}.html", text(1)).follow for number in range(120)}
    assert follows == {"demote"}


def test_what_differs_in_numbers_and_names_only_is_one_family():
    same = path_family("http://a.example/cal/2024/day5.html?month=1&x=2")
    assert path_family("http://a.example/cal/1999/other.html?x=7&month=3") == same
    assert same == "a.example/cal/#/*.html?"
    assert path_family("http://a.example/cal/a/b/c/d/e/f") == path_family("http://a.example/cal/a/b/z")
    assert path_family("http://a.example/") == path_family("http://a.example/x")
    assert path_family("http://b.example/x") != path_family("http://a.example/x")


def test_links_as_written_count_in_their_order():
    assert links_digest(["a", "b"]) != links_digest(["b", "a"]) != links_digest(["ab"])


def test_look_alikes_of_a_missing_page_are_flagged(seen):
    probe = probe_url("http://a.example", "q7x")
    assert seen.soft_404.wants_probe("a.example")
    seen.soft_404.learn("a.example", 200, probe, f"Sorry, {probe} was not found. " + text(1))
    assert not seen.soft_404.wants_probe("a.example")
    missing = "http://a.example/old/story"
    assert seen(missing, f"Sorry, {missing} was not found. " + text(1)).soft_404
    assert not seen("http://a.example/real", text(2)).soft_404
    assert not seen("http://b.example/real", text(1)).soft_404


def test_short_look_alikes_are_flagged_by_their_words(seen):
    seen.soft_404.learn("a.example", 200, "http://a.example/zz", "Oops! Page zz not found here")
    assert seen.soft_404.looks_like("a.example", "http://a.example/news", "Oops! Page news not found here")
    assert not seen.soft_404.looks_like("a.example", "http://a.example/news", "All the news of today")


def test_an_honest_host_is_never_flagged(seen):
    seen.soft_404.learn("a.example", 404, "http://a.example/zz", "not found")
    assert not seen.soft_404.wants_probe("a.example")
    assert not seen.soft_404.looks_like("a.example", "http://a.example/zz", "not found")


def crawl(seeds, fetch, seen, rng):
    """Follows links in a random order, those of demoted pages last; `fetch(url)` gives text and hrefs."""
    queue, demoted, known, fetched = list(seeds), [], set(seeds), {}
    while queue or demoted:
        line = queue or demoted
        url = line.pop(rng.randrange(len(line)))
        content, hrefs = fetch(url)
        verdict = fetched[url] = seen(url, content, hrefs)
        if verdict.follow == "none":
            continue
        for target in (urljoin(url, href) for href in hrefs):
            if target not in known:
                known.add(target)
                (demoted if verdict.follow == "demote" else queue).append(target)
    return fetched


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("rule, loses", [("demote", False), ("never", True)])
def test_pages_behind_duplicates_of_their_own_host_are_found_unless_the_textbook_rules(order, rule, loses):
    """Documentation in ten versions: the index pages are alike, each alone leads to its version's pages."""
    host = "http://docs.example"

    def fetch(url):
        path = url.removeprefix(host)
        if path == "/":
            return text("home"), [f"/v{version}/" for version in range(10)]
        version, _, name = path[1:].partition("/")
        if not name:
            return text("contents") + f" version {version}", [f"page{number}" for number in range(5)]
        return text(path), ["/"]

    wanted = {f"{host}/v{version}/page{number}" for version in range(10) for number in range(5)}
    fetched = crawl([host + "/"], fetch, Seen(MemoryTables(), follow=rule), random.Random(order))
    assert sum(verdict.kind == "near" for verdict in fetched.values()) == 9
    assert bool(wanted - fetched.keys()) == loses


@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_page_of_the_demo_web_is_taken_for_a_mirror_by_mistake(order):
    """Its copies are, and only behind them are pages left out: all that must be found is found."""
    world = World(seed=1, hosts=20, pages=400, nuisance="duplicates=0.2")

    def fetch(url):
        html = world.answer(*world.split(url)).body.decode()
        return re.sub(r"<[^>]*>", " ", html), re.findall(r'href="([^"]*)"', html)

    fetched = crawl(world.seeds(), fetch, Seen(MemoryTables()), random.Random(order))
    layout = world.layout
    numbers = [(host, number) for host in range(layout.hosts) for number in range(layout.sizes[host])]
    copied = [each for each in numbers if world.is_duplicate(*each)]
    copies = {layout.url(*each) for each in copied}
    originals = {layout.url(host & ~1, number) for host, number in copied}
    mirrors = {url for url, verdict in fetched.items() if verdict.kind == "mirror"}
    assert mirrors and mirrors <= copies | originals  # whichever of the two came second
    assert {layout.url(*each) for each in numbers} <= fetched.keys()
