import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.items import Link
from crawlerproj.parse import bombs
from crawlerproj.parse.page import parse_html


def spell(raw, base):
    try:
        return ada_url.join_url(base, raw).partition("#")[0]
    except ValueError:
        return None


def parse(html, content_type="text/html", url="http://a.example/dir/page", **limits):
    body = html.encode() if isinstance(html, str) else html
    return parse_html(url, body, content_type, spell, **limits)


def urls(parsed):
    return [link.url for link in parsed.links]


def test_links_are_absolute_with_collapsed_anchor_and_rel():
    parsed = parse("<title> A \n title</title><a href='../x' rel=next>  to \n <b>the</b> x </a>")
    assert parsed.links == [Link("http://a.example/x", "to the x", "next")]
    assert parsed.title == "A title"


def test_first_of_equal_links_is_kept():
    assert parse("<a href=/x>one</a><a href=/x#f>two</a>").links == [Link("http://a.example/x", "one")]


def test_anchor_is_capped():
    assert len(parse(f"<a href=/x>{'y' * 999}</a>").links[0].anchor) == 200


def test_base_href_is_honoured():
    parsed = parse("<base href='http://b.example/q/'><a href=r>r</a><a href='#top'>t</a>")
    assert urls(parsed) == ["http://b.example/q/r", "http://b.example/q/"]


def test_every_kind_of_link_is_found():
    parsed = parse(
        "<link rel=canonical href=/c><link rel=stylesheet href=/no><link rel='alternate stylesheet' href=/no>"
        "<link rel=icon href=/no><meta http-equiv=Refresh content=\"3; URL='/r'\">"
        "<a href=/a>a</a><map><area href=/b></map><iframe src=/i></iframe>"
    )
    assert sorted(urls(parsed)) == [f"http://a.example/{name}" for name in "abcir"]


def test_frames_are_links():
    assert urls(parse("<frameset><frame src=/f></frameset>")) == ["http://a.example/f"]


def test_left_out_links_are_counted_by_reason():
    parsed = parse(
        "<a href='javascript:x()'></a><a href=' java\nscript:y()'></a><a href='MAILTO:a@b'></a>"
        "<a href='data:,x'></a><a href='tel:1'></a><a href='http://[/'></a><a href=/n rel='x NoFollow'></a>"
        "<a href='#here'></a>"
    )
    assert parsed.links == []
    assert parsed.rejected == {
        "javascript": 2, "mailto": 1, "data": 1, "scheme": 1, "invalid": 1, "nofollow": 1,
    }


@pytest.mark.parametrize("content", ["nofollow", "NOINDEX, NoFollow", "none"])
def test_a_nofollow_page_has_its_links_counted_only(content):
    parsed = parse(f"<meta name=ROBOTS content='{content}'><a href=/x>x</a><a href=/y>y</a>")
    assert (parsed.links, parsed.nofollow, parsed.rejected) == ([], True, {"nofollow": 2})


def test_links_beyond_the_limit_are_counted():
    parsed = parse("".join(f"<a href=/{n}>x</a>" for n in range(12)), max_links=10)
    assert (len(parsed.links), parsed.rejected) == (10, {"too_many": 2})


def test_each_href_is_spelled_once():
    asked = []
    parse_html("http://a.example/", b"<a href=/x>1</a>" * 9, "", lambda raw, base: asked.append(raw))
    assert asked == ["/x"]


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        ("<title>é</title>".encode(), "text/html", "utf-8"),
        (b"\xef\xbb\xbf" + "<title>é</title>".encode(), "text/html; charset=latin-1", "utf-8"),
        ("\ufeff<title>é</title>".encode("utf-16-le"), "", "utf-16-le"),
        ("<title>é</title>".encode("latin-1"), "text/html; charset=iso-8859-1", "cp1252"),
        ("<meta charset=windows-1252><title>é</title>".encode("cp1252"), "text/html", "cp1252"),
        ("<title>é</title>".encode("cp1252"), "text/html", "cp1252"),
    ],
)
def test_encoding_is_found(body, content_type, encoding):
    parsed = parse(body, content_type)
    assert (parsed.title, parsed.encoding) == ("é", encoding)


