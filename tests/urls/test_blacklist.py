from pathlib import Path

import pytest

from crawlerproj.urls.filters import Filters, advertisements, load_blacklist


def test_a_file_names_hosts_suffixes_and_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "blacklist.txt"
    path.write_text(
        "# comment\n\nAds.Example.com # why\n.tracker.example\nhttps://a.com/ads/\nb.com/cgi-bin/\n"
    )
    filters = Filters(blacklist=load_blacklist(path))
    refused = [
        "http://ads.example.com/", "https://tracker.example/", "https://x.tracker.example:81/",
        "https://a.com/ads/1", "http://b.com/cgi-bin/x", "https://b.com/cgi-bin/x",
    ]
    assert {filters.reason(url) for url in refused} == {"blacklisted"}
    wanted = ["http://www.ads.example.com/", "https://a.com/", "http://a.com/ads/1", "https://b.com/"]
    assert {filters.reason(url) for url in wanted} == {None}


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "blacklist.txt"
    path.write_text("a.com\nftp://b.com/\n")
    with pytest.raises(ValueError, match=r"blacklist\.txt:2"):
        load_blacklist(path)


def test_the_shipped_list_names_ad_servers_only() -> None:
    listed = advertisements()
    assert listed.has_host("ad.doubleclick.net")
    assert not listed.has_host("www.google.com")
    assert not listed.has_host("www.mit.edu")
