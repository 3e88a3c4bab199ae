import json
import os
from pathlib import Path

import pytest
from ada_url import normalize_url
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.urls.canonical import Speller, reject_reason

DATA = Path(os.environ.get("CONFORMANCE_DATA") or Path(__file__).parents[3] / "shared" / "data")
WHATWG = DATA / "url" / "whatwg" / "tests" / "wpt"

speller = Speller()
exact = Speller(strip_params=())

odd_text = st.text(alphabet="ab.:/?#@;&=%2eE\\ \t[]xn-é~+,0123456789", max_size=40)
links = st.one_of(
    st.text(max_size=40),
    odd_text,
    odd_text.map("http://example.com/".__add__),
    odd_text.map("https://".__add__),
    st.lists(
        st.sampled_from(
            ["/..;jsessionid=1", "/a;JSESSIONID=2;b=1", "/.", "?", "&", "utm_source=x", "b=2", "a=1", "sid=",
             "a" * 32, "/", "u:p@", "é"]
        ),
        max_size=8,
    ).map(lambda parts: "http://example.com" + "".join(parts)),
)


@given(links)
def test_spelling_is_idempotent(url: str) -> None:
    for each in (speller, exact, Speller(sort_query=True)):
        spelled = each.spell(url, "http://example.org/a/b?c")
        if spelled is not None:
            assert each.spell(spelled) == spelled


plain_segments = st.text(alphabet="aZ09_.~+,:=@!$&()*-", max_size=6)


@given(
    st.sampled_from(["http", "https", "ftp"]),
    st.text(alphabet="ab0x-n.", max_size=12),
    st.sampled_from(["com", "xn--a", "0x1f", "c", "edu"]),
    st.lists(plain_segments, max_size=4),
)
def test_the_short_way_agrees_with_the_parser(scheme: str, host: str, last: str, path: list[str]) -> None:
    url = f"{scheme}://{host}.{last}/{'/'.join(path)}"
    spelled = exact.spell(url)
    if spelled == url:
        assert normalize_url(url).partition("#")[0] == url


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("../x.html#top", "https://example.edu/x.html"),
        ("HTTP://WWW.Example.COM:80/%7Ea/./b/../c", "http://www.example.com/%7Ea/c"),
        ("//user:secret@example.com:8080/", "https://example.com:8080/"),
        ("/a@b?c=d@e", "https://example.edu/a@b?c=d@e"),
        ("/p?utm_source=x&id=3&fbclid=y", "https://example.edu/p?id=3"),
        ("/p?UTM_Source=x", "https://example.edu/p"),
        ("/p?", "https://example.edu/p?"),
        ("/p?b=2&&a=%7e", "https://example.edu/p?b=2&&a=%7e"),
        ("/p;jsessionid=AB12?id=3", "https://example.edu/p?id=3"),
        ("/x/..;jsessionid=1/p", "https://example.edu/p"),
        ("/p;v=1", "https://example.edu/p;v=1"),
        ("/p?sid=sports", "https://example.edu/p?sid=sports"),
        ("/p?sid=0123456789abcdef0123456789ABCDEF", "https://example.edu/p"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://0x7f.1/", "https://127.0.0.1/"),
    ],
)
def test_a_link_gets_its_one_spelling(link: str, expected: str) -> None:
    assert speller.spell(link, "https://example.edu/dir/page.html") == expected


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("javascript:void(0)", "javascript"),
        (" java\nscript:void(0)", "javascript"),
        ("MAILTO:a@example.com", "mailto"),
        ("data:text/plain,x", "data"),
        ("tel:123", "scheme"),
        ("ftp://example.com/", "scheme"),
        ("http://exa mple.com/", "invalid"),
        ("https://example.com:99999/", "invalid"),
        ("http://\ud800/", "invalid"),
    ],
)
def test_a_refused_link_has_a_reason(link: str, reason: str) -> None:
    assert speller.spell(link, "https://example.edu/") is None
    assert reject_reason(link) == reason


def test_the_query_is_sorted_on_request() -> None:
    assert Speller(sort_query=True).spell("http://a.com/?b=2&a=1&gclid=3") == "http://a.com/?a=1&b=2"


def test_the_fingerprint_tells_rules_apart() -> None:
    assert Speller(["a", "B"]).fingerprint() == Speller(["b", "a"]).fingerprint()
    assert len({Speller().fingerprint(), exact.fingerprint(), Speller(sort_query=True).fingerprint()}) == 3


@pytest.mark.skipif(not WHATWG.is_dir(), reason=f"no {WHATWG}: set CONFORMANCE_DATA to the folder of suites")
@pytest.mark.parametrize("name", ["urltestdata.json", "ada_extra_urltestdata.json", "toascii.json"])
def test_the_whatwg_suite_is_met(name: str) -> None:
    cases = [case for case in json.loads((WHATWG / name).read_text()) if isinstance(case, dict)]
    wrong, counted = [], 0
    for case in cases:
        if name == "toascii.json":
            if not case["input"]:
                continue
            url, base = f"https://{case['input']}/x", ""
            expected = None if case["output"] is None else f"https://{case['output']}/x"
        else:
            url, base = case["input"], case.get("base") or ""
            expected = None if case.get("failure") else _expected(case)
            if expected is None and not case.get("failure"):
                # Another scheme is refused, which says nothing about spelling: not counted as a success.
                assert exact.spell(url, base) is None
                continue
        counted += 1
        if exact.spell(url, base) != expected:
            wrong.append((url, base, expected, exact.spell(url, base)))
    print(f"{name}: {counted - len(wrong)} of {counted}")
    assert counted > 0
    assert len(wrong) <= counted * 0.02, wrong


def _expected(case: dict[str, str]) -> str | None:
    if case["protocol"] not in ("http:", "https:"):
        return None
    href = case["href"].partition("#")[0]
    scheme, rest = href.split("//", 1)
    authority, slash, path = rest.partition("/")
    return f"{scheme}//{authority.rpartition('@')[2]}{slash}{path}"
