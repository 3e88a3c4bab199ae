"""Are copies found, at what cost? Demo pages and real articles with controlled edits; the truth is computed.

Each text is edited: a share of its words replaced, scattered or in one piece, or header, footer, date and
advertisements changed as sites do. The originals are stored, the edited texts are judged against them:
  recall      of the pairs whose true Jaccard index (4-word shingles) is at least 0.95, the share reported
  precision   of the reported pairs, the share whose true index is at least 0.8
`_offline` is the same for `scrapy docs duplicates`, over all texts at once.
`distinct_texts_lost`: texts of the demo web that a crawl with the follow rule misses and one without it
finds, the worst of three random orders. `_behind_mirrors` are those of them to which only relative links of
exact copies on another host lead (the rule does not follow these). `_must` are those of pages in MUST; it
says little about the rule: MUST is reachable without any duplicate, so only a page taken for a mirror by
mistake could raise it. Costs are CPU of all threads, on the embedded engine with its commits.
`--plot FILE` draws the S-curve (SVG): chance of being reported by true similarity, measured and by theory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urljoin

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlerproj.demoweb.world import World  # noqa: E402
from crawlerproj.documents.clusters import Duplicates  # noqa: E402
from crawlerproj.documents.content_seen import ContentSeen  # noqa: E402
from crawlerproj.documents.fingerprint import Fingerprinter, normal_codes, shingles, word_hashes  # noqa: E402
from crawlerproj.documents.near_duplicates import ID_BYTES, NearDuplicates, candidate_probability  # noqa: E402
from crawlerproj.documents.tables import MemoryTables  # noqa: E402
from crawlerproj.storage.embedded import open_storage  # noqa: E402

DATA = Path(os.environ.get("CONFORMANCE_DATA", ROOT.parent / "shared" / "data"))
ARTICLES = DATA / "content" / "scrapinghub" / "ground-truth.json"
SHARES = (0.0, 0.01, 0.03, 0.05, 0.10, 0.30)
TAG = re.compile(r"<[^>]*>")


def texts(demo_pages: int) -> list[list[str]]:
    """Texts of at least 60 words, as lists of words."""
    world = World(seed=3, hosts=20, pages=demo_pages, nuisance="none")
    layout = world.layout
    found = [
        TAG.sub(" ", world.body(host, page).decode()).split()
        for host in range(layout.hosts) for page in range(layout.sizes[host])
    ]
    if ARTICLES.exists():
        found += [article["articleBody"].split() for article in json.loads(ARTICLES.read_text()).values()]
    else:
        print(f"real articles are missing: {ARTICLES} (set CONFORMANCE_DATA)", file=sys.stderr)
    return [words for words in found if len(words) >= 60]


def edits(rng: random.Random, words: list[str], vocabulary: list[str]) -> list[list[str]]:
    """The text in all its edited forms."""
    made = []
    for share in SHARES:
        made.append([rng.choice(vocabulary) if rng.random() < share else word for word in words])
        length = round(len(words) * share)
        start = rng.randrange(len(words) - length + 1)
        made.append([*words[:start], *rng.choices(vocabulary, k=length), *words[start + length :]])
    some = lambda count: rng.choices(vocabulary, k=count)  # noqa: E731
    middle = rng.randrange(len(words))
    made.append([*some(12), *words])  # another header
    made.append([*words, *some(20)])  # another footer
    made.append([*words[:middle], "14", "March", "2024", *words[middle:]])  # a date
    third = len(words) // 3
    made.append([*words[:third], *some(8), *words[third:], *some(8)])  # two advertisements
    made.append([*some(3), *words[3:]])  # the first words replaced
    return made


def shingle_set(text: str) -> frozenset[int]:
    return frozenset(shingles(word_hashes(normal_codes(text))).tolist())


def jaccard(first: frozenset[int], second: frozenset[int]) -> float:
    return len(first & second) / len(first | second)


def quality(demo_pages: int, figures: dict[str, float]) -> tuple[list[tuple[float, bool]], NearDuplicates]:
    """Recall and precision; gives (true similarity, was it reported) for each pair of original and edit."""
    rng = random.Random(7)
    originals = texts(demo_pages)
    vocabulary = sorted({word for words in originals for word in words})
    sets: dict[str, frozenset[int]] = {}
    contents: dict[str, str] = {}
    near, signatures = NearDuplicates(MemoryTables()), {}
    prints = near.prints
    for number, words in enumerate(originals):
        name, content = f"{number}", " ".join(words)
        contents[name], sets[name] = content, shingle_set(content)
        page = number.to_bytes(ID_BYTES, "big")
        signatures[page] = prints.of(content).signature
        near.insert(page, near.look_up(signatures[page]))
    measured, alike, found, right, reported = [], 0, 0, 0, 0
    edited_alike = edited_found = 0
    for number, words in enumerate(originals):
        for kind, form in enumerate(edits(rng, words, vocabulary)):
            name, content = f"{number}.{kind}", " ".join(form)
            contents[name], sets[name] = content, shingle_set(content)
            signature = prints.of(content).signature
            matches = near.matches(signature, near.look_up(signature), signatures.__getitem__)
            pages = [int.from_bytes(page, "big") for _, page in matches]
            reported += len(pages)
            right += sum(jaccard(sets[name], sets[f"{page}"]) >= 0.8 for page in pages)
            truth = jaccard(sets[name], sets[f"{number}"])
            measured.append((truth, number in pages))
            if truth >= 0.95:
                alike, found = alike + 1, found + (number in pages)
                if truth < 1:
                    edited_alike, edited_found = edited_alike + 1, edited_found + (number in pages)
    figures["recall"], figures["precision"] = found / alike, right / reported
    figures["recall_edited"] = edited_found / edited_alike
    print(f"{len(originals)} texts, {len(measured)} pairs, {alike} of them at 0.95 or above "
          f"({edited_alike} not equal), {reported} reported")
    _offline(contents, sets, len(originals), figures)
    return measured, near


def _offline(
    contents: dict[str, str], sets: dict[str, frozenset[int]], originals: int, figures: dict[str, float]
) -> None:
    """All pairs of the first 150 texts and all their forms, which number 18 to a text."""
    chosen = [name for name in contents if int(name.partition(".")[0]) < 150]
    duplicates = Duplicates()
    for name in chosen:
        duplicates.add(name, contents[name])
    found = {tuple(sorted((first, second))) for first, second, _ in duplicates.pairs()}
    duplicates.close()
    groups: dict[str, list[str]] = {}
    seen: set[frozenset[int]] = set()
    for name in chosen:
        if sets[name] not in seen:  # pairs are of different texts, one page for each
            seen.add(sets[name])
            groups.setdefault(name.partition(".")[0], []).append(name)
    wanted = {
        tuple(sorted((first, second)))
        for group in groups.values() for first in group for second in group
        if first < second and jaccard(sets[first], sets[second]) >= 0.95
    }
    right = sum(jaccard(sets[first], sets[second]) >= 0.8 for first, second in found)
    figures["recall_offline"] = len(wanted & found) / len(wanted)
    figures["precision_offline"] = right / len(found)


def cost(pages: int, figures: dict[str, float]) -> None:
    """A thousand words a page, from text to committed fingerprints."""
    rng = random.Random(11)
    vocabulary = [f"{number:x}word"[: rng.randrange(2, 10)] for number in range(20_000)]
    contents = [" ".join(rng.choices(vocabulary, k=1_000)) for _ in range(pages)]
    prints = NearDuplicates(MemoryTables()).prints
    prints.of(contents[0])
    started = time.process_time()
    for content in contents:
        prints.of(content)
    figures["fingerprint_ms_per_page"] = (time.process_time() - started) / pages * 1000
    directory = Path(tempfile.mkdtemp(prefix="bench-near-"))
    try:
        storage = open_storage(directory, sync=False)
        seen = ContentSeen(storage)
        seen.judge("http://warm.example/", "warm.example", contents[0], ())
        started = time.process_time()
        for number, content in enumerate(contents):
            host = f"host{number % 50}.example"
            seen.judge(f"http://{host}/{number}", host, content, ())
            if number % 64 == 63:
                _commit(storage)
        _commit(storage)
        figures["ms_per_page"] = (time.process_time() - started) / pages * 1000
        del seen
        storage.close()
    finally:
        shutil.rmtree(directory)


def _commit(storage) -> None:
    group = storage.seal({})
    if group is not None:
        storage.write(group, lambda: None)
        storage.landed(group)


def growth(sizes: list[int], figures: dict[str, float]) -> None:
    """Look-ups of near copies and of new texts in a store of random signatures, as it grows."""
    rng = np.random.default_rng(5)
    directory = Path(tempfile.mkdtemp(prefix="bench-near-"))
    try:
        storage = open_storage(directory, sync=False)
        near = NearDuplicates(storage)
        done = 0
        for size in sizes:
            while done < size:
                for signature in _signatures(rng, min(1_000, size - done), near):
                    page, data = done.to_bytes(ID_BYTES, "big"), signature.tobytes()
                    near.insert(page, near.look_up(data))
                    storage.put("bench", page, data)
                    done += 1
                _commit(storage)
            copies = []
            for number in rng.integers(0, size, 3_000):
                known = storage.get("bench", int(number).to_bytes(ID_BYTES, "big"))
                copy = np.frombuffer(known, np.uint8).copy()
                copy[rng.integers(0, len(copy), 3)] = rng.integers(0, 15, 3)  # two positions each
                copies.append(copy.tobytes())
            others = [signature.tobytes() for signature in _signatures(rng, 3_000, near)]
            cpu, found = _ask(storage, near, others)
            figures[f"query_new_us_{_name(size)}"] = cpu
            assert found == 0, found
            cpu, found = _ask(storage, near, copies)
            figures[f"query_copy_us_{_name(size)}"] = cpu
            assert found >= 0.95 * len(copies), found
        first, last = _name(sizes[0]), _name(sizes[-1])
        for kind in ("new", "copy"):
            ratio = figures[f"query_{kind}_us_{last}"] / figures[f"query_{kind}_us_{first}"]
            figures[f"query_{kind}_ratio_{last}_to_{first}"] = ratio
        storage.close()
        size_on_disk = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        figures["bytes_per_document_on_disk"] = size_on_disk / sizes[-1]
    finally:
        shutil.rmtree(directory)
    tables = MemoryTables()
    seen = ContentSeen(tables)
    vocabulary = [f"w{number}" for number in range(5_000)]
    for number in range(500):
        content = " ".join(random.Random(number).choices(vocabulary, k=200))
        seen.judge(f"http://www.host.example/some/path/page-{number}.html", "host.example", content, ())
    figures["bytes_per_document"] = sum(
        len(table) + 1 + len(key) + len(row) for (table, key), row in tables.rows.items()
    ) / 500


def _signatures(rng: np.random.Generator, number: int, near: NearDuplicates) -> np.ndarray:
    """Of texts that have nothing in common."""
    prints = near.prints
    codes = rng.integers(0, prints.empty, (number, prints.values), dtype=np.uint8)
    return codes[:, ::2] << 4 | codes[:, 1::2]


def _ask(storage, near: NearDuplicates, asked: list[bytes]) -> tuple[float, int]:
    """CPU microseconds a look-up, the best of three rounds, and how many found something.

    Of the asking thread alone: what the store still tidies up in others was caused by the inserts.
    """
    rounds = []
    for _ in range(3):
        started = time.thread_time()
        found = sum(
            bool(near.matches(each, near.look_up(each), lambda page: storage.get("bench", page) or b""))
            for each in asked
        )
        rounds.append((time.thread_time() - started) / len(asked) * 1e6)
    return min(rounds), found


def _name(size: int) -> str:
    return f"{size // 1_000_000}m" if size >= 1_000_000 else f"{size // 1000}k"


def texts_lost(pages: int, figures: dict[str, float]) -> None:
    """Crawls the demo web (copies on a fifth of its leaves) in three orders, with the rule and without."""
    world = World(seed=1, hosts=40, pages=pages, nuisance="duplicates=0.2,redirects=0.1")
    layout = world.layout
    must = {layout.url(host, page) for host in range(layout.hosts) for page in range(layout.sizes[host])}
    lost, lost_must, lost_asides = [], [], []
    for order in range(3):
        with_rule, without = (_crawl(world, random.Random(order), rule) for rule in (True, False))
        missing = set(without.values()) - set(with_rule.values())
        where = {digest: url for url, digest in without.items()}
        lost.append(len(missing))
        lost_must.append(sum(where[digest] in must for digest in missing))
        lost_asides.append(sum("/aside-" in where[digest] for digest in missing))
    figures["distinct_texts_lost"] = max(lost)
    figures["distinct_texts_lost_behind_mirrors"] = max(lost_asides)
    figures["distinct_texts_lost_must"] = max(lost_must)


def _crawl(world: World, rng: random.Random, rule: bool) -> dict[str, bytes]:
    seen, prints = ContentSeen(MemoryTables()), Fingerprinter()
    queue, demoted = list(world.seeds()), []
    known, digests = set(queue), {}
    while queue or demoted:
        line = queue or demoted
        line[-1], line[place] = line[(place := rng.randrange(len(line)))], line[-1]
        url = line.pop()
        host, path = world.split(url)
        response = world.answer(host, path)
        if response.location:
            targets, follow = [response.location], "all"
        else:
            html = response.body.decode()
            targets = re.findall(r'href="([^"]*)"', html)
            text = TAG.sub(" ", html)
            digests[url] = prints.of(text).digest
            follow = seen.judge(url, url.split("/")[2], text, targets).follow if rule else "all"
        if follow == "none":
            continue
        for target in targets:
            target = urljoin(url, target)
            if target not in known:
                known.add(target)
                (demoted if follow == "demote" else queue).append(target)
    return digests


def plot(measured: list[tuple[float, bool]], near: NearDuplicates, path: Path) -> None:
    """The S-curve as SVG: dots are measured (bins of 0.02), the line is the theory of the bands."""
    def at(similarity: float, chance: float) -> str:
        return f"{60 + (similarity - 0.5) * 1000:.1f},{340 - chance * 300:.1f}"

    curve = " ".join(at(s, candidate_probability(s, near.bands, near.rows)) for s in np.linspace(0.5, 1, 101))
    bins: dict[int, list[bool]] = {}
    for truth, was_reported in measured:
        bins.setdefault(min(int(truth * 50), 49), []).append(was_reported)
    dots = "".join(
        '<circle cx="{}" cy="{}" r="4" fill="#c33"/>'.format(*at(b / 50 + 0.01, sum(v) / len(v)).split(","))
        for b, v in sorted(bins.items()) if b >= 25 and len(v) >= 5
    )
    ticks = "".join(
        f'<text x="{60 + (s - 0.5) * 1000:.0f}" y="360" text-anchor="middle">{s:.1f}</text>'
        for s in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    ) + "".join(f'<text x="50" y="{344 - c * 300:.0f}" text-anchor="end">{c:.1f}</text>' for c in (0, 0.5, 1))
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 400" font-family="sans-serif" '
        'font-size="12">'
        '<rect width="600" height="400" fill="white"/><path d="M60 40V340H560" fill="none" stroke="black"/>'
        f'<polyline points="{curve}" fill="none" stroke="#36c" stroke-width="2"/>{dots}{ticks}'
        f'<text x="310" y="385" text-anchor="middle">true Jaccard similarity (line: candidates by '
        f"{near.bands} bands of {near.rows}; dots: reported at {near.threshold})</text></svg>\n"
    )


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    options.add_argument("--quick", action="store_true", help="fewer texts; growth to 100,000 documents")
    options.add_argument("--plot", type=Path, metavar="FILE", help="draw the S-curve into an SVG file")
    chosen = options.parse_args()
    figures: dict[str, float] = {}
    measured, near = quality(300 if chosen.quick else 1_500, figures)
    if chosen.plot:
        plot(measured, near, chosen.plot)
    cost(2_000 if chosen.quick else 10_000, figures)
    growth([10_000, 100_000] if chosen.quick else [10_000, 100_000, 1_000_000], figures)
    texts_lost(600 if chosen.quick else 2_000, figures)
    print(json.dumps({"name": "near_duplicates", "figures": {n: round(v, 4) for n, v in figures.items()}}))


if __name__ == "__main__":
    main()
