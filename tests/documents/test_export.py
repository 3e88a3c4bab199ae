import gzip
import json

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.documents.archive import Archive, Former
from crawlerproj.documents.export import completed, export_cdxj, export_jsonl, export_wet
from crawlerproj.documents.export_parquet import export_parquet
from crawlerproj.documents.index import Index
from crawlerproj.documents.records import digest
from crawlerproj.documents.rows import Reading, rows
from crawlerproj.items import Link


def read(url, body, content_type):
    """Stands for the parser: the body is the text, each page links to two others."""
    links = [Link(url + "/a", "Anchor ä", "nofollow"), Link("http://b.example/", "\ud800")]
    text = body.decode("utf-8", "replace")
    return Reading("Title of " + url, text, "en", links, "About it", [(1, "Head")], ["strong"])


@pytest.fixture
def crawl(tmp_path, page):
    directory = tmp_path / "warc"
    archive = Archive(directory, max_bytes=5_000)
    for number in range(30):
        metadata = {"duplicate_of": "http://a.example/0" if number == 7 else "", "language": "de",
                    "robots": "noindex, nofollow" if number == 7 else ""}
        archive.write(page(number, b"text %d" % number, depth=number % 4), metadata=metadata)
    archive.write(page(url="http://a.example/robots.txt", body=b"User-agent: *"))
    archive.write(page(99, b"", status=404))
    former = Former("http://a.example/0", 1_700_000_000.25, digest(b"text 0"))
    archive.write(page(0, b"text 0", fetched_at=1_700_100_000.0), former=former)
    archive.close()
    return directory


def all_rows(crawl):
    problems = []
    found = list(rows(crawl, read, problems))
    assert problems == []
    return found


def test_each_capture_is_a_row_with_what_was_noted(crawl):
    found = all_rows(crawl)
    assert len(found) == 32
    row = found[7]
    assert (row.url, row.host, row.status, row.type) == ("http://a.example/7", "a.example", 200, "text/html")
    assert (row.depth, row.language, row.duplicate_of) == (3, "de", "http://a.example/0")
    assert (row.text, row.link_count, row.time) == ("text 7", 2, 1_700_000_000.25)
    missing, revisit = found[30:]
    assert (missing.status, missing.text, missing.depth) == (404, "", None)
    assert (revisit.text, revisit.digest) == ("", found[0].digest)


def test_a_broken_end_is_told_and_the_rest_is_read(crawl):
    path = sorted(crawl.glob("*.warc.gz"))[-1]
    path.write_bytes(path.read_bytes()[:-5])
    problems = []
    found = list(rows(crawl, read, problems))
    assert len(found) == 31 and "not complete" in problems[0]


def test_progress_adds_up_to_the_bytes_of_the_archive(crawl):
    steps = []
    list(rows(crawl, read, [], steps.append))
    assert sum(steps) == sum(path.stat().st_size for path in crawl.glob("*.warc.gz"))


def test_json_lines(crawl, tmp_path):
    assert export_jsonl(all_rows(crawl), tmp_path / "out.jsonl") == 32
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert lines[7]["duplicate_of"] == "http://a.example/0"
    assert (lines[7]["robots"], lines[0]["robots"]) == ("noindex, nofollow", "")
    assert (lines[0]["description"], lines[0]["headings"]) == ("About it", [[1, "Head"]])
    assert lines[0]["emphasised"] == ["strong"]
    assert lines[0]["time"] == "2023-11-14T22:13:20.250000Z"
    assert lines[0]["links"][0] == {"target": "http://a.example/0/a", "anchor": "Anchor ä", "rel": "nofollow"}


def test_wet_holds_the_texts(crawl, tmp_path):
    path = tmp_path / "texts.warc.wet.gz"
    assert export_wet(all_rows(crawl), path) == 30
    with path.open("rb") as file:
        found = []
        for record in ArchiveIterator(file, check_digests="raise"):
            url = record.rec_headers.get_header("WARC-Target-URI")
            found.append((record.rec_type, url, record.content_stream().read()))
    assert found[0][0] == "warcinfo"
    assert found[3] == ("conversion", "http://a.example/2", b"text 2")


def test_cdxj_is_sorted_and_whole(crawl, tmp_path):
    assert export_cdxj(Index(crawl).lines(), tmp_path / "index.cdxj") == 33
    lines = (tmp_path / "index.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines) and len(lines) == 33


def test_parquet_is_read_by_duckdb_and_polars(crawl, tmp_path, monkeypatch):
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    monkeypatch.setattr("crawlerproj.documents.export_parquet.GROUP_ROWS", 7)
    assert export_parquet(all_rows(crawl), tmp_path / "out") == 32
    pages, links = (str(tmp_path / "out" / name) for name in ("pages.parquet", "links.parquet"))
    answer = duckdb.sql(
        f"select p.url, p.depth, p.time, count(*) from '{pages}' p join '{links}' l on l.source = p.url "
        "where p.duplicate_of is not null group by all"
    ).fetchall()
    ((url, depth, time, count),) = answer
    assert (url, depth, count) == ("http://a.example/7", 3, 2) and time.timestamp() == 1_700_000_000.25
    frame = polars.read_parquet(pages)
    assert frame.columns == [
        "url", "host", "time", "status", "type", "language", "title", "text", "digest", "duplicate_of",
        "depth", "link_count", "robots",
    ]
    assert frame["robots"].to_list()[6:8] == [None, "noindex, nofollow"]
    assert frame.height == 32 and frame["status"].to_list().count(404) == 1
    assert polars.read_parquet(links).columns == ["source", "target", "anchor", "rel"]


def test_a_failed_export_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), completed(tmp_path / "out") as file:
        file.write(b"half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_an_empty_archive_gives_empty_files(tmp_path):
    assert export_parquet([], tmp_path / "out") == 0
    assert export_wet([], tmp_path / "x.wet.gz") == 0
    assert gzip.decompress((tmp_path / "x.wet.gz").read_bytes() or gzip.compress(b"")) == b""
