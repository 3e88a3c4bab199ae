"""The robots.txt suites of others, and how many of their cases pass.

google-spec: 388 of 400. crawler-commons: 101 of the 105 questions that its 24 files suggest (they come
without answers: these are RFC 9309's). http-answers: 16 of 16. fuzz-seeds and the 4,231 real files have
no answers; all can be read and asked.
"""

import json
import os
import tarfile
from pathlib import Path

import pytest

from crawlerproj.fetch.robots import RobotsRules

DATA = Path(os.environ.get("CONFORMANCE_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
DATA = DATA / "robots"
COMMONS = DATA / "crawler-commons" / "src" / "test" / "resources" / "robots"
ANSWERS = DATA / "http-answers" / "tests" / "asis"
SEEDS = DATA / "fuzz-seeds" / "_gofuzz" / "corpus"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="robots suites not found: set CONFORMANCE_DATA to the folder that holds robots/"
)

# file: agent: what it may fetch / what it may not
QUESTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "rfc9309-example-simple-robots.txt": {
        "foobot": ("/example/page.html /example/allowed.gif", "/ /example/disallowed.gif /publications/"),
        "barbot": ("/ /example/other.html /publications/", "/example/page.html"),
        "bazbot": ("/", "/example/page.html"),
        "quxbot": ("/ /example/page.html /image.gif", ""),
        "other": ("/ /publications/", "/example/ /image.gif"),
    },
    "rfc9309-example-longest-match-robots.txt": {
        "foobot": ("/example/page/ /example/page/x", "/example/page/disallowed.gif")
    },
    "rfc9309-example-rule-group-merging.txt": {
        "ExampleBot": ("/", "/foo /bar /baz"),
        "BazBot": ("/foo", "/baz"),
        "other": ("/baz", "/foo /bar"),
    },
    "directive-typos-robots.txt": {
        "bot1": ("/", "/desallow/ /dissalow/"),
        "bot2": ("/", "/useragent/"),
        "bot3": ("/", "/useg-agent/"),
        "bot4": ("/", "/useragent-no-colon/"),
    },
    "format-errors-robots.txt": {
        "bot1": ("/", "/whitespace-before-colon/ /no-colon/"),
        "bot2": ("/", "/no-colon-useragent/"),
        "bot3": ("/whitespace-before-colon", "/"),
    },
    "malformed-path.txt": {
        "bot": (
            "/wiki/",
            "/wiki/Wikipedia_talk:Mediation_Committee/ /wiki/Wikipedia_talk%3Mediation_Committee/",
        )
    },
    "many-user-agents.txt": {"wget": ("", "/"), "BlowFish": ("", "/"), "mybot": ("/", "/bot-trap/ /g/")},
    "merge-rules.txt": {
        "wget": ("/foo/bar /ckh/bar", "/tmp/bar"),
        "curl": ("", "/"),
        "other": ("/ckh/bar /", "/foo/bar /tmp/bar"),
    },
    "precedence-of-rules.txt": {
        "wget": ("/foo /index.html", "/bar"),
        "testy": ("/foo/bar /", "/foo /foo/baz"),
    },
    "robots-with-utf8-bom.txt": {"mybot": ("/", "/profile /x/output/print")},
    "robots-with-utf16le-bom.txt": {"mybot": ("/", "/profile /x/output/print")},
    "robots-with-utf16be-bom.txt": {"mybot": ("/", "/profile /x/output/print")},
    "twitter.com-robots.txt": {"mybot": ("/a", "/a?b /a/with_friends")},
    "wildcards.txt": {"mybot": ("/wishlist/universal/x /", "/gp/cart /a/gcrnsts")},
    "www.flot.com-robots.txt": {"mybot": ("/", "/bitrix/ /img/x")},
    "relative-sitemap-robots.txt": {"mybot": ("/", "/cache/ /files/x")},
    "extension-robots.txt": {"mybot": ("/", "/private/"), "otherbot": ("/private/", "/admin/")},
    "extensions-group-merging.txt": {"mybot": ("/", "/private/"), "yourbot": ("/", "/private/ /login/")},
    "crawl-delay-group-merging.txt": {"mybot": ("/", "/private/"), "yourbot": ("/", "/private/ /login/")},
}
MISSED = {
    # Protego does not read these two misspellings,
    ("directive-typos-robots.txt", "bot1", "/desallow/"),
    ("directive-typos-robots.txt", "bot3", "/useg-agent/"),
    # and ends a list of agents at a line between them that is no rule.
    ("extensions-group-merging.txt", "mybot", "/private/"),
    ("crawl-delay-group-merging.txt", "mybot", "/private/"),
}
# agent: seconds
DELAYS: dict[str, dict[str, float]] = {
    "astore.amazon.com-robots.txt": {"mybot": 5},
    "dos-line-endings.txt": {"mybot": 1},
    "extended-standard-robots.txt": {"bot1": 2, "bot2": 15, "bot4": 0.125},
    "twitter.com-robots.txt": {"Slurp": 1, "msnbot": 10, "mybot": 0},
    "crawl-delay-group-merging.txt": {"mybot": 10, "other": 30},
    "extension-robots.txt": {"mybot": 6, "otherbot": 12},
}
SITEMAPS = {
    "sitemap-robots.txt": ["http://domain.com/sitemap.xml", "http://domain.com/dir/MixedCased-sitemap.xml"],
    "sitemap-robots-dedup.txt": ["http://example.org/sitemap.xml"],
    "relative-sitemap-robots.txt": ["/sitemap.xml"],
    "robots-with-utf16be-bom.txt": ["http://www.newsweek.com/sitemap_index.xml"],
    "www.flot.com-robots.txt": ["http://flot.com/sitemap_index.xml"],
}


