"""Parameters whose new values yield nothing are found by what they yield, not by their names."""

from __future__ import annotations

import pytest

from crawlerproj.documents.parameter_yield import PATIENCE, SELF_FEEDING, ParameterYield
from crawlerproj.documents.path_families import PathFamilies, path_family
from crawlerproj.documents.tables import MemoryTables
from crawlerproj.items import Candidate

SHOP = "http://shop.example/goods.html"
ENOUGH = -(-PATIENCE // SELF_FEEDING)


class Shop:
    """Pages with texts of their own and copies; every link that a page showed was offered."""

    def __init__(self) -> None:
        self.offered: set[str] = set()
        self.tables = MemoryTables()
        self.yields = ParameterYield(self.tables, path_family, self.never_offered)

    def never_offered(self, urls: list[str]) -> set[str]:
        return set(urls) - self.offered

    def new(self, query: str, *links: str) -> None:
        self.yields.fresh(f"{SHOP}?{query}")
        self.offered |= {f"{SHOP}?{query}", *links}

    def copy(self, query: str, *links: str) -> None:
        self.yields.led_to(f"{SHOP}?{query}", sorted(self.never_offered([*links])))
        self.offered |= {f"{SHOP}?{query}", *links}

    def idle(self, query: str) -> list[str]:
        return self.yields.idle(f"{SHOP}?{query}")


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_values_that_yield_nothing_are_refused_where_another_was_fetched(shop):
    shop.new("id=1")
    for number in range(PATIENCE):
        assert shop.idle(f"id=1&x={number}") == []
        shop.copy(f"id=1&x={number}")
    assert shop.idle("id=1&x=new") == ["x"]
    assert shop.idle("x=new&id=1") == ["x"]
    assert shop.idle("id=2&x=new") == []  # nobody has seen this page
    assert shop.idle("id=2") == []


def test_of_every_new_page_one_spelling_is_had(shop):
    shop.new("id=1")
    for number in range(PATIENCE):
        shop.copy(f"id=1&x={number}")
    shop.new("id=2&x=7")
    assert shop.idle("id=2&x=7") == []  # itself, when it is fetched again
    assert shop.idle("id=2&x=8") == ["x"]


def test_a_text_of_its_own_speaks_for_the_parameter(shop):
    shop.new("id=1&page=1")
    for number in range(2, 2 + 10 * PATIENCE):
        shop.copy(f"id=1&page={number}")
        if number % (PATIENCE - 1) == 0:
            shop.new(f"id=1&page={number}0000")
        assert shop.idle("id=1&page=new") == []


def test_the_parameter_that_names_the_page_is_told_from_the_one_that_does_not(shop):
    for page in range(PATIENCE):
        shop.new(f"id={page}&x=a")
        shop.copy(f"id={page}&x=b")
    assert shop.idle("id=3&x=c") == ["x"]
    assert shop.idle("id=new&x=a") == []


def test_a_value_that_leads_to_more_of_it_alone_counts_more(shop):
    links = [f"{SHOP}?id={page}" for page in range(9)]
    shop.new("id=1", *links)
    for number in range(ENOUGH):
        assert shop.idle("id=1&x=new") == []
        shop.copy(f"id=1&x={number}", *(f"{link}&x={number}" for link in links))
    assert shop.idle("id=1&x=new") == ["x"]


@pytest.mark.parametrize("link", ["photo.html?id={}", "photo.html?id={}&page={}"])
def test_a_list_whose_pages_look_alike_but_lead_to_new_pages_is_not_given_up(shop, link):
    """Also where these have the parameter too: the page before did not lead to them."""
    shop.new("page=0")
    for number in range(1, 4 * PATIENCE):
        target = "http://shop.example/" + link.format(number, number)
        shop.copy(f"page={number}", f"{SHOP}?page={number + 1}", target)
    assert shop.idle("page=new") == []


def test_several_idle_parameters_are_left_out_together(shop):
    shop.new("id=1")
    for number in range(PATIENCE):
        shop.copy(f"id=1&x={number}")
        shop.copy(f"id=1&y={number}")
    assert shop.idle("id=1&x=8000&y=9000") == ["x", "y"]
    shop.new("id=2&x=1&y=1")
    assert shop.idle("id=2&x=1&y=1") == []
    assert shop.idle("id=2&y=2&x=3") == ["x", "y"]
    assert shop.idle("id=2&x=4") == ["x"]


def test_what_is_kept_of_a_page_and_of_a_family_is_bounded(shop):
    shop.new("&".join(f"p{number}={number}" for number in range(1000)))
    assert len(shop.tables.rows) < 20
    for number in range(300):
        shop.new(f"id={number}")
        shop.copy(f"id={number}&q{number}=1")
        shop.copy(f"id={number}&q{number}=2")
    assert max(map(len, shop.tables.rows.values())) < 400


def test_families_give_the_reason_and_leave_requests_alone():
    families = PathFamilies(MemoryTables())
    refusal = families.refusing_idle_parameters(
        lambda candidate: "other" if "other" in candidate.url else None, lambda candidates: set()
    )
    families.fresh(f"{SHOP}?id=1")
    for number in range(PATIENCE):
        families.led_to(f"{SHOP}?id=1&x={number}", [])
    assert refusal(Candidate(f"{SHOP}?id=1&x=new")) == "trap_parameter"
    assert refusal(Candidate(f"{SHOP}?id=1&x=other")) == "other"
    assert refusal(Candidate(f"{SHOP}?id=2&x=new")) is None
    assert refusal(Candidate(f"{SHOP}?id=1&x=new", request={"key": "k"})) is None
