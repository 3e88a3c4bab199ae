"""What a crawl fetched is held against the truth."""

import json

import pytest

from crawlerproj.demoweb.coverage import coverage, coverage_of_log
from crawlerproj.demoweb.options import main
from crawlerproj.demoweb.truth import truth
from crawlerproj.demoweb.world import World

OPTIONS = ["--seed=3", "--hosts=12", "--pages=100", "--nuisance=all"]


@pytest.fixture(scope="module")
def known():
    return truth(World(3, 12, 100, "all", 20003))


def test_all_that_must_be_fetched_is_enough(known):
    found = coverage(known, known.must, known.must)
    assert found.holds
    assert found.unknown == []
    assert found.families.total() == 0


def test_a_missing_page_is_found(known):
    found = coverage(known, known.must, known.must[1:])
    assert (found.holds, found.missing) == (False, [known.must[0]])
    assert known.must[0] in found.as_text()


def test_a_forbidden_page_is_found(known):
    found = coverage(known, [*known.must, known.never[0]], known.must)
    assert (found.holds, found.forbidden) == (False, [known.never[0]])


def test_a_family_over_its_cap_is_found(known):
    trap = next(family for family in known.may if family.name.startswith("endless_paths"))
    inside = [f"{trap.prefixes[0]}{number}/index.html" for number in range(trap.cap + 1)]
    assert coverage(known, [*known.must, *inside[1:]], known.must).holds
    found = coverage(known, [*known.must, *inside], known.must)
    assert (found.holds, found.over_cap) == (False, [(trap.name, trap.cap + 1, trap.cap)])


def test_robots_txt_is_in_no_family_and_strange_urls_are_told(known):
    host = next(family for family in known.may if family.name.startswith("hanging")).prefixes[0]
    strange = known.must[0] + "strange"
    found = coverage(known, [*known.must, f"{host}robots.txt", strange], known.must)
    assert found.holds
    assert (found.families.total(), found.unknown) == (0, [strange])


def test_a_log_is_held_against_the_truth_on_the_command_line(known, tmp_path, capsys):
    log = tmp_path / "access.log"
    lines = [{"url": url, "status": 200} for url in known.must]
    log.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"closed": "1", "at": 1.0}]))
    assert main([*OPTIONS, f"--coverage={log}"]) == 0
    assert f"MUST: {len(known.must)} of {len(known.must)}" in capsys.readouterr().out
    log.write_text("".join(json.dumps(line) + "\n" for line in lines[5:]))
    assert main([*OPTIONS, f"--coverage={log}"]) == 1
    assert coverage_of_log(known, log.open()).missing == list(known.must[:5])
    assert main([*OPTIONS, "--coverage=/no/such/file"]) == 1
    assert "/no/such/file" in capsys.readouterr().err
