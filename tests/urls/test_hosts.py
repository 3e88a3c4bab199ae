import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.urls.canonical import Speller
from crawlerproj.urls.hosts import authority, group_by, host_of, registered_domain, surt

DATA = Path(os.environ.get("CONFORMANCE_DATA") or Path(__file__).parents[3] / "shared" / "data")
PSL_TESTS = DATA / "url" / "psl" / "tests" / "tests.txt"

spell = Speller().spell
urls = st.builds(
    "{}://{}{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["[::1]", "127.0.0.1", "localhost"]) | st.text("abxn0129.-", min_size=1, max_size=20),
    st.sampled_from(["", ":80", ":443", ":8080"]),
    st.text(max_size=20),
)


@given(urls)
def test_host_of_agrees_with_urllib_on_canonical_urls(url: str) -> None:
    spelled = spell(url)
    if spelled is not None:
        parts = urlsplit(spelled)
        assert host_of(spelled) == parts.netloc
        assert authority(spelled) == f"{parts.scheme}://{parts.netloc}"


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.co.uk:8080", "example.co.uk"),
        ("a.b.mit.edu", "mit.edu"),
        ("user.github.io", "user.github.io"),
        ("localhost:80", "localhost"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[::1]:8000", "[::1]"),
        ("com", "com"),
        ("www.example.com.", "example.com"),
    ],
)
def test_the_registered_domain_of_a_host(host: str, domain: str) -> None:
    assert registered_domain(host) == domain


@pytest.mark.skipif(
    not PSL_TESTS.is_file(), reason=f"no {PSL_TESTS}: set CONFORMANCE_DATA to the folder of suites"
)
def test_the_public_suffix_suite_is_met() -> None:
    wrong, counted = [], 0
    for line in PSL_TESTS.read_text().splitlines():
        if not line.strip() or line.startswith(("//", "null", ".")):
            continue
        host, expected = line.lower().split()
        counted += 1
        if registered_domain(host) != (host if expected == "null" else expected):
            wrong.append((line, registered_domain(host)))
    print(f"public suffixes: {counted - len(wrong)} of {counted}")
    assert counted > 50
    assert len(wrong) <= counted * 0.02, wrong


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www.example.com/Path/?b=2&a=1", "com,example)/path?a=1&b=2"),
        ("http://example.com/", "com,example)/"),
        ("http://example.com:8080/a?", "com,example:8080)/a"),
        ("http://www2.example.com/x", "com,example)/x"),
        ("http://127.0.0.1/x", "1,0,0,127)/x"),
        ("http://[::1]:81/x", "[::1]:81)/x"),
    ],
)
def test_surt_keys_are_those_of_cdxj(url: str, key: str) -> None:
    assert surt(url) == key


def test_groups_by_host_and_domain() -> None:
    url = "http://a.example.co.uk:81/x"
    assert group_by("host")(url) == "a.example.co.uk:81"
    assert group_by("domain")(url) == "example.co.uk"


def test_groups_named_in_a_file(tmp_path: Path) -> None:
    groups = tmp_path / "groups.tsv"
    groups.write_text("# comment\nblogs\t.blog.example\nblogs\twww.other.example\n")
    group_of = group_by(str(groups))
    assert group_of("https://a.blog.example/") == "blogs"
    assert group_of("https://blog.example:81/") == "blogs"
    assert group_of("https://www.other.example/") == "blogs"
    assert group_of("https://x.www.other.example/") == "x.www.other.example"


def test_a_bad_group_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="POLITENESS_GROUP"):
        group_by(str(tmp_path / "missing"))
    (tmp_path / "bad").write_text("no tab here\n")
    with pytest.raises(ValueError, match="bad:1"):
        group_by(str(tmp_path / "bad"))
