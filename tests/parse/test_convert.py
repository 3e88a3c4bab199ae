import asyncio
import contextlib

import pytest
from parse_samples import make_pdf
from scrapy.utils.defer import deferred_from_coro

from crawlerproj.parse.convert import Converter
from crawlerproj.parse.formats import Converted, converter_of, pdf, plain_text, xml


def on_loop(test):
    def run():
        return deferred_from_coro(test())

    run.__name__ = test.__name__
    return run


@contextlib.contextmanager
def converting(**options):
    converter = Converter(modules=["hostile_formats"], **options)
    try:
        yield converter
    finally:
        converter.close()


@on_loop
async def test_formats_come_back_as_text():
    with converting() as converter:
        body = make_pdf(["Hello world", "See http://b.example/x."])
        assert await converter.convert("application/pdf", body) == Converted(
            "Hello world\nSee http://b.example/x.", "A title",
            ["http://a.example/linked", "http://b.example/x"], "",
        )  # fmt: skip
        russian = await converter.convert("text/plain; charset=koi8-r", "Привет".encode("koi8-r"))
        assert russian.text == "Привет"
        assert (await converter.convert("application/rss+xml", b"<rss><title>T</title></rss>")).title == "T"
        assert (await converter.convert("image/png", b"")).malformed == "unsupported"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("killed", "crashed"), ("greedy", "memory"), ("raising", "unreadable"), ("endless", "timeout")],
)
def test_a_hostile_document_costs_one_document(kind, reason):
    async def run():
        with converting(seconds=3 if kind == "endless" else 60) as converter:
            assert (await converter.convert(f"x-test/{kind}", b"x")).malformed == reason
            assert (await converter.convert("text/plain", b"next")).text == "next"

    return deferred_from_coro(run())


@on_loop
async def test_a_worker_is_kept_and_replaced_after_its_share_of_documents():
    with converting(documents_per_worker=2) as converter:
        processes = [(await converter.convert("x-test/process", b"")).text for _ in range(5)]
        assert len(set(processes)) == 3
        assert processes[0] == processes[1] != processes[2] == processes[3]


@on_loop
async def test_a_question_given_up_spoils_no_answer():
    with converting() as converter:
        given_up = asyncio.ensure_future(converter.convert("x-test/endless", b""))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert (await converter.convert("text/plain", b"mine")).text == "mine"


@on_loop
async def test_several_questions_at_once_get_their_own_answers():
    with converting(workers=2) as converter:
        texts = [f"document {n}" for n in range(12)]
        answers = await asyncio.gather(*(converter.convert("text/plain", text.encode()) for text in texts))
        assert [answer.text for answer in answers] == texts


@on_loop
async def test_input_and_output_are_limited():
    with converting(max_input=100, max_text=10) as converter:
        assert (await converter.convert("text/plain", b"x" * 101)).malformed == "too_large"
        answer = await converter.convert("text/plain", b"x" * 50)
        assert (answer.text, answer.malformed) == ("x" * 10, "truncated")


def test_content_types_find_their_function():
    assert converter_of("Application/PDF; version=1") is pdf
    assert converter_of("application/atom+xml") is converter_of("text/xml") is xml
    assert converter_of("text/csv") is plain_text
    assert converter_of("image/png") is converter_of("") is None


def test_xml_keeps_its_order_and_its_links():
    body = b"""<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/hostname">]>
    <r xmlns:x="http://www.w3.org/1999/xlink"><title>One</title><p x:href="/a">two <b>three</b> four</p>
    <link>http://a.example/l</link><!-- no -->&e;</r>"""
    converted = xml(body, "text/xml", 1_000)
    assert converted.text == "One\ntwo\nthree\nfour\nhttp://a.example/l"
    assert (converted.title, converted.links) == ("One", ["/a", "http://a.example/l"])


@pytest.mark.parametrize("body", [b"", b"\0\1\2", b"no xml at all"])
def test_what_is_no_xml_gives_no_text(body):
    with contextlib.suppress(Exception):
        assert xml(body, "text/xml", 100).text == ""


def test_a_broken_pdf_has_a_reason():
    assert pdf(b"%PDF-1.4 nothing", "application/pdf", 100).malformed == "unreadable"
    assert pdf(make_pdf(["page"] * 30), "application/pdf", 20).malformed == "truncated"
