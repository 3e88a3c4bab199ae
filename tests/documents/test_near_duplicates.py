import random

import pytest
from datasketch import MinHashLSH

from crawlerproj.documents.near_duplicates import (
    BUCKET_LIMIT,
    ID_BYTES,
    Buckets,
    NearDuplicates,
    bits_a_position,
    candidate_probability,
    lsh_parameters,
    members,
)
from crawlerproj.documents.tables import MemoryTables

WORDS = [f"w{number}" for number in range(2_000)]


def page(number):
    return number.to_bytes(ID_BYTES, "big")


@pytest.fixture
def tables():
    return MemoryTables()


@pytest.mark.parametrize("threshold", [0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("values", [128, 200])
def test_the_parameters_are_those_of_datasketch(threshold, values):
    reference = MinHashLSH(threshold=threshold, num_perm=values, weights=(0.05, 0.95))
    assert lsh_parameters(threshold, values) == (reference.b, reference.r)


def test_the_curve_is_steep_where_it_should_be():
    bands, rows = lsh_parameters(0.9, 128)
    assert candidate_probability(0.95, bands, rows) > 0.99
    assert candidate_probability(0.5, bands, rows) < 0.001


def test_fewer_bands_find_as_much(tables):
    near = NearDuplicates(tables)
    assert (near.bands, near.rows) == (6, 11)
    assert candidate_probability(0.95, near.bands, near.rows) > 0.99
    assert candidate_probability(0.5, near.bands, near.rows) < 0.005


@pytest.mark.parametrize("threshold, bits", [(0.95, 4), (0.9, 4), (0.8, 8), (0.7, 8), (0.4, 16)])
def test_short_bands_keep_more_of_each_position(tables, threshold, bits):
    near = NearDuplicates(tables, threshold)
    assert near.prints.bits == bits == bits_a_position(near.rows)
    assert len(near.prints.of(" ".join(WORDS)).signature) == 128 * bits // 8


@pytest.mark.parametrize("threshold", [0.0, -1, 1.5])
def test_a_senseless_threshold_is_refused(threshold):
    with pytest.raises(ValueError, match="NEAR_DUPLICATE_THRESHOLD"):
        lsh_parameters(threshold, 128)


def test_buckets_are_bounded_and_forget_without_a_trace(tables):
    buckets = Buckets(tables, "t")
    for number in range(2 * BUCKET_LIMIT):
        buckets.add(b"k", page(number))
        buckets.add(b"k", page(number))
    assert members(buckets.row(b"k")) == [page(number) for number in range(BUCKET_LIMIT)]
    for number in range(2 * BUCKET_LIMIT):
        buckets.remove(b"k", page(number))
    assert tables.rows == {}


def test_a_slightly_edited_text_is_found_and_another_is_not(tables):
    rng, near = random.Random(5), NearDuplicates(tables)
    prints = near.prints
    signatures = {}
    texts = [rng.choices(WORDS, k=800) for _ in range(200)]
    for number, text in enumerate(texts):
        signature = signatures[page(number)] = prints.of(" ".join(text)).signature
        looked_up = near.look_up(signature)
        assert near.matches(signature, looked_up, signatures.__getitem__) == []
        near.insert(page(number), looked_up)
    for number, text in enumerate(texts):
        text[400] = "edited"
        signature = prints.of(" ".join(text)).signature
        looked_up = near.look_up(signature)
        ((similarity, found),) = near.matches(signature, looked_up, signatures.__getitem__)
        assert found == page(number) and similarity >= near.threshold
        assert near.matches(signature, looked_up, signatures.__getitem__, itself=found) == []
    for number in range(200):
        near.remove(page(number), signatures[page(number)])
    assert tables.rows == {}
