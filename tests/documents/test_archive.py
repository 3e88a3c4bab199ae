import gzip
import io
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.documents import archive as archive_module
from crawlerproj.documents.archive import Archive, recover
from crawlerproj.items import Page

FIRST = "crawl-0-00000.warc.gz"


def page(number=1, body=b"<p>hello</p>", **fields):
    values = {
        "url": f"http://a.example/{number}", "status": 200, "reason": "OK", "body": body,
        "headers": [("Content-Type", "text/html")], "fetched_at": 1_700_000_000.25, "fetch_seconds": 0.1,
    }
    return Page(**(values | fields))


def read(data):
    """Every record as warcio sees it: (type, WARC headers, HTTP headers, payload), digests checked."""
    found = []
    records = ArchiveIterator(io.BytesIO(data), check_digests="raise")
    for record in records:
        payload = record.raw_stream.read()
        found.append((record.rec_type, record.rec_headers, record.http_headers, payload))
    return found


def types(data):
    return [record[0] for record in read(data)]


@pytest.fixture
def archive(tmp_path):
    opened = Archive(tmp_path)
    yield opened
    opened.close()


def test_a_record_says_what_was_received(archive, tmp_path):
    archive.write(page(status=404, reason="Not Found", ip_address="192.0.2.1", truncated="length"))
    archive.flush_and_sync()
    info, response = read((tmp_path / FIRST).read_bytes())
    assert info[0] == "warcinfo"
    kind, warc, http, payload = response
    assert (kind, payload) == ("response", b"<p>hello</p>")
    assert http.statusline == "404 Not Found"
    assert warc.get_header("WARC-Target-URI") == "http://a.example/1"
    assert warc.get_header("WARC-Date") == "2023-11-14T22:13:20.250000Z"
    assert warc.get_header("WARC-IP-Address") == "192.0.2.1"
    assert warc.get_header("WARC-Truncated") == "length"
    assert warc.get_header("Content-Type") == "application/http;msgtype=response"
    assert warc.get_header("WARC-Payload-Digest") and warc.get_header("WARC-Block-Digest")
    assert warc.get_header("WARC-Warcinfo-ID") == info[1].get_header("WARC-Record-ID")


def test_codings_taken_off_are_renamed(archive, tmp_path):
    headers = [("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"), ("Content-Length", "5")]
    archive.write(page(headers=headers))
    archive.write(page(headers=headers[:1]), decoded=False)
    archive.flush_and_sync()
    _, decoded, coded = read((tmp_path / FIRST).read_bytes())
    assert decoded[2].headers == [(f"X-Archive-Orig-{name}", value) for name, value in headers]
    assert coded[2].headers == headers[:1]


def test_not_modified_is_a_revisit_and_requests_are_kept(archive, tmp_path):
    archive.write(page(status=304, reason="Not Modified", body=b""), request_headers=[("User-Agent", "x")])
    archive.flush_and_sync()
    assert types((tmp_path / FIRST).read_bytes()) == ["warcinfo", "revisit", "request"]


def test_line_breaks_cannot_forge_headers(archive, tmp_path):
    archive.write(page(reason="OK\r\nX: y", headers=[("A", "b\r\n\r\nc")], ip_address="1\r\nWARC-Type: x"))
    archive.flush_and_sync()
    assert read((tmp_path / FIRST).read_bytes())[1][3] == b"<p>hello</p>"


@given(st.lists(st.tuples(st.binary(max_size=300), st.text(max_size=20)), max_size=6))
def test_any_body_and_header_is_read_back_to_the_last_byte(tmp_path_factory, responses):
    directory = tmp_path_factory.mktemp("warc")
    archive = Archive(directory)
    for body, value in responses:
        archive.write(page(body=body, headers=[("X-Text", value)]))
    archive.close()
    assert [record[3] for record in read((directory / FIRST).read_bytes())[1:]] == [b for b, _ in responses]


def test_each_record_is_found_by_offset_and_length(archive, tmp_path):
    places = [archive.write(page(number, os.urandom(100 * number))) for number in range(20)]
    archive.flush_and_sync()
    for number, (name, offset, length) in enumerate(places):
        data = (tmp_path / name).read_bytes()[offset : offset + length]
        (record,) = read(data)
        assert record[1].get_header("WARC-Target-URI") == f"http://a.example/{number}"
        assert gzip.decompress(data).endswith(b"\r\n\r\n")


