import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlerproj.fetch.politeness import RETRY_AFTER_MAX_SECONDS, Politeness, retry_after_seconds

seconds = st.floats(min_value=0, max_value=1e6)


def test_the_wait_is_a_multiple_of_the_fetch_time_within_its_bounds() -> None:
    rules = Politeness(factor=10, minimum=2, maximum=300)
    assert rules.delay(1.5) == 15
    assert rules.delay(0.01) == 2
    assert rules.delay(100) == 300


def test_what_the_host_asks_for_is_not_shortened() -> None:
    rules = Politeness(maximum=300)
    assert rules.delay(1, crawl_delay=900) == 900
    assert rules.delay(1, retry_after=1200) == 1200


def test_failures_double_the_wait_up_to_a_maximum() -> None:
    rules = Politeness(backoff_base=30, backoff_maximum=3600)
    assert [rules.delay(0, failures=n) for n in (1, 2, 3)] == [30, 60, 120]
    assert rules.delay(0, failures=10_000) == 3600


@given(seconds, seconds, seconds, st.integers(0, 2000), st.integers())
def test_the_wait_is_never_shorter_than_any_of_its_reasons(
    fetch: float, crawl_delay: float, retry_after: float, failures: int, seed: int
) -> None:
    rules = Politeness()
    wait = rules.delay(fetch, crawl_delay, retry_after, failures, random.Random(seed))
    assert wait >= max(rules.minimum, crawl_delay, retry_after, min(10 * fetch, 300), rules.backoff(failures))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("Thu, 01 Jan 1970 00:03:20 GMT", 100),
        ("Thu, 01 Jan 1970 00:00:20 GMT", 0),
        ("9" * 400, RETRY_AFTER_MAX_SECONDS),
        ("Fri, 01 Jan 2100 00:00:00 GMT", RETRY_AFTER_MAX_SECONDS),
        (None, 0),
        ("", 0),
        ("-5", 0),
        ("soon", 0),
        ("Thu, 99 Jan 1970 00:00:00 GMT", 0),
        ("\u0661\u0662", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(header: str | None, expected: float) -> None:
    assert retry_after_seconds(header, now_wall=100) == expected


@given(st.text())
def test_no_retry_after_text_raises(header: str) -> None:
    assert 0 <= retry_after_seconds(header, now_wall=0) <= RETRY_AFTER_MAX_SECONDS


def test_a_host_recovers_step_by_step() -> None:
    rules = Politeness(backoff_base=30, backoff_maximum=3600)
    failures = 0
    for _ in range(6):
        failures = rules.failures_after(failures, failed=True)
    waits = [rules.delay(0.1, failures=failures)]
    while failures:
        failures = rules.failures_after(failures, failed=False)
        waits.append(rules.delay(0.1, failures=failures))
    assert waits == [960, 120, 30, 2]