def test_link_within_ten_thousand_divs_is_found():
    assert urls(parse("<div>" * 9_999 + "<a href=/deep>x</a>")) == ["http://a.example/deep"]


@pytest.mark.parametrize(
    "bomb",
    ["<div>" * 100_000, "".join(f"<p><b id={n}>" for n in range(20_000))],
    ids=["depth", "formatting"],
)
def test_nesting_bombs_are_cut_and_named(bomb):
    parsed = parse("<a href=/before>x</a>" + bomb)
    assert (urls(parsed), parsed.malformed) == (["http://a.example/before"], "nesting")


def test_a_page_of_too_many_tags_is_read_from_its_beginning():
    many = "<p>y" * bombs.MAX_TAGS
    parsed = parse("<a href=/before>x</a>" + many + "<a href=/after>x</a>")
    assert (urls(parsed), parsed.malformed) == (["http://a.example/before"], "truncated")
    assert parsed.text.count("y") == bombs.MAX_TAGS - 2
    assert parse(many).malformed == ""


@given(st.binary(max_size=200).map(lambda data: data.replace(b"a", b"<")), st.integers(0, 9))
def test_the_beginning_with_so_many_tags(body, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bombs, "MAX_TAGS", most)
        end = bombs.before_many_tags(body)
    assert body[:end].count(b"<") <= most
    assert end == len(body) or body[: end + 1].count(b"<") == most + 1


def test_nul_bytes_and_huge_attributes_are_safe():
    parsed = parse(b"\0<a href='/" + b"x" * 1_000_000 + b"'>x</a>\0<a href=/\0>z</a><a href=/ok>k</a>")
    assert parsed.rejected == {"invalid": 1}
    assert "http://a.example/ok" in urls(parsed)


def test_body_is_capped():
    parsed = parse("<a href=/x>x</a>" * 2, max_bytes=16)
    assert (urls(parsed), parsed.malformed) == (["http://a.example/x"], "truncated")


def test_an_empty_document_says_nothing():
    parsed = parse(b"")
    assert (parsed.text, parsed.visible_text, parsed.headings, parsed.emphasised) == ("", "", [], [])
    assert (parsed.title, parsed.links, parsed.malformed, parsed.encoding) == ("", [], "", "utf-8")


def test_parser_failure_is_a_reason():
    def broken(raw, base):
        raise RuntimeError
    assert parse_html("http://a.example/", b"<a href=x>", "", broken).malformed == "parser"


def test_links_know_their_place_in_the_document():
    parsed = parse(
        "<link rel=canonical href=/c><meta name=x><a href=/1>1</a><a>no link</a><a href=/2>2</a><a href=/1>",
        link_headers=["</h>; rel=next"],
    )
    assert dict(zip(urls(parsed), parsed.positions, strict=True)) == {
        "http://a.example/1": 2, "http://a.example/2": 4, "http://a.example/c": 0, "http://a.example/h": -1,
    }  # fmt: skip


def test_an_anchor_wins_over_a_link_element_to_the_same_page():
    parsed = parse("<link rel=canonical href=/x><a href=/x>the page</a>")
    assert parsed.links == [Link("http://a.example/x", "the page")]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ('</n>; rel="next"', ["/n"]),
        ("<n>; rel=prev, <../m>; title=\"a, b\"; rel='x', </c>;REL=Canonical", ["/dir/n", "/c"]),
        ("</s>; rel=stylesheet, </p>; rel=preload", []),
        ('</other>; rel=next; anchor="/elsewhere"', []),
        ('</two>; rel="alternate next"; hreflang=de', ["/two"]),
        ("garbage, rel=next, <>; rel=next, <<>>;;;", []),
        ("<javascript:x>; rel=next", []),
    ],
)
def test_link_headers(value, found):
    parsed = parse("<base href=http://b.example/><p>x", link_headers=[value])
    assert urls(parsed) == [f"http://a.example{path}" for path in found]


