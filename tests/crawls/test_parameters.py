"""A shop under many spellings: each of its goods is had, most spellings are not, and `why` tells."""

from __future__ import annotations

from collections import Counter
from urllib.parse import parse_qs, urljoin, urlsplit


def test_parameters_that_yield_nothing_are_left_out_and_why_tells(crawl_of):
    crawl = crawl_of(64, 2, 40, nuisance="facets=1", DELAY_MINIMUM="0", DELAY_FACTOR="0")
    assert crawl.run().returncode == 0
    crawl.assert_covered()  # at most 120 URLs of a shop: without the rule there are many hundreds

    fetched = [url for url in crawl.fetched() if "/trap/facets/" in url]
    goods = {(urlsplit(url).netloc, parse_qs(urlsplit(url).query)["id"][0]) for url in fetched}
    assert Counter(host for host, _ in goods) == dict.fromkeys({host for host, _ in goods}, 20)
    assert crawl.frontier("stats")["outcomes"]["trap_parameter"] > 100

    shop = fetched[-1]
    host, path = crawl.web.world.split(shop)
    linked = [urljoin(shop, link) for link in crawl.web.world.nuisances[0].answer(host, path).links]
    left_out = next(url for url in linked if url not in fetched)
    answer = crawl.frontier("why", left_out)
    assert (answer["state"], answer["outcome"]) == ("done", "trap_parameter")
