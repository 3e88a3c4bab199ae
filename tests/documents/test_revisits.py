"""A payload that is stored already becomes a revisit, which every reader follows."""

import gzip
import io

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator

from crawlerproj.documents.archive import Archive
from crawlerproj.documents.check import check
from crawlerproj.documents.payloads import LEAST_BYTES, Payloads
from crawlerproj.documents.reader import Reader
from crawlerproj.documents.rows import Reading, rows
from crawlerproj.documents.tables import MemoryTables

BODY = b"<p>" + b"the same bytes " * 40 + b"</p>"
FIRST = "http://a.example/first"


@pytest.fixture
def tables():
    return MemoryTables()


@pytest.fixture
def write(tmp_path, tables, page):
    """Writes pages into one archive after the other: `write({...}, {...})`."""

    def make(*pages):
        archive = Archive(tmp_path, payloads=Payloads(tables))
        for fields in pages:
            archive.write(page(**{"url": FIRST, "body": BODY, **fields}), metadata={})
        archive.close()
        return tmp_path

    return make


def kinds(directory):
    data = b"".join(path.read_bytes() for path in sorted(directory.glob("*.warc.gz")))
    records = ArchiveIterator(io.BytesIO(data), check_digests="raise")
    return [(r.rec_type, r.rec_headers.get_header("WARC-Refers-To-Target-URI")) for r in records
            if r.raw_stream.read() is not None and r.rec_type in ("response", "revisit")]


def test_a_copy_and_a_later_version_with_the_same_bytes_are_revisits_of_the_first(write):
    directory = write({}, {"url": "http://b.example/copy"}, {"fetched_at": 1_700_086_400.0},
                      {"fetched_at": 1_700_172_800.0, "body": BODY + b"changed"})
    assert kinds(directory) == [
        ("response", None), ("revisit", FIRST), ("revisit", FIRST), ("response", None)]


def test_revisits_go_on_after_a_restart(write):
    write({})
    assert kinds(write({"url": "http://b.example/copy"})) == [("response", None), ("revisit", FIRST)]


@pytest.mark.parametrize("fields", [
    {"status": 404}, {"truncated": "length"}, {"body": b"x" * (LEAST_BYTES - 1)}, {"body": b""},
])
def test_errors_cut_bodies_and_short_ones_are_kept_as_they_came(write, fields):
    directory = write(fields, {**fields, "url": "http://b.example/copy"})
    assert [kind for kind, _ in kinds(directory)] == ["response", "response"]


def test_the_profile_digest_and_date_are_those_of_the_first(write, page):
    directory = write({}, {"url": "http://b.example/copy", "fetched_at": 1_700_086_400.0})
    (path,) = directory.glob("*.warc.gz")
    with path.open("rb") as file:
        found = [dict(record.headers.items()) | {"good": record.verify_block_digest()}
                 for record in FastIterator(file, record_types=WarcRecordType.any_type, parse_http=False)
                 if record.headers["WARC-Type"] in ("response", "revisit")]
    first, second = found
    assert first["good"] and second["good"]
    assert second["WARC-Profile"].endswith("identical-payload-digest")
    assert second["WARC-Payload-Digest"] == first["WARC-Payload-Digest"]
    assert second["WARC-Refers-To-Date"] == first["WARC-Date"]


def test_the_reader_follows_a_revisit_and_rows_say_what_a_copy_says(write):
    copy = "http://b.example/copy"
    directory = write({}, {"url": copy}, {"fetched_at": 1_700_086_400.0})
    reader = Reader(directory)
    assert reader.get(copy).body == BODY == reader.get(FIRST).body
    found = rows(directory, lambda url, body, kind: Reading(text=str(len(body))), [])
    texts = [(row.url, row.text) for row in found]
    assert texts == [(FIRST, str(len(BODY))), (copy, str(len(BODY))), (FIRST, "")]


def test_check_names_a_revisit_whose_payload_is_gone(write):
    directory = write({}, {"url": "http://b.example/copy"})
    assert check(directory).sound
    (path,) = directory.glob("*.warc.gz")
    data, members = path.read_bytes(), []
    while data:
        end = data.find(b"\x1f\x8b\x08", 1)
        member, data = (data[:end], data[end:]) if end > 0 else (data, b"")
        members.append(member)
    kept = [member for member in members if b"WARC-Type: response" not in gzip.decompress(member)]
    path.write_bytes(b"".join(kept))
    (directory / path.name.replace(".warc.gz", ".index")).write_bytes(b"")
    assert any("an orphan, the payload of" in problem for problem in check(directory).problems)
