import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.documents.fingerprint import SCHEME
from crawlerproj.documents.known_pages import (
    DIGEST_BYTES,
    LINKS_BYTES,
    KnownPage,
    KnownPages,
    decode,
    encode,
)
from crawlerproj.documents.near_duplicates import ID_BYTES
from crawlerproj.documents.tables import MemoryTables

ID = b"i" * ID_BYTES


def known(url="http://a.example/x", signature=b"s" * 64, duplicate_of=b""):
    return KnownPage(url, b"d" * DIGEST_BYTES, b"l" * LINKS_BYTES, signature, duplicate_of)


BEGINNINGS = st.sampled_from(["", "http://", "https://", "http://www.", "https://www."])


@given(
    st.builds(str.__add__, BEGINNINGS, st.text()), st.binary(max_size=400), st.sampled_from([b"", ID]),
)
def test_what_was_written_is_read(url, signature, duplicate_of):
    page = known(url, signature, duplicate_of)
    assert decode(encode(page)) == page


@pytest.mark.parametrize("url", ["http://www.a.example/x", "https://www.a.example/x"])
def test_a_row_is_hardly_longer_than_what_it_holds(url):
    assert len(encode(known(url))) == 64 + DIGEST_BYTES + LINKS_BYTES + len("a.example/x") + 4


def test_rows_of_another_scheme_are_as_good_as_none():
    tables = MemoryTables()
    pages = KnownPages(tables)
    pages.put(ID, known())
    assert pages.get(ID) == known()
    tables.put(*pages.row(ID), bytes([SCHEME - 1]) + encode(known())[1:])
    assert pages.get(ID) is None
    pages.delete(ID)
    assert tables.rows == {}
