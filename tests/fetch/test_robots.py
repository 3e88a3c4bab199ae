import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from crawlerproj.fetch.robots import TEXT_MAX_BYTES, RobotsCache, RobotsRules
from crawlerproj.fetch.robots_fetch import RobotsFetch, authority_of

PRIVATE = b"User-agent: *\nDisallow: /private\nCrawl-delay: 7\n"


def rules(body: bytes = PRIVATE, status: int = 200, kind: str = "text/plain", **more: object) -> RobotsRules:
    return RobotsRules.from_response(status, kind, body, "ourbot", now=1000.0, **more)  # type: ignore[arg-type]


def test_rules_are_obeyed() -> None:
    found = rules()
    assert not found.allowed("http://a.test/private/x")
    assert found.allowed("http://a.test/public")
    assert found.crawl_delay == 7


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 301, 308])
def test_a_missing_file_allows_everything_whatever_its_body(status: int) -> None:
    found = rules(status=status)
    assert found.allowed("http://a.test/private/x")
    assert not found.unreachable


@pytest.mark.parametrize("status", [500, 503, 599, 429, 0])
def test_an_unreachable_file_forbids_everything_for_a_short_while(status: int) -> None:
    found = rules(status=status)
    assert found.unreachable
    assert not found.allowed("http://a.test/")
    assert found.allowed("http://a.test/robots.txt")
    assert 0 < found.expires_at - 1000 <= 3600


def test_robots_txt_itself_is_always_allowed() -> None:
    found = rules(b"User-agent: *\nDisallow: /\n")
    assert found.allowed("http://a.test/robots.txt")
    assert not found.allowed("http://a.test/x/robots.txt")


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_a_byte_order_mark_does_not_hide_the_first_line(mark: bytes) -> None:
    assert not rules(mark + PRIVATE).allowed("http://a.test/private")


def test_utf16_with_a_mark_is_read() -> None:
    assert not rules(PRIVATE.decode().encode("utf-16")).allowed("http://a.test/private")


def test_a_web_page_in_place_of_the_file_is_no_rules() -> None:
    found = rules(b"<!DOCTYPE html><p>Disallow: /", kind="text/html")
    assert found.text == ""
    assert found.allowed("http://a.test/x")
    assert not rules(PRIVATE, kind="text/html").allowed("http://a.test/private")


def test_only_the_first_500_kib_count_and_no_half_line() -> None:
    start = b"User-agent: *\nDisallow: /a\n"
    filler = b"#" * (TEXT_MAX_BYTES - len(start) - 14) + b"\n"
    found = rules(start + filler + b"Disallow: /public/secret\nDisallow: /late\n")
    assert len(found.text) <= TEXT_MAX_BYTES
    assert not found.allowed("http://a.test/a")
    assert found.allowed("http://a.test/public/page")
    assert found.allowed("http://a.test/late")


@pytest.mark.parametrize(
    ("line", "seconds"),
    [("Crawl-delay: 2.5", 2.5), ("Request-rate: 1/30", 30), ("Request-rate: 10/1m", 6),
     ("Crawl-delay: 1e9", 86_400), ("Crawl-delay: 7200", 7200), ("Crawl-delay: nan", 0),
     ("Crawl-delay: -3", 0), ("", 0)],
)  # fmt: skip
def test_the_delay_asked_for_is_seconds_and_bounded(line: str, seconds: float) -> None:
    assert rules(f"User-agent: *\n{line}\nDisallow: /x\n".encode()).crawl_delay == seconds


def test_sitemaps_are_listed_once_each() -> None:
    body = b"Sitemap: http://a.test/1\nUser-agent: *\nSitemap: http://a.test/2\nSitemap: http://a.test/1\n"
    assert rules(body).sitemaps == ["http://a.test/1", "http://a.test/2"]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 86_400), ("max-age=3600", 3600), ("public, Max-Age=600", 600), ("max-age=0", 300),
     ("max-age=99999999", 86_400), ("s-maxage=5", 86_400), ("no-cache", 86_400), ("max-age=soon", 86_400)],
)  # fmt: skip
def test_a_shorter_max_age_is_honoured(header: str | None, seconds: float) -> None:
    assert rules(cache_control=header).expires_at == 1000 + seconds


