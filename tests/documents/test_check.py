import gzip
import os

import pytest

from crawlerproj.documents.archive import Archive
from crawlerproj.documents.check import check
from crawlerproj.documents.members import walk_past_damage
from crawlerproj.documents.recovery import rebuild_index
from crawlerproj.documents.rows import Reading, rows


@pytest.fixture
def crawl(tmp_path, page):
    """A sound archive of three files."""
    archive = Archive(tmp_path, max_bytes=2_000)
    for number in range(6):
        archive.write(page(number, os.urandom(500)), request_headers=[], metadata={})
    archive.close()
    return tmp_path


def problems(directory):
    return check(directory).problems


def test_a_sound_archive_is_sound(crawl):
    done = check(crawl)
    assert done.sound and done.problems == []
    assert done.records == {"warcinfo": done.files, "response": 6, "request": 6, "metadata": 6}
    assert done.index_lines == 6


def test_a_record_that_is_not_in_the_index_is_named(crawl):
    index = crawl / "crawl-0-00000.index"
    index.write_bytes(index.read_bytes().partition(b"\n")[2])
    (problem,) = problems(crawl)
    assert "orphan" in problem and "not in the index" in problem and "crawl-0-00000.warc.gz" in problem


def test_a_line_without_a_record_is_named(crawl):
    index = crawl / "crawl-0-00000.index"
    line = index.read_bytes().partition(b"\n")[0].replace(b'"offset": "', b'"offset": "9') + b"\n"
    with index.open("ab") as file:
        file.write(line + b"garbage\n")
    first, second = problems(crawl)
    assert "an orphan, no record at 9" in first
    assert "cannot be read" in second


def test_a_lying_line_is_named(crawl):
    index = crawl / "crawl-0-00000.index"
    index.write_bytes(index.read_bytes().replace(b'"status": "200"', b'"status": "404"', 1))
    assert any("does not fit" in problem for problem in problems(crawl))


def test_flipped_bytes_are_found(crawl):
    path = crawl / "crawl-0-00000.warc.gz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert any("broken" in problem or "digest" in problem for problem in problems(crawl))


def test_a_changed_payload_is_found_by_its_digest(crawl, page):
    archive = Archive(crawl, worker="1")
    archive.write(page(9))
    archive.close()
    path = crawl / "crawl-1-00000.warc.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"hello", b"jello")))
    found = problems(crawl)  # one member now: only its first record is read
    assert found
    assert any("crawl-1" in problem for problem in found)


def test_a_cut_file_and_files_without_partner_are_named(crawl):
    path = crawl / "crawl-0-00000.warc.gz"
    path.write_bytes(path.read_bytes()[:-10])
    (crawl / "crawl-0-00001.index").unlink()
    (crawl / "crawl-7-00000.index").write_bytes(b"")
    found = "\n".join(problems(crawl))
    assert "not complete" in found
    assert "crawl-0-00001.warc.gz: has no index" in found
    assert "crawl-7-00000.index: an orphan" in found


def test_a_wrong_order_is_found(crawl):
    order = crawl / "crawl-0-00000.order"
    data = order.read_bytes()
    assert len(data) == 16 + 2 * 8
    order.write_bytes(data[:16] + data[16:24] * 2)
    assert any("is not the order" in problem for problem in problems(crawl))


@pytest.mark.parametrize("where", ["magic", "middle", "checksum"])
def test_one_broken_record_costs_no_other(tmp_path, page, where):
    archive = Archive(tmp_path)
    places = [
        archive.write(page(number, os.urandom(500)), request_headers=[], metadata={"language": f"l{number}"})
        for number in range(6)
    ]
    archive.close()
    (name, start, length), path = places[2], tmp_path / places[2][0]
    data = bytearray(path.read_bytes())
    data[start + {"magic": 0, "middle": length // 2, "checksum": length - 6}[where]] ^= 0xFF
    path.write_bytes(data)

    broken, line = problems(tmp_path)
    assert broken.startswith(f"{name}: the record at {start} is broken")
    assert f"an orphan, no record at {start}" in line

    told = []
    found = list(rows(tmp_path, lambda url, body, content_type: Reading(), told))
    assert [(row.url[-1], row.language) for row in found] == [(n, f"l{n}") for n in "01345"]
    assert told == [broken]

    told = []
    assert rebuild_index(path, told) == 5
    assert told == [broken]
    assert problems(tmp_path) == [broken]


def test_the_last_record_of_a_file_that_grows_meanwhile_is_not_damage(crawl):
    path = crawl / "crawl-0-00000.warc.gz"
    records, number = path.read_bytes(), len(list(walk_past_damage(path, [])))
    found: list[str] = []
    reading = walk_past_damage(path, found)
    next(reading)
    with path.open("ab") as file:
        file.write(records + records[:100])  # as a crawl's large write is seen half way
    assert len(list(reading)) == 2 * number - 1
    assert found == []
    list(walk_past_damage(path, found))  # it does not grow any more
    assert [problem for problem in found if "not complete" in problem] == found != []