def test_lengths_count_waiting_bytes_and_only_touched_files(archive, tmp_path):
    name, offset, length = archive.write(page())
    assert archive.lengths() == {name: offset + length}
    assert (tmp_path / name).stat().st_size == 0
    assert archive.lengths() == {}
    archive.flush_and_sync(sync=False)
    assert (tmp_path / name).stat().st_size == offset + length


def test_files_rotate_by_size_and_each_begins_with_warcinfo(tmp_path):
    archive = Archive(tmp_path, worker="w7", max_bytes=1_000)
    names = [archive.write(page(n, os.urandom(400)))[0] for n in range(4)]
    lengths = archive.lengths()
    archive.close()
    assert names == [f"crawl-w7-{number:05d}.warc.gz" for number in range(4)]
    for name in set(names):
        data = (tmp_path / name).read_bytes()
        assert len(data) == lengths[name]
        assert types(data)[:2] == ["warcinfo", "response"]


def test_recovery_cuts_to_the_committed_length_and_deletes_what_was_not_committed(tmp_path):
    archive = Archive(tmp_path, max_bytes=1_000)
    archive.write(page(1))
    committed = archive.lengths()
    while not (tmp_path / "crawl-0-00001.warc.gz").exists():
        archive.write(page(2, os.urandom(300)))
    archive.close()
    (tmp_path / "crawl-1-00000.warc.gz").write_bytes(b"another worker's")
    size = (tmp_path / FIRST).stat().st_size
    done = recover(tmp_path, committed)
    assert done.cut == {FIRST: size - committed[FIRST]}
    assert list(done.deleted) == ["crawl-0-00001.warc.gz"]
    assert sorted(os.listdir(tmp_path)) == ["crawl-0-00000.index", FIRST, "crawl-1-00000.warc.gz"]
    assert types((tmp_path / FIRST).read_bytes()) == ["warcinfo", "response"]


def test_numbering_and_appending_continue_after_recovery(tmp_path):
    first = Archive(tmp_path)
    first.write(page(1))
    committed = first.lengths()
    first.close()
    recover(tmp_path, committed)
    second = Archive(tmp_path)
    name, offset, _ = second.write(page(2))
    second.close()
    assert (name, offset) == (FIRST, committed[FIRST])
    third = Archive(tmp_path, max_bytes=10)
    assert third.write(page(3))[0] == "crawl-0-00001.warc.gz"
    third.close()
    assert types((tmp_path / FIRST).read_bytes()) == ["warcinfo", "response", "response"]


def test_a_kill_at_any_byte_of_the_last_record_leaves_a_clean_file(tmp_path):
    archive = Archive(tmp_path)
    archive.write(page(1))
    committed = archive.lengths()
    archive.write(page(2))
    end = archive.lengths()
    archive.close()
    data = (tmp_path / FIRST).read_bytes()
    for size in range(committed[FIRST], len(data)):
        # Killed before the commit, then: the disk lost what was committed.
        for promised in (committed, end):
            (tmp_path / FIRST).write_bytes(data[:size])
            done = recover(tmp_path, promised)
            assert (tmp_path / FIRST).read_bytes() == data[: committed[FIRST]]
            assert bool(done.short) == (promised is end)


def test_a_full_disk_raises_and_nothing_is_lost_when_there_is_room_again(archive, tmp_path, monkeypatch):
    archive.write(page(1))
    write = os.write

    def half(descriptor, data):
        monkeypatch.setattr(os, "write", full)
        return write(descriptor, bytes(data[: len(data) // 2]))

    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space"):
        archive.flush_and_sync()
    archive.write(page(2))
    monkeypatch.setattr(os, "write", write)
    archive.flush_and_sync()
    assert types((tmp_path / FIRST).read_bytes()) == ["warcinfo", "response", "response"]


def test_flushing_in_a_thread_while_appending_keeps_every_record(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "MAX_BUFFER", 5_000)
    archive = Archive(tmp_path, max_bytes=50_000)
    ended = threading.Event()

    def flush():
        while not ended.is_set():
            archive.flush_and_sync(sync=False)

    thread = threading.Thread(target=flush)
    thread.start()
    places = [archive.write(page(n, os.urandom(500))) for n in range(500)]
    ended.set()
    thread.join()
    archive.close()
    for number, (name, offset, length) in enumerate(places):
        (record,) = read((tmp_path / name).read_bytes()[offset : offset + length])
        assert record[1].get_header("WARC-Target-URI") == f"http://a.example/{number}"
