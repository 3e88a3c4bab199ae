import random

import pytest

from crawlerproj.documents.clusters import Duplicates
from crawlerproj.documents.fingerprint import normal_codes, shingles, word_hashes

WORDS = [f"w{number}" for number in range(2_000)]


@pytest.fixture
def duplicates():
    opened = Duplicates()
    yield opened
    opened.close()


def text(seed, length=300):
    return random.Random(seed).choices(WORDS, k=length)


def jaccard(first, second):
    sets = [set(shingles(word_hashes(normal_codes(each))).tolist()) for each in (first, second)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_equal_and_similar_texts_are_clusters(duplicates):
    for number in range(50):
        duplicates.add(f"u{number}", " ".join(text(number)))
    edited = text(7)
    edited[150] = "edited"
    duplicates.add("near7", " ".join(edited))
    duplicates.add("same9", " ".join(text(9)).upper())
    duplicates.add("same9 too", " ".join(text(9)))
    duplicates.add("empty", "")
    duplicates.add("empty too", "")
    exact, near = duplicates.clusters()
    assert (exact.urls, exact.is_exact) == (["u9", "same9", "same9 too"], True)
    assert (near.urls, near.is_exact) == (["u7", "near7"], False)
    ((first, second, similarity),) = duplicates.pairs()
    assert (first, second) == ("u7", "near7") and similarity >= 0.9


def test_all_pairs_of_a_group_are_found(duplicates):
    texts = {}
    for number in range(20):
        words = text(1, 800)
        words[40 * number] = "edited"
        texts[f"u{number}"] = " ".join(words)
    for url, content in texts.items():
        duplicates.add(url, content)
    found = {(first, second) for first, second, _ in duplicates.pairs()}
    wanted = {
        (a, b) for a in texts for b in texts if int(a[1:]) < int(b[1:]) and jaccard(texts[a], texts[b]) > 0.97
    }
    assert len(wanted) == 190 and len(wanted - found) <= 4
    (cluster,) = duplicates.clusters()
    assert len(cluster.urls) == 20


def test_short_texts_are_joined_only_if_equal(duplicates):
    for url, content in [("a", "one two"), ("b", "One, two!"), ("c", "one two three")]:
        duplicates.add(url, content)
    (cluster,) = duplicates.clusters()
    assert cluster.urls == ["a", "b"]


def test_nothing_in_nothing_out(duplicates):
    assert duplicates.clusters() == [] and list(duplicates.pairs()) == []
