import os
import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.documents import cdx
from crawlerproj.documents.archive import Archive, recover
from crawlerproj.documents.index import Index
from crawlerproj.documents.recovery import fit_index, rebuild_index

FIRST = "crawl-0-00000.warc.gz"


def test_a_line_is_cdxj(archive, page, tmp_path):
    name, offset, length = archive.write(page(url="http://www.a.example/B?x=1"))
    archive.flush_and_sync()
    (entry,) = Index(tmp_path).entries()
    assert (entry.key, entry.timestamp, entry.url) == (
        "example,a)/b?x=1", "20231114221320", "http://www.a.example/B?x=1",
    )
    assert (entry.filename, entry.offset, entry.length) == (name, offset, length)
    assert (entry.mime, entry.status, entry.digest[:5]) == ("text/html", 200, "sha1:")
    assert entry.line() == next(Index(tmp_path).lines())


@given(st.text(), st.text())
def test_any_url_and_type_make_one_line(path, mime):
    url = f"http://a.example/{path}"
    line = cdx.encode(url, "20240101000000", mime, 200, "sha1:X", "f.warc.gz", 1, 2)
    entry = cdx.decode(line)
    assert line.count(b"\n") == 1 and len(line.splitlines()) == 1
    assert (entry.url, entry.mime, entry.line()) == (url, mime, line)


@pytest.mark.parametrize("line", [b"", b"a b", b"a 2 {}", b"a 2 []", b"a 2 {\"url\": 1}", b"\xff\xfe a {}"])
def test_what_is_no_line_is_refused(line):
    with pytest.raises(ValueError):
        cdx.decode(line)


@pytest.mark.parametrize("text", ["20", "2024-01-01", "now", "202401010000000"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="14 digits"):
        cdx.seconds(text)
    assert cdx.seconds("2024") == cdx.seconds("20240101000000") == 1_704_067_200


def test_all_records_are_found_over_many_files_in_sorted_order(page, tmp_path):
    archive = Archive(tmp_path, max_bytes=4_000)
    numbers = list(range(100))
    random.Random(1).shuffle(numbers)
    for number in numbers:
        archive.write(page(number, os.urandom(200)), metadata={})
    archive.close()
    assert len(list(tmp_path.glob("*.warc.gz"))) > 5
    # All but the last file are complete and have their order on disk.
    assert len(list(tmp_path.glob("*.order"))) == len(list(tmp_path.glob("*.index"))) - 1
    index = Index(tmp_path)
    lines = list(index.lines())
    assert lines == sorted(lines) and len(lines) == 100
    for number in numbers:
        assert index.find(f"http://a.example/{number}").url == f"http://a.example/{number}"
    assert index.find("http://a.example/none") is None
    assert len(list(index.lines("example,a)/1"))) == 11
    assert list(index.lines("zz")) == []


def test_versions_are_in_order_and_the_nearest_is_found(archive, page, tmp_path):
    for day in (3, 1, 2):
        archive.write(page(1, b"%d" % day, fetched_at=day * 86_400.0))
    archive.write(page(1, b"gone", status=404, fetched_at=9 * 86_400.0))
    archive.flush_and_sync()
    index = Index(tmp_path)
    url = "http://a.example/1"
    assert [entry.at / 86_400 for entry in index.versions(url)] == [1, 2, 3, 9]
    assert index.find(url).at == 3 * 86_400  # an error is no newer version
    assert index.find(url, 2.2 * 86_400).at == 2 * 86_400


def test_spellings_that_share_a_key_are_told_apart(archive, page, tmp_path):
    archive.write(page(url="http://a.example/x", body=b"plain"))
    archive.write(page(url="https://www.a.example/x", body=b"secure"))
    archive.flush_and_sync()
    index = Index(tmp_path)
    assert [entry.url for entry in index.versions("http://a.example/x")] == ["http://a.example/x"]
    assert len(index.versions("http://www.a.example/x")) == 2


def test_a_growing_archive_is_followed(archive, page, tmp_path):
    index = Index(tmp_path)
    for number in range(10):
        archive.write(page(number))
        archive.flush_and_sync(sync=False)
        index.refresh()
        assert index.find(f"http://a.example/{number}") is not None


def test_an_index_never_names_a_record_that_is_not_on_disk(page, tmp_path):
    archive = Archive(tmp_path, max_bytes=100_000)
    ended = threading.Event()

    def write():
        for number in range(2_000):
            archive.write(page(number, os.urandom(100)))
        ended.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not ended.is_set():
        archive.flush_and_sync(sync=False)
        ends = {}
        for entry in Index(tmp_path).entries():
            ends[entry.filename] = max(entry.end, ends.get(entry.filename, 0))
        assert all((tmp_path / name).stat().st_size >= end for name, end in ends.items())
    thread.join()
    archive.close()
    assert sum(1 for _ in Index(tmp_path).lines()) == 2_000


def test_recovery_fits_the_index_to_the_committed_length(archive, page, tmp_path):
    for number in range(5):
        archive.write(page(number), metadata={})
    committed = archive.lengths()
    for number in range(5, 9):
        archive.write(page(number), metadata={})
    archive.close()
    recover(tmp_path, committed)
    assert [entry.url for entry in Index(tmp_path).entries()] == [f"http://a.example/{n}" for n in range(5)]


def test_an_index_cut_at_any_byte_is_completed_from_the_records(archive, page, tmp_path):
    for number in range(3):
        archive.write(page(number), metadata={})
    committed = archive.lengths()
    archive.close()
    path = tmp_path / "crawl-0-00000.index"
    data = path.read_bytes()
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        recover(tmp_path, committed)
        assert path.read_bytes() == data
    path.unlink()
    recover(tmp_path, committed)
    assert path.read_bytes() == data
    path.write_bytes(b"no index at all\n" * 10_000)
    assert fit_index(tmp_path / FIRST) == 3
    assert path.read_bytes() == data


def test_an_index_far_too_long_is_cut_where_it_begins_to_lie(archive, page, tmp_path):
    for number in range(10):
        archive.write(page(number))
    committed = archive.lengths()
    for number in range(10, 1_000):
        archive.write(page(number))
    archive.close()
    recover(tmp_path, committed)
    assert len(list(Index(tmp_path).lines())) == 10


def test_an_order_that_does_not_fit_is_ignored(page, tmp_path):
    archive = Archive(tmp_path, max_bytes=1_000)
    for number in range(20):
        archive.write(page(number, os.urandom(100)))
    committed = archive.lengths()
    archive.close()
    recover(tmp_path, committed)
    before = list(Index(tmp_path).lines())
    order = tmp_path / "crawl-0-00000.order"
    order.write_bytes(b"CDXORDR1" + bytes(8))
    assert list(Index(tmp_path).lines()) == before


def test_an_index_can_be_made_for_an_archive_that_came_without(archive, page, tmp_path):
    for number in range(5):
        archive.write(page(number), request_headers=[], metadata={})
    archive.write(page(6, b"", status=304))
    archive.close()
    path = tmp_path / "crawl-0-00000.index"
    data = path.read_bytes()
    path.unlink()
    assert rebuild_index(tmp_path / FIRST, []) == 6
    assert path.read_bytes() == data


def test_no_directory_is_no_archive(tmp_path):
    with pytest.raises(FileNotFoundError, match="no archive"):
        Index(tmp_path / "nothing")
