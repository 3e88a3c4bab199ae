"""`scrapy docs` as people use it: a process of its own on a stored crawl."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crawlerproj.demoweb.document_files import pdf
from crawlerproj.documents.archive import Archive

ROOT = Path(__file__).resolve().parents[2]
PROSE = " ".join(f"word{number}" for number in range(120))


def html(title, text, links=()):
    anchors = "".join(f'<a href="{href}">to {href}</a> ' for href in links)
    return f"<html lang=en><title>{title}</title><body><p>{text}</p><p>{anchors}</p></body></html>".encode()


@pytest.fixture(scope="module")
def crawl(tmp_path_factory, page):
    directory = tmp_path_factory.mktemp("crawl")
    archive = Archive(directory / "warc")
    for day, text in ((1, "old " + PROSE), (2, "new " + PROSE)):
        body = html("The title", text, ["/next", "http://b.example/"])
        archive.write(page(url="http://a.example/x", body=body, fetched_at=day * 86_400.0), metadata={})
    archive.write(page(url="http://www.a.example/copy", body=html("A copy", "new " + PROSE)))
    plain = [("Content-Type", "text/plain")]
    archive.write(page(url="http://b.example/plain", body=b"plain text", headers=plain))
    archive.write(page(url="http://other.example/", body=html("Other", "Something else entirely")))
    archive.write(page(url="http://c.example/paper", body=pdf(["Words of a paper", "http://d.example/"]),
                       headers=[("Content-Type", "application/pdf")]))
    feed = b"<rss><title>A feed</title><link>http://e.example/</link></rss>"
    archive.write(page(url="http://c.example/feed", body=feed,
                       headers=[("Content-Type", "application/rss+xml")]))
    hidden = html("Hidden", "</p><h2>In short</h2><p>Not for the index, <em>never</em>")
    archive.write(page(url="http://c.example/hidden", body=hidden), metadata={"robots": "noindex"})
    archive.close()
    return directory


def docs(crawl, *arguments, expected=0):
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "docs", *arguments, "--dir", str(crawl)],
        capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == expected, done.stderr.decode()
    return done.stdout.decode() if expected == 0 else (done.stdout + done.stderr).decode()


def json_lines(output):
    return [json.loads(line) for line in output.splitlines()]


def test_get_shows_a_document_in_every_form(crawl):
    shown = docs(crawl, "get", "http://a.example/x")
    assert shown.startswith("http://a.example/x\n1970-01-03 00:00:00  200  text/html")
    assert "The title" in shown and "new word0" in shown
    assert docs(crawl, "get", "a.example/x", "--raw").startswith("<html lang=en><title>The title")
    assert "Content-Type: text/html" in docs(crawl, "get", "http://a.example/x", "--headers")
    assert docs(crawl, "get", "http://b.example/plain", "--text") == "plain text\n"
    links = json_lines(docs(crawl, "get", "http://a.example/x", "--links", "--json"))
    assert [link["target"] for link in links] == ["http://a.example/next", "http://b.example/"]
    (whole,) = json_lines(docs(crawl, "get", "http://a.example/x", "--json"))
    assert (whole["title"], whole["language"], whole["metadata"]["depth"]) == ("The title", "en", "0")


def test_what_is_no_html_is_read_too(crawl):
    assert "Words of a paper" in docs(crawl, "get", "http://c.example/paper", "--text")
    assert docs(crawl, "get", "http://c.example/paper", "--links") == "http://d.example/\t\n"
    (feed,) = json_lines(docs(crawl, "get", "http://c.example/feed", "--json"))
    assert (feed["title"], feed["links"][0]["target"]) == ("A feed", "http://e.example/")


def test_headings_and_emphasis_are_told(crawl):
    (told,) = json_lines(docs(crawl, "get", "http://c.example/hidden", "--json"))
    assert (told["headings"], told["emphasised"]) == ([[2, "In short"]], ["never"])
    assert told["metadata"]["robots"] == "noindex"


def test_get_at_a_time_and_versions(crawl):
    assert "old word0" in docs(crawl, "get", "http://a.example/x", "--at", "19700102")
    assert "old word0" in docs(crawl, "get", "http://a.example/x", "--at", "1970-01-02")
    assert len(docs(crawl, "versions", "http://a.example/x").splitlines()) == 2


def test_what_is_not_there_is_said_with_a_remedy(crawl, tmp_path):
    assert "is not stored" in docs(crawl, "get", "http://a.example/none", expected=1)
    assert "--dir" in docs(tmp_path, "list", expected=1)
    assert "is no time" in docs(crawl, "get", "http://a.example/x", "--at", "yesterday", expected=1)


def test_list_by_host_and_by_url(crawl):
    assert len(docs(crawl, "list").splitlines()) == 8
    assert len(docs(crawl, "list", "--limit", "2").splitlines()) == 2
    hosts = json_lines(docs(crawl, "list", "a.example", "--json"))
    assert {row["url"] for row in hosts} == {"http://a.example/x", "http://www.a.example/copy"}
    assert len(docs(crawl, "list", "http://b.example/pl").splitlines()) == 1


def test_duplicates_are_clusters_and_pairs(crawl):
    (cluster,) = json_lines(docs(crawl, "duplicates", "--json"))
    assert cluster["urls"] == ["http://a.example/x", "http://www.a.example/copy"]  # the newest of each
    assert cluster["kind"] == "similar"
    (pair,) = json_lines(docs(crawl, "duplicates", "--pairs", "--json"))
    assert 0.9 <= pair["similarity"] < 1


@pytest.mark.parametrize("form", ["parquet", "jsonl", "wet", "cdxj"])
def test_exports(crawl, tmp_path, form):
    (told,) = json_lines(docs(crawl, "export", "--to", form, "--output", str(tmp_path / "out"), "--json"))
    assert told["rows"] == (7 if form == "wet" else 8)  # one says noindex
    made = tmp_path / "out"
    assert (made / "pages.parquet" if form == "parquet" else made).stat().st_size > 100


def test_check_and_reindex(crawl):
    assert docs(crawl, "check").startswith("sound: 1 files (3 metadata, 8 response, 1 warcinfo), 8 lines")
    index = crawl / "warc" / "crawl-0-00000.index"
    data = index.read_bytes()
    index.write_bytes(b"")
    found = docs(crawl, "check", expected=1)
    assert found.startswith("NOT sound, 8 problems") and "orphan" in found
    assert docs(crawl, "reindex") == "8 lines of index\n"
    assert index.read_bytes() == data


def test_wrong_use_is_explained(crawl):
    assert "say the format" in docs(crawl, "export", expected=2)
    assert "takes URL" in docs(crawl, "get", expected=2)
    assert "--at TIME" in docs(crawl, "--help")


@pytest.mark.parametrize("to", ["jsonl", "cdxj"])
def test_who_looks_sees_how_far_an_export_is(crawl, tmp_path, to):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "scrapy", "docs", "export", "--to", to, "--dir", str(crawl),
               "--output", str(tmp_path / "out")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"})
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "exporting" in shown and "kB" in shown


def test_what_cannot_be_read_is_left_out_and_the_exit_code_tells(crawl, tmp_path):
    shutil.copytree(crawl / "warc", tmp_path / "warc")
    sound = docs(tmp_path, "export", "--to", "jsonl", "--json")
    path = next((tmp_path / "warc").glob("*.warc.gz"))
    index = path.with_name(path.name.removesuffix(".warc.gz") + ".index").read_bytes()
    offset = json.loads(index.splitlines()[3].split(b" ", 2)[2])["offset"]
    data = bytearray(path.read_bytes())
    data[int(offset)] ^= 0xFF
    path.write_bytes(data)
    said = docs(tmp_path, "export", "--to", "jsonl", "--json", expected=1)
    assert f"the record at {offset} is broken" in said
    assert json.loads(said.splitlines()[0])["rows"] == json.loads(sound)["rows"] - 1
