"""What a crawl finds when it opens its files again."""

import os

import pytest
from scrapy.settings import Settings

from crawlerproj.items import Link, Page
from crawlerproj.opening import open_state


def opened(directory):
    return open_state(Settings(), directory, "web", "spelling", "software")


@pytest.mark.parametrize("missing", [0, 5])
def test_committed_bytes_that_a_disk_has_lost_are_told_of_archive_and_links(tmp_path, caplog, missing):
    state = opened(tmp_path)
    archive, edge_log = state.open_archive(Settings(), "software"), state.open_edge_log()
    page = Page("http://a.example/", 200, [("Content-Type", "text/html")], b"<p>hello", 1.0, 0.1)
    archive.write(page, metadata={})
    edge_log.append("http://a.example/", [Link("http://b.example/")], 1.0)
    lengths = {f"{place}/{name}": length for place, files in (("warc", archive), ("edges", edge_log))
               for name, length in files.lengths().items()}
    archive.close(), edge_log.close()
    state.storage.write(state.storage.seal(lengths), lambda: None)
    state.close()
    assert {name.partition("/")[0] for name in lengths} == {"warc", "edges"}
    for name, length in lengths.items():
        os.truncate(tmp_path / name, length - missing)

    state = opened(tmp_path)
    archive, edge_log = state.open_archive(Settings(), "software"), state.open_edge_log()
    archive.close(), edge_log.close(), state.close()

    told = [record.getMessage() for record in caplog.records if "committed bytes are missing" in record.msg]
    assert len(told) == (2 if missing else 0)
    assert all(any(name.partition("/")[2] in each for each in told) for name in lengths if missing)
