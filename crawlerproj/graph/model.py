"""The statistics of a compact graph: which token is how likely in which context.

The many contexts of `symbols` are gathered into at most 255 clusters of like statistics (the idea of
JPEG XL and Zuckerli), so that tables stay small: farthest-first seeds, a few rounds of reassignment,
then clusters are merged while their tables cost more than they save. A cluster's table gives each of
its tokens a frequency; the frequencies sum to 4,096.

As bytes, bits as in `bits`: one byte for the number of clusters c; for each context 8 bits, its
cluster; for each cluster gamma(number of tokens n), then n times gamma(frequency). All compressed
by zstd.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import zstandard
from numpy.typing import NDArray

from crawlerproj.graph.bits import read_gamma, write_gamma
from crawlerproj.graph.damage import DamagedGraph
from crawlerproj.graph.jit import Bytes, Floats, Ints, kernel
from crawlerproj.graph.symbols import BASES, CONTEXTS, TOKENS

PRECISION = 12
ONE = 1 << PRECISION
SEEDS_A_KIND = 40
_ROUNDS = 3
_MODEL_LIMIT = 1 << 20


@dataclass(slots=True, frozen=True)
class Model:
    clusters: NDArray[np.uint8]  # of each context
    frequencies: Ints  # of each token in each cluster, flat

    def costs(self) -> Floats:
        """Bits of each token in each cluster, raw bits not counted; what cannot be told costs much."""
        table = self.frequencies.reshape(-1, TOKENS).astype(np.float64)
        return np.where(table > 0, PRECISION - np.log2(np.maximum(table, 1)), 40.0)

    def to_bytes(self) -> bytes:
        table = self.frequencies.reshape(-1, TOKENS)
        head = bytes([len(table)]) + self.clusters.tobytes()
        return zstandard.ZstdCompressor(level=19).compress(head + _pack(table).tobytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        try:
            plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=_MODEL_LIMIT)
        except zstandard.ZstdError as error:
            raise DamagedGraph(f"the graph's tables are damaged ({error}): build it anew") from error
        clusters = np.frombuffer(plain, np.uint8, CONTEXTS, 1) if len(plain) > CONTEXTS else None
        if clusters is None or not plain[0] or clusters.max() >= plain[0]:
            raise DamagedGraph("the graph's tables are damaged: build it anew")
        packed = np.frombuffer(plain, np.uint8, offset=1 + CONTEXTS)
        frequencies = np.zeros(plain[0] * TOKENS, np.int64)
        if not _unpack(packed, frequencies, plain[0]):
            raise DamagedGraph("the graph's tables do not add up: build it anew")
        return cls(clusters, frequencies)


def first_guess() -> tuple[NDArray[np.uint8], Floats]:
    """Clusters and costs to begin with: small numbers are cheap, whatever the context."""
    tokens = np.arange(TOKENS)
    costs = np.where(tokens < 16, 1 + 1.5 * np.log2(tokens + 1), 7 + 0.5 * (tokens - 16))
    return np.zeros(CONTEXTS, np.uint8), costs.reshape(1, TOKENS)


def fit(counts: Ints, every_token: bool = False) -> Model:
    """The model of these counts (contexts x tokens). `every_token`: also those never counted."""
    clusters = np.zeros(CONTEXTS, np.uint8)
    tables: list[Floats] = []
    for start, end in pairwise(BASES):
        used = np.flatnonzero(counts[start:end].sum(1)) + start
        if len(used) == 0 and not every_token:
            continue
        mine = counts[used].astype(np.float64)
        member, number = _cluster(mine, SEEDS_A_KIND)
        merged = np.zeros((max(number, 1), TOKENS))
        np.add.at(merged, member, mine)
        # A context never seen takes the commonest cluster of its kind.
        clusters[start:end] = len(tables) + int(merged.sum(1).argmax())
        clusters[used] = len(tables) + member
        tables.extend(merged)
    if not tables:
        tables.append(np.ones(TOKENS))
    return Model(clusters, np.concatenate([_normalise(table, every_token) for table in tables]))


@kernel
def _normalise(counts: Floats, every_token: bool) -> Ints:
    """Whole frequencies that sum to ONE; what was counted has at least 1."""
    total = counts.sum()
    table = np.zeros(len(counts), np.int64)
    if total == 0:
        table[0], total = 1, 1.0
    for token in range(len(counts)):
        if counts[token] > 0 or every_token:
            table[token] = max(1, int(counts[token] * ONE / total + 0.5))
    # What rounding gave too much or too little is settled where it costs least.
    while table.sum() != ONE:
        step = 1 if table.sum() < ONE else -1
        best, least = -1, np.inf
        for token in range(len(counts)):
            if table[token] > (0 if step > 0 else 1):
                loss = counts[token] * np.log2(table[token] / (table[token] + step))
                if loss < least:
                    best, least = token, loss
        table[best] += step
    return table


@kernel
def _bits(counts: Floats) -> float:
    """What a cluster costs: its symbols at their entropy, and its table."""
    total = counts.sum()
    if total == 0:
        return 0.0
    bits = 8.0
    for count in counts:
        if count > 0:
            share = max(count / total, 1.0 / ONE)
            bits += 2 * np.log2(share * ONE) + 1 - count * np.log2(share)
        else:
            bits += 0.5
    return bits


@kernel
def _cluster(counts: Floats, most: int) -> tuple[Ints, int]:
    """The cluster of each context, and the number of clusters."""
    contexts = len(counts)
    member = np.zeros(contexts, np.int64)
    if contexts == 0:
        return member, 0
    most = min(most, contexts)
    logs = np.zeros((most, counts.shape[1]))
    farthest = 0
    for context in range(contexts):
        if counts[context].sum() > counts[farthest].sum():
            farthest = context
    near = np.full(contexts, np.inf)
    entropy = np.zeros(contexts)
    for context in range(contexts):
        entropy[context] = _bits_under(counts[context], _log_table(counts[context]))
    number = 0
    while number < most:
        logs[number] = _log_table(counts[farthest])
        gain, farthest = 64.0, -1
        for context in range(contexts):
            bits = _bits_under(counts[context], logs[number]) - entropy[context]
            if bits < near[context]:
                near[context], member[context] = bits, number
            if near[context] > gain:
                gain, farthest = near[context], context
        number += 1
        if farthest < 0:
            break
    sums = np.zeros((number, counts.shape[1]))
    for _ in range(_ROUNDS):
        sums[:] = 0
        for context in range(contexts):
            sums[member[context]] += counts[context]
        for cluster in range(number):
            logs[cluster] = _log_table(sums[cluster])
        for context in range(contexts):
            best = np.inf
            for cluster in range(number):
                bits = _bits_under(counts[context], logs[cluster])
                if bits < best:
                    best, member[context] = bits, cluster
    sums[:] = 0
    for context in range(contexts):
        sums[member[context]] += counts[context]
    return _merge(member, sums, number)


@kernel
def _log_table(counts: Floats) -> Floats:
    total = counts.sum() + 0.05 * len(counts)
    table: Floats = -np.log2((counts + 0.05) / total)
    return table


@kernel
def _bits_under(counts: Floats, log_table: Floats) -> float:
    return float((counts * log_table).sum())


@kernel
def _merge(member: Ints, sums: Floats, number: int) -> tuple[Ints, int]:
    """Merges two clusters at a time while that makes symbols and tables together smaller."""
    alone = np.zeros(number)
    alive = np.ones(number, np.bool_)
    for cluster in range(number):
        alone[cluster] = _bits(sums[cluster])
        alive[cluster] = sums[cluster].sum() > 0
    gains = np.full((number, number), -np.inf)
    for one in range(number):
        for other in range(one):
            if alive[one] and alive[other]:
                gains[one, other] = alone[one] + alone[other] - _bits(sums[one] + sums[other])
    while True:
        flat = int(gains.argmax())
        one, other = flat // number, flat % number
        if not gains[one, other] > 0:
            break
        sums[other] += sums[one]
        alone[other] = _bits(sums[other])
        alive[one] = False
        gains[one, :], gains[:, one] = -np.inf, -np.inf
        for context in range(len(member)):
            if member[context] == one:
                member[context] = other
        for third in range(number):
            if alive[third] and third != other:
                gain = alone[third] + alone[other] - _bits(sums[third] + sums[other])
                gains[max(third, other), min(third, other)] = gain
    fresh = np.cumsum(alive) - 1
    for context in range(len(member)):
        member[context] = fresh[member[context]]
    return member, int(alive.sum())


@kernel
def _pack(table: Ints) -> Bytes:
    stream = np.zeros(table.size * 4 + 4 * len(table) + 8, np.uint8)
    at = np.zeros(1, np.int64)
    for frequencies in table:
        last = 0
        for token in range(len(frequencies)):
            if frequencies[token]:
                last = token + 1
        write_gamma(stream, at, last)
        for token in range(last):
            write_gamma(stream, at, frequencies[token])
    return stream[: (at[0] + 7) >> 3]


@kernel
def _unpack(stream: Bytes, frequencies: Ints, clusters: int) -> bool:
    at = np.zeros(1, np.int64)
    for cluster in range(clusters):
        last = read_gamma(stream, at)
        if last < 0 or last > TOKENS:
            return False
        total = 0
        for token in range(last):
            frequency = read_gamma(stream, at)
            if frequency < 0 or frequency > ONE:
                return False
            frequencies[cluster * TOKENS + token] = frequency
            total += frequency
        if total != ONE:
            return False
    return bool(at[0] <= 8 * len(stream))
