import pytest

from crawlerproj.parse.directives import Directives, forbids_index, moment, withholds

NEW_YEAR_2030 = 1_893_456_000.0


def headers(*values, agent="ourbot"):
    directives = Directives(agent)
    directives.read_headers(values)
    return directives


def wishes(directives):
    return {
        name
        for name in ("noindex", "nofollow", "noarchive", "unavailable_after")
        if getattr(directives, name)
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("noindex", {"noindex"}),
        ("NOINDEX, NoFollow", {"noindex", "nofollow"}),
        ("none", {"noindex", "nofollow"}),
        ("noarchive", {"noarchive"}),
        ("max-snippet: 20, noindex", {"noindex"}),
        ("googlebot: noindex, nofollow", set()),
        ("googlebot: noindex, ourbot: nofollow", {"nofollow"}),
        ("OurBot: noindex", {"noindex"}),
        ("all", set()),
        ("", set()),
        (":,:,", set()),
        ("unavailable_after: Tue, 01 Jan 2030 00:00:00 GMT, nofollow", {"unavailable_after", "nofollow"}),
        ("ourbot: unavailable_after: 01 Jan 2030 00:00:00 GMT", {"unavailable_after"}),
    ],
)
def test_header_rules(value, expected):
    assert wishes(headers(value)) == expected


@pytest.mark.parametrize("value, told", [
    ("none", "noindex, nofollow"), ("noarchive", "noarchive"), ("all", ""),
    ("unavailable_after: 01 Jan 2030 00:00:00 GMT, nofollow",
     "nofollow, unavailable_after: 2030-01-01T00:00:00+00:00"),
])
def test_wishes_are_told_in_a_line_that_can_be_read_again(value, told):
    directives = headers(value)
    assert directives.told() == told
    again = Directives()
    again.read_meta("robots", told)
    assert again.told() == told
    assert withholds(told, NEW_YEAR_2030) == (directives.noindex or "unavailable" in told)
    assert withholds(told, NEW_YEAR_2030 - 1) == directives.noindex


def test_each_header_begins_with_rules_for_all():
    assert wishes(headers("googlebot: noindex", "nofollow")) == {"nofollow"}


def test_meta_elements_for_us_and_for_all_add_up():
    directives = Directives("ourbot")
    directives.read_meta("robots", "noindex")
    directives.read_meta("OURBOT", "nofollow")
    directives.read_meta("googlebot", "noarchive")
    assert wishes(directives) == {"noindex", "nofollow"}


def test_without_a_name_only_rules_for_all_count():
    directives = Directives()
    directives.read_meta("", "noindex")
    directives.read_meta("ourbot", "noindex")
    assert wishes(directives) == set()


@pytest.mark.parametrize(
    "date",
    ["Tue, 01 Jan 2030 00:00:00 GMT", "01 Jan 2030 00:00:00 GMT", "Tuesday, 01-Jan-30 00:00:00 GMT",
     "2030-01-01T00:00:00+00:00", "2030-01-01", "31 Dec 2029 16:00:00 PST"],
)  # fmt: skip
def test_dates_of_every_kind(date):
    assert moment(date) == NEW_YEAR_2030


@pytest.mark.parametrize("date", ["", "soon", "99 Foo 9999", "0", "9" * 50, "2030-99-99"])
def test_what_is_no_date_forbids_nothing(date):
    assert headers(f"unavailable_after: {date}").unavailable_after == 0


def test_the_earliest_end_counts():
    directives = headers("unavailable_after: 2031-01-01", "unavailable_after: 2030-01-01")
    assert directives.unavailable_after == NEW_YEAR_2030


def test_a_page_is_forbidden_once_its_time_has_come():
    assert not forbids_index(False, NEW_YEAR_2030, NEW_YEAR_2030 - 1)
    assert forbids_index(False, NEW_YEAR_2030, NEW_YEAR_2030)
    assert forbids_index(True, 0.0, 0.0)
    assert not forbids_index(False, 0.0, 1e12)
