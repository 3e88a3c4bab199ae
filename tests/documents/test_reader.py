import pytest

from crawlerproj.documents.archive import Former
from crawlerproj.documents.members import BadRecord
from crawlerproj.documents.reader import Reader
from crawlerproj.documents.records import digest


@pytest.fixture
def reader(tmp_path, archive):
    opened = Reader(tmp_path, cache_bytes=20_000)
    yield opened
    opened.close()


def settle(archive, reader):
    archive.flush_and_sync()
    reader.index.refresh()


def test_a_document_comes_back_as_it_was(archive, reader, page):
    body = bytes(range(256)) * 10 + b"\r\n\r\n"
    headers = [("Content-Type", "text/html"), ("X-Name", "é")]
    archive.write(page(1, body, headers=headers, truncated="length"))
    settle(archive, reader)
    document = reader.get("http://a.example/1")
    assert document.body == body
    assert (document.http.status, document.http.reason) == (200, "OK")
    assert document.http.header("content-type") == "text/html"
    assert document.truncated == "length"
    assert reader.get("http://a.example/2") is None


def test_what_was_noted_beside_it_is_found(archive, reader, page):
    archive.write(page(1, depth=4), request_headers=[("User-Agent", "x")], metadata={"language": "en"})
    archive.write(page(2))
    settle(archive, reader)
    first, second = reader.get("http://a.example/1"), reader.get("http://a.example/2")
    assert [record.kind for record in reader.beside(first.entry)] == ["request", "metadata"]
    assert reader.metadata(first.entry) == {"fetchTimeMs": "125", "depth": "4", "language": "en"}
    assert reader.metadata(second.entry) == {}


@pytest.mark.parametrize("status, body", [(200, b"<p>hello</p>"), (304, b"")])
def test_a_revisit_gives_the_former_body(archive, reader, page, status, body):
    archive.write(page(1))
    archive.write(page(1, b"between", fetched_at=1_700_000_100.0))
    former = Former("http://a.example/1", 1_700_000_000.25, digest(b"<p>hello</p>"))
    archive.write(page(1, body, status=status, fetched_at=1_700_000_200.0), former=former)
    settle(archive, reader)
    document = reader.get("http://a.example/1")
    assert document.entry.is_revisit
    assert (document.body, document.http.status, document.is_complete) == (b"<p>hello</p>", status, True)


def test_a_bare_304_means_the_last_capture_and_a_lonely_one_nothing(archive, reader, page):
    archive.write(page(1))
    archive.write(page(1, b"", status=304, fetched_at=1_700_000_200.0))
    archive.write(page(2, b"", status=304))
    settle(archive, reader)
    assert reader.get("http://a.example/1").body == b"<p>hello</p>"
    assert not reader.get("http://a.example/2").is_complete


def test_popular_documents_stay_in_memory_within_the_bound(archive, reader, page):
    for number in range(30):
        archive.write(page(number, bytes(1_000)))
    settle(archive, reader)
    for number in range(30):
        first = reader.get("http://a.example/0")
        reader.get(f"http://a.example/{number}")
        assert reader.get("http://a.example/0") is first
        assert reader._cached_bytes <= 20_000
    assert len(reader._cached) < 10


def test_an_index_that_lies_is_named(archive, reader, page, tmp_path):
    archive.write(page(1))
    settle(archive, reader)
    entry = reader.index.find("http://a.example/1")
    path = tmp_path / entry.filename
    path.write_bytes(path.read_bytes()[: entry.offset + 20])
    with pytest.raises(BadRecord, match="no record of"):
        reader.document(entry)
