import pytest

from crawlerproj.documents.archive import Archive
from crawlerproj.items import Page


def _page(number=1, body=b"<p>hello</p>", **fields):
    values = {
        "url": f"http://a.example/{number}", "status": 200, "reason": "OK", "body": body,
        "headers": [("Content-Type", "text/html; charset=utf-8")], "fetched_at": 1_700_000_000.25,
        "fetch_seconds": 0.125,
    }
    return Page(**(values | fields))


@pytest.fixture(scope="session")
def page():
    """Makes a page; every field can be given."""
    return _page


@pytest.fixture
def archive(tmp_path):
    opened = Archive(tmp_path)
    yield opened
    opened.close()
