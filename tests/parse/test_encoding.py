import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.parse.encoding import (
    declared_encoding,
    detected_encoding,
    find_encoding,
    http_encoding,
    to_utf8,
)
from crawlerproj.parse.labels import codec_of

DATA = Path(os.environ.get("CONFORMANCE_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
SUITE = DATA / "encoding" / "html5lib" / "encoding"
needs_data = pytest.mark.skipif(
    not SUITE.is_dir(), reason=f"no conformance data at {SUITE}: set CONFORMANCE_DATA"
)


def prescan_cases():
    for path in sorted(SUITE.glob("*.dat")):
        for case in path.read_bytes().split(b"#data\n")[1:]:
            data, _, expected = case.partition(b"#encoding\n")
            yield path.name, data.removesuffix(b"\n"), expected.strip().decode()


def declared_or_marked(data):
    codec, mark = find_encoding(data, "")
    return codec if mark else declared_encoding(data) or "cp1252"


@needs_data
def test_html5lib_prescan_cases():
    cases = list(prescan_cases())
    wrong = [
        (name, data[-200:], expected)
        for name, data, expected in cases
        if declared_or_marked(data) != codec_of(expected)
    ]
    print(f"{len(cases) - len(wrong)} of {len(cases)} prescan cases")
    assert len(cases) >= 81
    assert wrong == []


@needs_data
def test_detection_finds_big5():
    body = (SUITE / "chardet" / "test_big5.txt").read_bytes()
    assert find_encoding(body, "text/plain") == ("big5hkscs", 0)


@pytest.mark.parametrize(
    ("label", "codec"),
    [("UTF8", "utf-8"), (" ISO-8859-1\n", "cp1252"), ("ascii", "cp1252"), ("gb2312", "gb18030"),
     ("shift_jis", "cp932"), ("utf-7", None), ("", None), ("latin1é", None), ("unicode", "utf-16-le")],
)
def test_labels_mean_what_browsers_mean(label, codec):
    assert codec_of(label) == codec


@pytest.mark.parametrize(
    ("content_type", "codec"),
    [("text/html; charset=utf-8", "utf-8"), ('text/html;charset="koi8-r"', "koi8-r"),
     ("text/html; charset='big5' ; x=y", "big5hkscs"), ("text/html; charset=nonsense", None),
     ("text/html", None), ("", None), ("charset=utf-8", None)],
)
def test_http_charset(content_type, codec):
    assert http_encoding(content_type) == codec


def test_http_charset_wins_over_meta_and_a_mark_over_both():
    body = b"<meta charset=koi8-r>"
    assert find_encoding(body, "text/html; charset=big5") == ("big5hkscs", 0)
    assert find_encoding(body, "text/html; charset=nonsense") == ("koi8-r", 0)
    assert find_encoding(b"\xef\xbb\xbf" + body, "text/html; charset=big5") == ("utf-8", 3)


def test_xml_declaration_counts_where_no_meta_does():
    assert declared_encoding(b"<?xml version='1.0' encoding='windows-1251'?><html>") == "cp1251"
    assert declared_encoding(b"<?xml encoding='windows-1251'?><meta charset=koi8-r>") == "koi8-r"
    assert declared_encoding("<?xml version='1.0'?>".encode("utf-16-be")) == "utf-16-be"


@pytest.mark.parametrize(
    "hidden",
    [b"<!-- <meta charset=koi8-r> -->", b"<a title='<meta charset=koi8-r>'>", b"<? <meta charset=koi8-r",
     b"<meta content='text/html; charset=koi8-r'>", b"<meta charset='koi8-r", b"<metacharset=koi8-r>"],
)
def test_what_is_no_declaration(hidden):
    assert declared_encoding(hidden) is None


RUSSIAN = "Москва встречает весну: на улицах города снова много людей, и кафе открыли свои террасы. " * 8
JAPANESE = "東京の天気は晴れです。今日は公園でたくさんの人が花見を楽しんでいます。" * 8


@pytest.mark.parametrize(
    ("text", "codec"),
    [(RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (JAPANESE, "cp932"), (JAPANESE, "euc_jp"), ("plain", "utf-8"),
     ("Grüße aus Köln, schöne Straße, süße Äpfel und größere Öfen. " * 8, "cp1252")],
)
def test_undeclared_text_is_recognised(text, codec):
    assert to_utf8(text.encode(codec), detected_encoding(text.encode(codec))).decode() == text


def test_a_character_cut_at_the_end_is_still_utf8():
    assert detected_encoding("naïve café".encode()[:-1]) == "utf-8"


@given(st.binary(max_size=400), st.text(max_size=40))
def test_every_document_has_an_encoding(body, content_type):
    codec, mark = find_encoding(body, content_type)
    assert to_utf8(body[mark:], codec) is not None


PARTS = st.sampled_from(
    [b"<meta ", b"charset", b"=", b"'", b'"', b">", b"<!--", b"-->", b"<?xml ", b"encoding=", b"utf-8",
     b"content=", b"http-equiv=content-type ", b"/", b" "]
)


@given(st.lists(PARTS))
def test_any_jumble_of_declarations_is_read(parts):
    assert declared_encoding(b"".join(parts)) in (None, "utf-8")
