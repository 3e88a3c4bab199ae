import gzip
import json
import os
from pathlib import Path

import pytest
from parse_samples import ARTICLE, SURROUNDED, WORDS
from selectolax.lexbor import LexborHTMLParser

from crawlerproj.parse.page import parse_html
from crawlerproj.parse.surroundings import Judgements, is_noise
from crawlerproj.parse.text import MIN_MAIN, read_text

DATA = Path(os.environ.get("CONFORMANCE_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
ARTICLES = DATA / "content" / "scrapinghub"


def read(html):
    return read_text(LexborHTMLParser(html))


def test_main_content_is_the_article_without_its_surroundings():
    text = read(SURROUNDED).main
    assert text.startswith("Flood in the valley\nParagraph 0.")
    assert text.count("Paragraph") == 8
    for around in ("Home", "Alpha", "Share", "comment", "cats", "Imprint", "hidden", "p {"):
        assert around not in text


def test_visible_text_has_everything_but_the_invisible():
    text = read(SURROUNDED).visible
    for part in ("Home", "Alpha section", "Flood in the valley", "First comment", "cats", "Imprint"):
        assert part in text
    assert "var hidden" not in text
    assert "p {" not in text


def test_inline_elements_do_not_split_words_and_blocks_do():
    last = "<p><b>H</b>ello <i>wo</i>rld,<br>next&nbsp;line  <a href=x>and</a>.</p>"
    assert read(f"<div>{ARTICLE}{last}</div>").main.endswith("\nHello world,\nnext line and.")


def test_hidden_elements_are_not_main_content():
    hidden = "".join(
        f"<div {how}>Secret words of a hidden element</div>"
        for how in ("hidden", "style='display: none'", "style='color:red;DISPLAY:none'", "aria-hidden=true")
    )
    assert "Secret" not in read(f"<div>{ARTICLE}{hidden}</div>").main


def test_an_article_in_an_element_with_a_bad_name_is_kept():
    assert read(f"<div class=sidebar>{ARTICLE}</div><p>Some other words.").main.count("Paragraph") == 8
    assert read(f"<form id=form1><div class=widget>{ARTICLE}</div></form>").main.count("Paragraph") == 8


def test_text_in_divs_with_line_breaks_is_found():
    lines = "<br>".join(f"Line {n}. {WORDS}" for n in range(9))
    text = read(f"<table><tr><td><div><a href=/>Home</a></div><td><div>{lines}</div></table>").main
    assert text.count("Line") == 9


def test_unclosed_elements_do_not_lose_what_stands_above():
    text = read("".join(f"<div class=entry><p>Entry {n}. {WORDS}</p>" for n in range(100))).main
    assert text.count("Entry") >= 50


def test_of_several_articles_the_first_is_the_page():
    more = "".join(f"<article><h2>Next {n}</h2>{ARTICLE}</article>" for n in range(3))
    text = read(f"<main><article><h1>First</h1>{ARTICLE}</article>{more}</main>").main
    assert "Next" not in text
    assert text.count("Paragraph") == 8


CJK = "今日は天気がとても良いので、公園まで散歩に行きました。桜の花が満開で、多くの人が写真を撮っていました。"
FORUM = "".join(
    f"<div class=comment><b>user{n}</b><div class=post>I have the same problem, number {n}.</div></div>"
    for n in range(20)
)
ITEMS = "".join(f"<li><a href=/item/{n}>Item number {n}</a>" for n in range(50))
LISTING = f"<ul class=menu>{ITEMS}</ul>"
PAGES = {
    "japanese": (f"<div id=main>{'<p>' + CJK}{'<p>' + CJK}{'<p>' + CJK}{'<p>' + CJK}</div>", "公園まで散歩"),
    "forum": (f"<h1>Problem</h1><div class=comments>{FORUM}</div>", "same problem, number 19"),
    "listing": (LISTING, "Item number 49"),
    "documentation": ("<main><h1>API</h1><pre>def f(x): ...</pre><dl><dt>f<dd>Does it.</dl>", "Does it."),
    "search form": ("<form class=search><label>Words <input></label> Type and press enter", "press enter"),
    "one line": ("<body>Hello", "Hello"),
    "frameset": ("<frameset><frame src=/a><noframes>Frames needed</noframes></frameset>", ""),
    "all in navigation": ("<nav><a href=/a>Only navigation here</a></nav>", "Only navigation"),
    "all hidden": ("<body style='display:none'><div hidden>App text</div>", "App text"),
}


@pytest.mark.parametrize("name", PAGES)
def test_no_page_with_text_comes_out_empty(name):
    html, expected = PAGES[name]
    assert expected in read(html).main


@pytest.mark.parametrize(
    ("names", "noise"),
    [("sidebar", True), ("left-sidebar", True), ("post-share_bar", False), ("article share-bar", True),
     ("has-post-thumbnail hentry", False), ("field-label-hidden", False), ("story-body comments", False),
     ("headline", False), ("", False), ("-_-", False)],
)  # fmt: skip
def test_names_are_judged_part_by_part(names, noise):
    assert is_noise(names) is noise


def test_judgements_are_remembered_and_bounded():
    judged = Judgements()
    assert judged["sidebar"]
    assert judged["sidebar " + "x " * 5_000]
    assert max(map(len, judged)) <= 300


@pytest.mark.parametrize(
    "html",
    ["<div class=related>" * 3_000 + "<p>" + "word " * 20_000, "<blockquote>" * 5_000 + "word " * 20_000,
     "<div><p>A paragraph that is long enough to be counted.</p>" * 3_000, "<pre>" * 5_000 + "word " * 999],
    ids=["noise", "quotes", "paragraphs", "pre"],
)  # fmt: skip
def test_deep_nesting_is_no_trap(html):
    assert read(html).main


def test_text_is_read_once_and_the_rest_still_afterwards():
    parsed = parse_html("http://a.example/", SURROUNDED.encode(), "text/html", lambda raw, base: None)
    seen = parsed.visible_text
    assert parsed.headings == [(1, "Flood in the valley")]
    assert parsed.text is parsed.text
    assert len(parsed.text) > MIN_MAIN
    assert parsed.headings == [(1, "Flood in the valley")]
    assert parsed.visible_text == seen


@pytest.mark.skipif(not ARTICLES.is_dir(), reason=f"no articles at {ARTICLES}: set CONFORMANCE_DATA")
def test_real_articles_hold_their_text():
    truth = json.loads((ARTICLES / "ground-truth.json").read_text())
    shares = []
    for name in sorted(truth)[::6]:
        body = gzip.decompress((ARTICLES / "html" / f"{name}.html.gz").read_bytes())
        found, expected = set(read(body).main.split()), set(truth[name]["articleBody"].split())
        shares.append(len(found & expected) / len(expected))
    assert sum(shares) / len(shares) > 0.93
