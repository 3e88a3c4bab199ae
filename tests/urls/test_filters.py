import pytest

from crawlerproj.urls.filters import DOCUMENT_TYPES, Filters


@pytest.mark.parametrize(
    ("arguments", "url", "reason"),
    [
        ({}, "https://example.com/", None),
        ({}, "ftp://example.com/", "scheme"),
        ({}, "https://example.com/" + "a" * 2000, "too_long"),
        ({"max_length": 0}, "https://example.com/" + "a" * 9000, None),
        ({}, "https://example.com/a.JPG?x=1", "extension"),
        ({}, "https://example.com/a.php?x=b.jpg", None),
        ({}, "https://example.com/a.pdf", None),
        ({}, "https://example.zip/", None),
        ({"extensions": ()}, "https://example.com/a.jpg", None),
        ({"domains": ["edu"]}, "https://www.mit.edu:8080/", None),
        ({"domains": [".MIT.edu"]}, "https://mit.edu/", None),
        ({"domains": ["mit.edu"]}, "https://notmit.edu/", "domain"),
        ({"domains": ["bücher.de"]}, "https://www.xn--bcher-kva.de/", None),
        ({"domains": ["edu"], "exclude_domains": ["mit.edu"]}, "https://a.mit.edu/", "excluded_domain"),
        ({"deny": [r"/private/"]}, "https://a.com/private/x", "denied"),
        ({"allow": [r"/news/", r"/blog/"]}, "https://a.com/blog/x", None),
        ({"allow": [r"/news/"]}, "https://a.com/blog/x", "not_allowed"),
        ({"allow": [r"/news/"], "deny": ["x$"]}, "https://a.com/news/x", "denied"),
    ],
)
def test_a_url_is_wanted_or_has_a_reason(arguments: dict, url: str, reason: str | None) -> None:
    filters = Filters(**arguments)
    assert filters.reason(url) == reason
    assert filters.reason(url) == reason  # from the host cache


def test_depth_is_limited_only_on_request() -> None:
    assert Filters().reason("https://a.com/", depth=10_000) is None
    assert Filters(depth_limit=2).reason("https://a.com/", depth=2) is None
    assert Filters(depth_limit=2).reason("https://a.com/", depth=3) == "too_deep"


@pytest.mark.parametrize("argument", ["allow", "deny"])
def test_a_bad_expression_is_named_with_its_remedy(argument: str) -> None:
    with pytest.raises(ValueError, match=rf"{argument}: '\(unclosed'.*backslash"):
        Filters(**{argument: ["(unclosed"]})


def test_a_ban_takes_effect_at_once() -> None:
    filters = Filters()
    assert filters.reason("https://a.com/x") is None
    filters.ban("a.com")
    assert filters.reason("https://a.com/x") == "blacklisted"
    assert filters.reason("https://b.a.com/x") is None
    filters.ban("https://b.a.com/x")
    assert filters.reason("https://b.a.com/xy") == "blacklisted"
    assert filters.reason("https://b.a.com/y") is None


def test_content_types_are_all_welcome_unless_listed() -> None:
    assert Filters().content_type_reason("image/png") is None
    filters = Filters(content_types=DOCUMENT_TYPES)
    assert filters.content_type_reason("Text/HTML; charset=utf-8") is None
    assert filters.content_type_reason("application/pdf") is None
    assert filters.content_type_reason("") is None
    assert filters.content_type_reason("image/png") == "content_type"
