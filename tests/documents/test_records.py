"""What one fetch leaves in the archive, as warcio reads it."""

import base64
import hashlib
import io
import uuid

from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.documents.archive import Former
from crawlerproj.documents.records import digest, new_id

FIRST = "crawl-0-00000.warc.gz"


def records(tmp_path):
    """Every record but the warcinfo: (type, field getter, block or payload)."""
    data = io.BytesIO((tmp_path / FIRST).read_bytes())
    found = []
    for record in ArchiveIterator(data, check_digests="raise"):
        content = record.raw_stream.read()
        found.append((record.rec_type, record.rec_headers.get_header, content))
    return found[1:]


def test_request_and_metadata_name_their_response(archive, page, tmp_path):
    archive.write(
        page(encoding="utf-8", depth=3, protocol="HTTP/2"),
        request_headers=[("User-Agent", "x")],
        metadata={"outcome": "done", "language": "en", "duplicate_of": "", "title": "a\r\nb: c"},
    )
    archive.flush_and_sync()
    response, request, metadata = records(tmp_path)
    assert [record[0] for record in (response, request, metadata)] == ["response", "request", "metadata"]
    for _, field, _ in (request, metadata):
        assert field("WARC-Concurrent-To") == response[1]("WARC-Record-ID")
        assert field("WARC-Target-URI") == "http://a.example/1"
    assert response[1]("WARC-Protocol") == "h2"
    assert metadata[1]("Content-Type") == "application/warc-fields"
    assert metadata[2].decode().splitlines() == [
        "fetchTimeMs: 125", "encoding: utf-8", "depth: 3", "outcome: done", "language: en", "title: a b: c",
    ]


def test_a_payload_that_came_again_is_a_revisit(archive, page, tmp_path):
    former = Former("http://a.example/1", 1_700_000_000.25, digest(b"<p>hello</p>"))
    archive.write(page(1))
    archive.write(page(1, fetched_at=1_700_009_000.0), former=former)
    archive.write(page(1, b"changed", fetched_at=1_700_010_000.0), former=former)
    archive.flush_and_sync()
    first, again, changed = records(tmp_path)
    assert [record[0] for record in (first, again, changed)] == ["response", "revisit", "response"]
    assert again[2] == b""
    assert again[1]("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert again[1]("WARC-Payload-Digest") == first[1]("WARC-Payload-Digest")
    assert again[1]("WARC-Refers-To-Target-URI") == "http://a.example/1"
    assert again[1]("WARC-Refers-To-Date") == first[1]("WARC-Date")


def test_a_304_refers_to_what_was_not_modified(archive, page, tmp_path):
    former = Former("http://a.example/1", 1_700_000_000.25, digest(b"<p>hello</p>"))
    archive.write(page(1, b"", status=304, reason="Not Modified"), former=former)
    archive.flush_and_sync()
    ((kind, field, _),) = records(tmp_path)
    assert kind == "revisit"
    assert field("WARC-Profile").endswith("/server-not-modified")
    assert field("WARC-Refers-To-Date") == "2023-11-14T22:13:20.250000Z"
    assert field("WARC-Payload-Digest") == former.digest


def test_empty_bodies_are_never_revisits(archive, page, tmp_path):
    archive.write(page(1, b""), former=Former("http://a.example/0", 1.0, digest(b"")))
    archive.flush_and_sync()
    assert records(tmp_path)[0][0] == "response"


def test_a_cut_body_says_why(archive, page, tmp_path):
    for reason in ("length", "time", "disconnect", "nonsense"):
        archive.write(page(truncated=reason))
    archive.flush_and_sync()
    reasons = [field("WARC-Truncated") for _, field, _ in records(tmp_path)]
    assert reasons == ["length", "time", "disconnect", "unspecified"]


@given(st.binary(max_size=100))
def test_digests_are_base_32_of_sha1(data):
    assert digest(data) == "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def test_record_ids_are_random_uuids():
    made = {uuid.UUID(new_id().removeprefix("<urn:uuid:").removesuffix(">")) for _ in range(200)}
    assert len(made) == 200
    assert {(each.version, each.variant) for each in made} == {(4, uuid.RFC_4122)}
