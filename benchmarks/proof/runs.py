"""The runs over real processes: each makes a web from its seed, crawls it, and says what held."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from crawls import FAULTS, Crawl

Figures = dict[str, str | int | float]


@dataclass(slots=True)
class Result:
    """`failures` is empty where every promise held."""

    figures: Figures = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.failures.append(otherwise)


def hostile(directory: Path, seed: int, kills: int = 0, size: tuple[int, int] = (1_000, 20_000)) -> Result:
    """Every nuisance at once on 1,000 hosts with 20,000 pages, to its end."""
    crawl = Crawl("hostile" if not kills else "hostile_kills", directory, seed, *size, "all")
    try:
        rng = random.Random(seed)
        for _ in range(kills):
            crawl.run_killed(rng.randint(20, size[1] // kills), rng)
            crawl.say("killed")
        return judged(crawl, crawl.run())
    finally:
        crawl.close()


def hostile_kills(directory: Path, seed: int) -> Result:
    """The same web, with 20 kill -9 at random moments on the way."""
    return hostile(directory, seed, kills=20)


def kills(directory: Path, seed: int, many: int = 200, size: tuple[int, int] = (100, 8_000)) -> Result:
    """A smaller, mild web and 200 kills: every other at a random moment, the rest inside commits."""
    crawl = Crawl("kills", directory, seed, *size, "mild")
    unsound = []
    try:
        rng = random.Random(seed)
        for turn in range(many):
            if turn % 2:
                crawl.run_with_fault(f"{FAULTS[turn // 2 % len(FAULTS)]}:{rng.randint(1, 3)}")
            else:
                crawl.run_killed(rng.randint(0, size[1] // many), rng)
            if turn % 10 == 9:
                crawl.say("killed")
                if not crawl.frontier("check")["sound"]:
                    unsound.append(turn + 1)
        status = crawl.run()
        result = judged(crawl, status)
        result.expect(not unsound, f"the frontier was not sound after kills {unsound}")
        result.expect(crawl.kills >= many * 0.9, f"only {crawl.kills} of {many} kills came in time")
        parked = int(crawl.frontier("stats").get("parked", -1))
        result.figures["parked as poison"] = parked
        result.expect(parked == 0, f"{parked} pages that had killed nobody were parked as poison")
        return result
    finally:
        crawl.close()


def traps(directory: Path, seed: int, size: tuple[int, int] = (100, 20_000)) -> Result:
    """Three hosts in ten have a trap; no waits, so that a trap can take all it is given."""
    crawl = Crawl("traps", directory, seed, *size, "traps=0.3", {"DELAY_FACTOR": 0, "DELAY_MINIMUM": 0})
    try:
        result = judged(crawl, crawl.run())
        fetched = crawl.fetched()
        trapped = Counter({url: n for url, n in fetched.items() if "/trap/" in url})
        share = trapped.total() / fetched.total()
        result.figures |= {
            "hosts with a trap": len({url.partition("/trap/")[0] for url in trapped}),
            "fetches by trap": ", ".join(f"{kind} {many}" for kind, many in Counter(
                url.partition("/trap/")[2].partition("/")[0] for url in trapped.elements()).items()),
            "trap share of fetches": f"{share:.2%}",
        }
        result.expect(share <= 0.05, f"traps took {share:.1%} of the fetches, 5 % is the most")
        return result
    finally:
        crawl.close()


def budget(directory: Path, seed: int, size: tuple[int, int] = (20, 600)) -> Result:
    """A host of 600 pages under a budget of 100: parked and counted; with a larger budget, fetched whole."""
    crawl = Crawl("budget", directory, seed, *size, "giant=1", {"HOST_PAGE_BUDGET": 100})
    try:
        giant = next(n for n in crawl.web.world.nuisances if n.name == "giant")
        prefix = crawl.web.world.layout.origins[giant.own[0]] + "/"
        pages = {prefix, *(f"{prefix}all/{page}.html" for page in range(1, giant.pages))}
        first = crawl.run()
        counted = crawl.frontier("stats")
        within = sum(n for url, n in crawl.fetched().items() if url.startswith(prefix))
        crawl.settings["HOST_PAGE_BUDGET"] = 10_000
        result = judged(crawl, crawl.run())
        whole = [n for url, n in crawl.fetched().items() if url in pages]
        result.figures |= {"pages of the giant": giant.pages, "fetched under the budget": within,
                           "left in the queue then": int(counted.get("queued", -1)),
                           "fetched with a larger one": len(whole)}
        result.expect(first == 0, f"the first crawl ended with status {first}")
        result.expect(within == 100, f"{within} pages of the giant were fetched under a budget of 100")
        result.expect(counted.get("queued", 0) > 0, "nothing was left in the queue")
        result.expect(len(whole) == giant.pages and max(whole) == 1, "the giant was not fetched whole, once")
        return result
    finally:
        crawl.close()


TEXTS = "duplicates=0.2,near_duplicates=0.1,mirrors=0.1,soft_404=0.05,parameters=0.02,redirects=0.1"


def texts(directory: Path, seed: int, size: tuple[int, int] = (40, 2_000)) -> Result:
    """Copies of all kinds, no traps, three orders: texts found without the content-seen test, not with it."""
    began = time.monotonic()
    result = Result()
    orders: list[tuple[set[str], Crawl]] = []
    for order in range(4):
        here = directory / f"order-{order}"
        here.mkdir()
        seen = "minhash" if order else "off"
        # Links are part of a page's bytes, and the port is part of its links: the same one for all.
        port = orders[0][1].web.http_port if orders else 0
        crawl = Crawl(f"texts {order}/3", here, seed, *size, TEXTS,
                      {"DELAY_FACTOR": 0, "DELAY_MINIMUM": 0, "CONTENT_SEEN": seen,
                       "FRONTIER_SEED": order + 1}, port)
        try:
            result.expect(crawl.run() == 0, f"order {order} did not end well: {crawl.last_words()}")
            stored = crawl.stored()
            found = crawl.coverage(crawl.fetched(), stored)
            result.expect(order == 0 or found.holds, f"order {order}: {found.as_text()}")
            orders.append(({d for each in stored.values() for d in each if d.startswith("200 ")}, crawl))
            crawl.say(f"{len(orders[-1][0]):,} distinct texts")
        finally:
            crawl.close()
    everything = orders[0][0]
    lost = [len(everything - texts) for texts, _ in orders[1:]]
    result.figures = {
        "hosts": size[0], "pages": size[1], "nuisance": TEXTS, "distinct texts": len(everything),
        "fetched without the test": orders[0][1].fetched().total(),
        "fetched with it": ", ".join(str(crawl.fetched().total()) for _, crawl in orders[1:]),
        "distinct_texts_lost": ", ".join(map(str, lost)),
        "duration": f"{time.monotonic() - began:.0f} s",
    }
    result.expect(not any(lost), f"distinct texts were lost: {lost}")
    return result


def judged(crawl: Crawl, status: int) -> Result:
    """What every run promises: it ended, covered the web, was polite, its archive and frontier are whole."""
    duration = time.monotonic() - crawl.began
    crawl.say("ended; judging")
    result = Result()
    result.expect(status == 0, f"exit status {status}: {crawl.last_words()}")
    fetched, stored = crawl.fetched(), crawl.stored()
    found, verdict = crawl.coverage(fetched, stored), crawl.verdict()
    result.expect(found.holds, f"coverage: {len(found.missing)} of MUST missing, {len(found.forbidden)} of "
                  f"NEVER fetched, {len(found.over_cap)} families over cap\n{found.as_text()}")
    kinds = Counter(violation.kind for violation in verdict.violations)
    told = ", ".join(f"{kind} {many}" for kind, many in kinds.items())
    result.expect(not kinds, f"impolite: {told}\n{verdict.as_text()[-3000:]}")
    sound = crawl.frontier("check")
    result.expect(sound["sound"], f"the frontier is not sound: {sound}")
    must = set(crawl.web.truth().must)
    pages = {url: [each for each in kept if each.startswith("200")] for url, kept in stored.items()}
    twice = [url for url, kept in pages.items() if url in must and len(kept) > 1]
    result.expect(not twice, f"{len(twice)} pages are stored more than once, among them {twice[:3]}")
    worst = verdict.worst_ratio
    result.figures = {
        "hosts": crawl.hosts, "pages": crawl.pages, "nuisance": crawl.nuisance, "kills": crawl.kills,
        "ended": crawl.ended_with(), "requests, robots.txt included": verdict.visits,
        "fetched": fetched.total(), "asked for more than once": fetched.total() - len(fetched),
        "MUST": f"{found.must - len(found.missing)} of {found.must}",
        "MAY": f"{found.families.total()} fetched, "
        f"{len(found.over_cap)} of {len(found.families)} families over cap",
        "NEVER": f"{len(found.forbidden)} fetched",
        "politeness violations": f"{len(verdict.violations)} in {len(verdict.ratios)} gaps"
        + (f", smallest gap / required gap {worst:.3f}" if worst is not None else ""),
        "peak RSS": f"{crawl.peak_bytes / 2**20:.0f} MiB", "duration": f"{duration:.0f} s",
    }
    return result