def read(path: Path, agent: str) -> RobotsRules:
    return RobotsRules.from_response(200, "text/plain", path.read_bytes(), agent)


def test_google_specification() -> None:
    """The 12 that differ: robots.txt itself may be fetched (4); our own name may hold digits (3), a
    blank (1) or a suffix after a hyphen (1), and is then matched whole; escapes are compared decoded
    (RFC 9309, 2.2.2), so three spellings match more."""
    cases = json.loads((DATA / "google-spec" / "cases.json").read_text())
    passed = 0
    for case in cases:
        body = case["robotstxt_latin1"].encode("latin-1")
        found = RobotsRules.from_response(200, "text/plain", body, case["useragent"])
        passed += found.allowed(case["url"]) == case["allowed"]
    assert (len(cases), passed) == (400, 388)


def test_crawler_commons() -> None:
    wrong = set()
    for name, agents in QUESTIONS.items():
        for agent, answers in agents.items():
            found = read(COMMONS / name, agent)
            for allowed, paths in zip((True, False), answers, strict=True):
                wrong |= {
                    (name, agent, path)
                    for path in paths.split()
                    if found.allowed(f"http://a.test{path}") != allowed
                }
    assert wrong == MISSED


def test_crawler_commons_delays_and_sitemaps() -> None:
    for name, delays in DELAYS.items():
        assert {agent: read(COMMONS / name, agent).crawl_delay for agent in delays} == delays, name
    for name, sitemaps in SITEMAPS.items():
        assert read(COMMONS / name, "mybot").sitemaps == sitemaps, name


def test_http_answers() -> None:
    """What each answer allows of /, /allowed and /disallowed."""
    everything, nothing, some = (True, True, True), (False, False, False), (True, True, False)
    expected = {
        "test_fetch_status_403": everything, "test_fetch_status_401": everything,
        "test_fetch_status_4XX": everything, "test_fetch_status_5XX": nothing,
        "test_excessive_redirects": everything, "test_ssl_exception": everything,
        "test_fetch_status_200": nothing, "test_content_too_big": nothing,
        "test_returns_an_agent_object": nothing, "test_returns_a_robots_object": nothing,
        "test_after_parse_hook": some, "test_caches_robots": some, "test_robots_allowed": some,
        "test_agent_allowed": some, "test_after_response_hook": some, "test_caches_agent": some,
    }  # fmt: skip
    got = {}
    for path in ANSWERS.glob("*/robots.txt"):
        head, _, body = path.read_bytes().replace(b"\r\n", b"\n").partition(b"\n\n")
        status = int(head.split(b" ")[1])
        found = RobotsRules.from_response(status, "text/plain", body, "mybot")
        asked = ("/", "/allowed", "/disallowed")
        got[path.parent.name] = tuple(found.allowed(f"http://a.test{p}") for p in asked)
    assert got == expected


def test_odd_files() -> None:
    files = sorted(SEEDS.iterdir())
    assert len(files) == 22
    for path in files:
        read(path, "mybot").allowed("http://a.test/x")
    assert not read(SEEDS / "disallow-all", "mybot").allowed("http://a.test/x")
    assert read(SEEDS / "html", "mybot").text == ""
    grouping = {agent: read(SEEDS / "grouping", agent) for agent in "abc"}
    allowed = {a: [r.allowed(f"http://a.test/{p}") for p in "abc"] for a, r in grouping.items()}
    assert allowed == {"a": [False, False, True], "b": [False, False, False], "c": [True, False, False]}
    fish = {agent: read(SEEDS / "google-matching", agent) for agent in "cdegh"}
    assert [r.allowed("http://a.test/fish.php") for r in fish.values()] == [False, False, True, False, False]
    assert [r.allowed("http://a.test/fish/?id=1.php5") for r in fish.values()] == [False] * 4 + [True]


def test_real_and_hostile_files_can_all_be_asked() -> None:
    files = [path for path in DATA.rglob("*") if path.is_file() and path.suffix not in (".gz", ".json")]
    bodies = [path.read_bytes() for path in files]
    with tarfile.open(DATA / "real-4231.tar.gz") as archive:
        for member in archive:
            opened = archive.extractfile(member)
            if opened is not None:
                bodies.append(opened.read())
    assert len(bodies) > 4000
    for body in bodies:
        found = RobotsRules.from_response(200, "text/plain", body, "ourbot", now=1000.0)
        found.allowed("http://a.test/some/path?query=1")
        assert 0 <= found.crawl_delay <= 86_400