def test_many_names_before_many_rules_cost_no_more_than_one() -> None:
    names = b"".join(b"User-agent: bot%d\n" % n for n in range(9_000))
    ours = b"User-agent: OurBot # us\n"
    paths = b"".join(b"Disallow: /%d\n" % n for n in range(9_000))
    tracemalloc.start()
    found = rules(names + ours + names + paths)
    assert not found.allowed("http://a.test/17")
    assert found.allowed("http://a.test/x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000  # a copy for each name would take 10 GB


_NAMES = ["*", "ourbot", "OURBOT/2", "our", "ourbot*", "*bot", "bot", "x", "y*", "our-bot", "|"]
_LINES = st.one_of(
    st.builds(
        "{}{}".format,
        st.sampled_from(["User-agent: ", "useragent ", " user agent:", "USER AGENT "]),
        st.sampled_from(_NAMES),
    ),
    st.sampled_from(
        ["Disallow: /a", "Allow: /a/b", "Disallow: /", "disallow:", "Crawl-delay: 5", "", "# User-agent: *",
         "Sitemap: http://a.test/s", "hello", "Noindex: /", "Host: x", "User-agent:", "User-agent"],
    ),
)  # fmt: skip


@given(st.lists(_LINES, max_size=12), st.sampled_from(["\n", "\r\n", "\r", "\x0b"]))
def test_the_names_of_others_do_not_matter(lines: list[str], end: str) -> None:
    text = end.join(lines)
    whole, found = Protego.parse(text), rules(text.encode())
    for path in ("/", "/a", "/a/b", "/c"):
        assert found.allowed("http://a.test" + path) == whole.can_fetch("http://a.test" + path, "ourbot")
    assert found.crawl_delay == (whole.crawl_delay("ourbot") or 0)
    assert found.sitemaps == list(dict.fromkeys(whole.sitemaps))


@given(st.binary(max_size=300), st.sampled_from([200, 404, 503]))
def test_any_body_can_be_asked_stored_and_read_back(body: bytes, status: int) -> None:
    found = rules(body, status)
    again = RobotsRules.decode(found.encode())
    assert again == found
    assert again is not None
    assert again.allowed("http://a.test/x") == found.allowed("http://a.test/x")
    assert again.crawl_delay == found.crawl_delay
    assert again.sitemaps == found.sitemaps


@given(st.binary(max_size=60))
def test_foreign_bytes_are_not_read_as_rules(stored: bytes) -> None:
    assert RobotsRules.decode(stored) is None


class Store(dict[str, bytes]):
    loads = 0

    def load(self, authority: str) -> bytes | None:
        self.loads += 1
        return self.get(authority)


def test_the_cache_reads_through_and_writes_through() -> None:
    store = Store()
    cache = RobotsCache(load=store.load, save=store.__setitem__, now=lambda: 1000.0)
    assert cache.get("http://a.test:80") is None
    cache.put("http://a.test:80", rules())
    again = RobotsCache(load=store.load, save=store.__setitem__, now=lambda: 1000.0)
    loads = store.loads
    for _ in range(3):
        found = again.get("http://a.test:80")
        assert found is not None and not found.allowed("http://a.test/private")
    assert store.loads == loads + 1
    assert again.get("https://a.test:443") is None


def test_expired_rules_are_unknown() -> None:
    moment = [1000.0]
    cache = RobotsCache(now=lambda: moment[0])
    cache.put("http://a.test:80", rules())
    moment[0] += 86_399
    assert cache.get("http://a.test:80") is not None
    moment[0] += 2
    assert cache.get("http://a.test:80") is None


def test_the_cache_is_bounded_by_number_and_by_text() -> None:
    cache = RobotsCache(size=2, now=lambda: 1000.0)
    for name in "abc":
        cache.put(name, rules())
    assert [cache.get(name) is not None for name in "abc"] == [False, True, True]
    small = RobotsCache(max_characters=len(PRIVATE) * 2, now=lambda: 1000.0)
    for name in "abc":
        small.put(name, rules())
    assert len(small) == 2


DAY = 86_400.0


def test_an_unreachable_file_is_asked_for_ever_more_seldom_and_given_up_after_thirty_days() -> None:
    store: dict[str, bytes] = {}
    now = 1_000.0
    waits = []
    while True:
        cache = RobotsCache(load=store.get, save=store.__setitem__, now=lambda moment=now: moment)  # type: ignore[misc]
        assert cache.get("http://a.test:80") is None
        found = RobotsFetch("http://a.test:80", "ourbot", cache.last("http://a.test:80")).failed(now)
        cache.put("http://a.test:80", found)
        if found.allowed("http://a.test/x"):
            break
        assert found.unreachable
        waits.append(found.expires_at - now)
        now = found.expires_at
    assert waits[:4] == [600, 1200, 2400, 4800]
    assert max(waits) == DAY
    assert 30 * DAY <= now - 1_000 < 31 * DAY
    # Still asked for: an answer holds at once, and a later failure starts the thirty days anew.
    now = found.expires_at
    answered = RobotsFetch("http://a.test:80", "ourbot", found).answered(200, PRIVATE, now)
    assert answered is not None and not answered.allowed("http://a.test/private")
    again = RobotsFetch("http://a.test:80", "ourbot", answered).failed(now + DAY)
    assert (again.unreachable, again.unreachable_since, again.failures) == (True, now + DAY, 1)


def test_five_redirects_are_followed_and_a_sixth_is_no_file() -> None:
    fetch = RobotsFetch("http://a.test:80", "ourbot")
    assert fetch.url == "http://a.test:80/robots.txt"
    targets = ["/r1", "https://b.test/r2#part", "//c.test/r3", "r4", "http://[2001:db8::1]/r5"]
    for target in targets:
        assert fetch.answered(302, b"", 0.0, location=target) is None
    assert fetch.url == "http://[2001:db8::1]/r5"
    at_last = fetch.answered(200, PRIVATE, 1000.0)
    assert at_last is not None and not at_last.allowed("http://a.test/private")
    one_more = fetch.answered(301, PRIVATE, 1000.0, location="/r6")
    assert one_more is not None and one_more.allowed("http://a.test/private")


@pytest.mark.parametrize(
    "location", [None, "", "ftp://a.test/", "file:///etc/passwd", "http://[x/", "javascript:1"]
)
def test_a_redirect_to_nowhere_is_no_file(location: str | None) -> None:
    found = RobotsFetch("http://a.test:80", "ourbot").answered(301, b"", 1000.0, location=location)
    assert found is not None and found.allowed("http://a.test/x") and not found.unreachable


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://a.test/x", "http://a.test:80"),
        ("https://A.test:8443", "https://a.test:8443"),
        ("https://u:p@[::1]/", "https://[::1]:443"),
        ("ftp://a.test/", ""),
        ("http:///x", ""),
        ("http://a:99999/", ""),
    ],
)
def test_rules_belong_to_scheme_host_and_port(url: str, authority: str) -> None:
    assert authority_of(url) == authority