def test_link_headers_of_hostile_length_are_cut():
    assert len(parse("x", link_headers=["</x>; rel=next" + ";" * 100_000 + "," + '<"' * 100_000]).links) == 1


def test_header_and_meta_directives_add_up():
    parsed = parse(
        "<meta name=robots content=noarchive><meta name=abot content=none><meta name=OurBot content=noindex>",
        robots_headers=["unavailable_after: 2030-01-01", "otherbot: nofollow"],
        agent="ourbot",
    )
    assert (parsed.noindex, parsed.nofollow, parsed.noarchive) == (True, False, True)
    assert parsed.unavailable_after == 1_893_456_000


def test_a_nofollow_header_has_the_links_counted_only():
    parsed = parse("<a href=/x>x</a>", robots_headers=["nofollow"])
    assert (parsed.links, parsed.nofollow, parsed.rejected) == ([], True, {"nofollow": 1})


def test_description_and_language():
    parsed = parse("<html lang=de-AT><meta name=Description content=' so  it\nis '>")
    assert (parsed.description, parsed.language) == ("so it is", "de-AT")
    parsed = parse("<meta property=og:description content=og><meta http-equiv=Content-Language content=fr>")
    assert (parsed.description, parsed.language) == ("og", "fr")


def test_headings_and_emphasised_terms():
    parsed = parse("<h1>One</h1><b>bold</b> <em>word</em> <strong>bold</strong><h3> Th<i>re</i>e</h3><h2>")
    assert parsed.headings == [(1, "One"), (3, "Three")]
    assert parsed.emphasised == ["bold", "word", "re"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"%PDF-1.7 ...", "binary"),
        (bytes(range(256)) * 8, "binary"),
        (b"<p>" + b"\x81\x8d " * 200, "encoding"),
        (b"<a " + b" ".join(b"x%d=1" % n for n in range(20_000)) + b">", "nesting"),
        (b"<p title='" + b"data " * 20_000 + b"'>fine", ""),
        (b"<p>" + b"plain words " * 20_000, ""),
        (b"<img src='data:" + b"A" * 100_000 + b"'>", ""),
        (b"", ""),
    ],
    ids=["pdf", "bytes", "undecodable", "attributes", "long quoted value", "text", "data url", "empty"],
)
def test_malformed_pages_have_a_reason(body, reason):
    assert parse(body, "text/html; charset=utf-8").malformed == reason


FRAGMENTS = st.sampled_from(
    [b"<a href=", b"<base href='", b"<meta charset=utf-16>", b"'", b'"', b">", b"</a>", b"<svg>", b"<table>",
     b"http://", b"//", b"\0", b"\xff\xfe", b"<!--", b"<iframe src=",
     b"<meta http-equiv=refresh content='0;url="]
)


@given(st.lists(FRAGMENTS | st.binary(max_size=30)).map(b"".join), st.text(max_size=40))
def test_random_bytes_never_raise_and_links_are_canonical(body, content_type):
    parsed = parse(body, content_type)
    assert parsed.malformed in ("", "parser", "binary", "encoding")
    assert [spell(url, "http://a.example/") for url in urls(parsed)] == urls(parsed)
    assert len(set(urls(parsed))) == len(parsed.links)
    assert parsed.text is not None
    assert parsed.headings is not None


def test_a_page_that_lies_about_its_charset_is_read_all_the_same():
    words = "<p>Съешь ещё этих мягких французских булок, да выпей чаю. " * 20
    body = f"<title>Привет</title>{words}<a href=/x>дальше</a>".encode("windows-1251")
    parsed = parse_html("http://a.example/", body, "text/html; charset=utf-8", lambda raw, base: base + raw)
    assert (parsed.title, parsed.malformed) == ("Привет", "encoding")
    assert "французских" in parsed.text
