"""The Redis engine on a cluster of three nodes: the same contract, and workers over all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawlerproj.storage.interface import Pause
from crawlerproj.storage.redis import RedisStorage
from crawlerproj.storage.redis.cluster import ClusterLine
from crawlerproj.storage.redis.opening import agree, never_restarted

from .contract import StorageContract, commit, group_of, offered, run, settle
from .redis_server import PROGRAM, Cluster
from .test_redis import RedisEngine

PARTITIONS = 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if PROGRAM is None:
        pytest.skip("redis-server is missing: apt-get install redis-server (or valkey)")
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.fixture
def engine(cluster: Cluster) -> Iterator[RedisEngine]:
    cluster.flush()
    engine = RedisEngine(cluster)
    yield engine
    engine.end()


class TestRedisCluster(StorageContract):
    pass


def opened(cluster: Cluster, name: str, *partitions: int) -> RedisStorage:
    storage = RedisStorage(cluster.client(), "web", name, partitions=PARTITIONS, ranks=10, grace=0,
                           patience=0.0)
    for partition in partitions:
        assert storage.claim(partition)
    return storage


def test_partitions_lie_on_all_nodes_and_a_group_spans_them(cluster: Cluster) -> None:
    cluster.flush()
    one, two = opened(cluster, "one", *range(4)), opened(cluster, "two", *range(4, 8))
    assert isinstance(one.line, ClusterLine)
    names = [f"h{n}" for n in range(60)]
    one.offer([offered(name, path) for name in names for path in ("1", "2")])
    one.put("robots", b"a", b"rules")
    commit(one)
    assert all(len(list(node.client().scan_iter("web:*:s*"))) > 0 for node in cluster.nodes)
    for name in names:
        owner = one if one.may_fetch(group_of(name)) else two
        settle(owner, name)
    commit(one)
    commit(two)
    three = opened(cluster, "three")
    assert three.counts == {"offered": 120, "done": 60}
    assert all(run(three, name) == ["2"] for name in names)
    assert three.get("robots", b"a") == b"rules"
    assert len(list(three.items("run"))) == 60 and len(list(three.items("seen"))) == 120
    for storage in (one, two, three):
        storage.close()


def test_start_urls_orders_and_the_roster_work(cluster: Cluster) -> None:
    cluster.flush()
    one = opened(cluster, "one")
    one.line.commands(("RPUSH", "web:start_urls", "http://a/"))
    taken = one.start_urls.pop(10)
    one.start_urls.offered(taken)
    assert (taken, one.start_urls.pop(10)) == (["http://a/"], [])
    one.roster.tell("one", {"done": 1})
    one.roster.order(["one"], "drain")
    assert one.roster.tell("one", {"done": 2}).order == "drain"
    assert one.roster.present() == {"one": {"done": 2}}
    one.close()


def test_one_node_s_restart_is_a_restart(cluster: Cluster) -> None:
    """Any node may have lost its last second: what was written there is written again."""
    cluster.flush()
    with cluster.client() as client:
        agree(client, "web", spelling="abc", software="x", partitions=PARTITIONS)
        assert never_restarted(client, "web")
    one = opened(cluster, "one", *range(PARTITIONS))
    one.offer([offered(f"h{n}", "1") for n in range(30)])
    commit(one)
    one.leases._grace = 1e9  # a young server grants nothing, and so can have granted nothing else
    node = cluster.nodes[1]
    node.kill()
    with pytest.raises(Pause, match="cannot be reached"):
        one.arrivals()
    node.start()
    with node.client() as client:
        client.flushall()  # all it had is lost, leases too
    cluster.wait_for(node)
    for line in one.line._nodes.values():
        line._tried_at = float("-inf")
    one.arrivals()  # reconnects
    assert one.dirty and one.leases.held.keys() == set(range(PARTITIONS))
    commit(one)
    two = opened(cluster, "two")
    assert two.counts["offered"] == 30
    assert all(run(two, f"h{n}") == ["1"] for n in range(30))
    with cluster.client() as client:
        assert not never_restarted(client, "web")
    one.close()
    two.close()
