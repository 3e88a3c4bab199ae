"""Feeds mutated documents to the parse room: `fuzz_documents.py SEED COUNT`, every tenth a PDF.

Runs as a process of its own: a crash of a C library ends it with a signal, a hang with a traceback of
where it hangs, and either names the seed of its document. The last line is the number of documents read.
"""

import faulthandler
import gzip
import os
import random
import sys
from pathlib import Path

import ada_url
from parse_samples import SURROUNDED, make_pdf

from crawlerproj.parse.convert_worker import convert
from crawlerproj.parse.page import parse_html

HANG_SECONDS = 60
DATA = Path(os.environ.get("CONFORMANCE_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
TOKENS = [
    b"<", b">", b"</", b"'", b'"', b"<!--", b"-->", b"<![CDATA[", b"\0", b"\xff\xfe", b"\xef\xbb\xbf",
    b"<table>", b"<a href=", b"<base href='//[", b"<p><b id=1>", b"<div class='share'>", b"<svg><title>",
    b"<template>", b"<meta charset=utf-16>", b"<meta http-equiv=refresh content='0;url=", b"<frameset>",
    b"<select>", b"&#x110000;", b"&notit;", b"<math><mi>", b"<plaintext>", b"<article>", b"</body>", b"<h1>",
    b"<form>", b"\xed\xa0\x80", b"%00",
]  # fmt: skip
CONTENT_TYPES = [
    "text/html", "text/html; charset=utf-8", "text/html; charset=gb2312", "text/html;charset=utf-16", "",
]  # fmt: skip


def spell(raw, base):
    try:
        return ada_url.join_url(base, raw).partition("#")[0]
    except ValueError:
        return None


def seeds():
    pages = [SURROUNDED.encode(), b"<a href=/x>x</a>" * 50]
    for path in sorted((DATA / "content" / "scrapinghub" / "html").glob("*.gz")):
        body = gzip.decompress(path.read_bytes())
        if len(body) < 60_000:
            pages.append(body)
    return pages


def mutate(body, rng, others):
    data = bytearray(body)
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(data) + 1)
        length = min(rng.choice([1, 4, 40, 400, 4_000]), len(data) - at)
        kind = rng.randrange(6)
        if kind == 0:
            data[at : at + length] = rng.randbytes(rng.choice([1, length]))
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = rng.choice(TOKENS) * rng.choice([1, 1, 1, 3, 100, 3_000])
        elif kind == 3:
            data[at:at] = data[at : at + length] * rng.choice([1, 2, 20])
        elif kind == 4:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            data[at:at] = other[start : start + length]
        elif data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
    return bytes(data)


def read_page(body, rng):
    parsed = parse_html("http://a.example/d/", body, rng.choice(CONTENT_TYPES), spell)
    assert parsed.malformed != "parser"
    assert len(set(parsed.links)) == len(parsed.links) == len(parsed.positions)
    if rng.random() < 0.3:
        assert parsed.visible_text is not None
    assert bool(parsed.text) == bool(parsed.visible_text)
    assert parsed.headings is not None
    assert parsed.emphasised is not None
    assert parsed.malformed != "parser"


def main(first, count):
    pages = seeds()
    pdfs = [make_pdf(["Hello world"]), make_pdf(["Some longer text on a page"] * 5)]
    for seed in range(first, first + count):
        rng = random.Random(seed)
        print(f"\r{seed}", end="", file=sys.stderr)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        if seed % 10 == 0:
            convert("application/pdf", mutate(rng.choice(pdfs), rng, pdfs), 100_000)
        elif seed % 10 == 1:
            body = b"<r><title>t</title>" + rng.choice(pages)[:9_000]
            convert("text/xml", mutate(body, rng, pages), 100_000)
        else:
            read_page(mutate(rng.choice(pages), rng, pages), rng)
        faulthandler.cancel_dump_traceback_later()
    print(count)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
