"""The prioritiser: a number from 1 to F for each candidate."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawlerproj.frontier.prioritiser import Prioritiser, read_weights
from crawlerproj.items import Candidate


def test_each_step_away_from_a_seed_costs_one_queue() -> None:
    prioritise = Prioritiser(8)
    found = [prioritise(Candidate("http://a/", depth=depth), "a") for depth in (0, 1, 2, 6, 50)]
    assert found == [7, 6, 5, 1, 1]


def test_a_seeds_own_priority_comes_before_its_depth() -> None:
    assert Prioritiser(8)(Candidate("http://a/", depth=5, priority=8), "a") == 8


def test_weights_and_rules_move_candidates_within_the_queues() -> None:
    def news_first(candidate: Candidate, host: str) -> int:
        return 3 if host.startswith("news.") else 0

    prioritise = Prioritiser(8, {"news.example": 2, "dull.example": -9}, [news_first])
    assert prioritise(Candidate("http://news.example/", depth=5), "news.example") == 7
    assert prioritise(Candidate("http://news.example/"), "news.example") == 8
    assert prioritise(Candidate("http://dull.example/"), "dull.example") == 1
    assert prioritise(Candidate("http://other.example/"), "other.example") == 7


def test_weights_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_text("# by traffic\nBig.example\t2\n\nsmall.example\t-1  # few visitors\n")
    assert read_weights(str(file)) == {"big.example": 2, "small.example": -1}


def test_a_wrong_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_text("a.example\t1\nb.example high\n")
    with pytest.raises(ValueError, match=r"weights:2: expected host<TAB>whole number"):
        read_weights(str(file))
