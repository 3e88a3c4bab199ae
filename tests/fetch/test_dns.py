import asyncio
from pathlib import Path

import pytest

from crawlerproj.fetch.dns import DnsError, Resolver, read_hosts
from crawlerproj.fetch.dns_query import growing_waits

from .servers import dns_server, on_loop


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@on_loop
async def test_an_answer_is_known_until_its_records_expire() -> None:
    clock = Clock()
    async with dns_server({"a.test": ["192.0.2.1", "192.0.2.2"]}, ttl=120) as (server, address):
        resolver = Resolver([address], now=clock)
        assert resolver.cached("a.test") is None
        assert await resolver.lookup("A.test.") == ["192.0.2.1", "192.0.2.2"]
        clock.time += 119
        assert resolver.cached("a.test") == ["192.0.2.1", "192.0.2.2"]
        assert resolver.counters["misses"] == len(server.asked) == 1
        clock.time += 2
        assert resolver.cached("a.test") is None
        await resolver.lookup("a.test")
        # Counted here, not at the server: c-ares below keeps answers too, by the true clock.
        assert resolver.counters["misses"] == 2
        await resolver.close()


@pytest.mark.parametrize(("ttl", "kept"), [(1, 60), (10_000_000, 86_400)])
@on_loop
async def test_a_ttl_is_held_within_bounds(ttl: int, kept: int) -> None:
    clock = Clock()
    async with dns_server({"a.test": ["192.0.2.1"]}, ttl=ttl) as (_, address):
        resolver = Resolver([address], now=clock)
        await resolver.lookup("a.test")
        clock.time += kept - 1
        assert resolver.cached("a.test") == ["192.0.2.1"]
        clock.time += 2
        assert resolver.cached("a.test") is None
        await resolver.close()


@on_loop
async def test_a_missing_host_is_remembered_for_a_while() -> None:
    clock = Clock()
    async with dns_server({}) as (server, address):
        resolver = Resolver([address], now=clock)
        for _ in range(2):
            with pytest.raises(DnsError) as caught:
                await resolver.lookup("nowhere.test")
            assert caught.value.reason == "no_such_host"
        assert resolver.cached("nowhere.test") == []
        assert len(server.asked) == 1
        assert resolver.counters["failures"] == 1
        clock.time += 31
        assert resolver.cached("nowhere.test") is None
        await resolver.close()


@on_loop
async def test_simultaneous_questions_are_one_query() -> None:
    async with dns_server({"a.test": ["192.0.2.1"]}) as (server, address):
        resolver = Resolver([address])
        answers = await asyncio.gather(*(resolver.lookup("a.test") for _ in range(20)))
        assert answers == [["192.0.2.1"]] * 20
        assert len(server.asked) == 1
        assert (resolver.counters["misses"], resolver.counters["joins"]) == (1, 19)
        assert resolver.counters["seconds"] > 0
        await resolver.close()


@on_loop
async def test_one_who_gives_up_does_not_spoil_it_for_the_others() -> None:
    async with dns_server({"a.test": ["192.0.2.1"]}) as (_, address):
        resolver = Resolver([address])
        first = asyncio.ensure_future(resolver.lookup("a.test"))
        second = asyncio.ensure_future(resolver.lookup("a.test"))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == ["192.0.2.1"]
        assert first.cancelled()
        await resolver.close()


@on_loop
async def test_aaaa_is_asked_only_where_there_is_no_a() -> None:
    async with dns_server({"six.test": ["2001:db8::1"], "none.test": []}) as (server, address):
        resolver = Resolver([address])
        assert await resolver.lookup("six.test") == ["2001:db8::1"]
        assert server.asked == [("six.test", 1), ("six.test", 28)]
        with pytest.raises(DnsError, match="no_address"):
            await resolver.lookup("none.test")
        await resolver.close()


@on_loop
async def test_a_silent_server_ends_in_a_timeout() -> None:
    async with dns_server({}) as (server, address):
        server.silent = 99
        resolver = Resolver([address], waits=[0.05])
        with pytest.raises(DnsError) as caught:
            await resolver.lookup("a.test")
        assert caught.value.reason == "timeout"
        await resolver.close()


@on_loop
async def test_closing_ends_the_questions_under_way() -> None:
    async with dns_server({}) as (server, address):
        server.silent = 99
        resolver = Resolver([address], waits=[60])
        asking = asyncio.ensure_future(resolver.lookup("a.test"))
        await asyncio.sleep(0)
        await resolver.close()
        with pytest.raises(DnsError, match="closed"):
            await asking


@on_loop
async def test_the_cache_forgets_what_was_asked_for_longest_ago() -> None:
    async with dns_server({f"{n}.test": ["192.0.2.1"] for n in "abc"}) as (_, address):
        resolver = Resolver([address], size=2)
        await resolver.lookup("a.test")
        await resolver.lookup("b.test")
        assert resolver.cached("a.test")
        await resolver.lookup("c.test")
        assert resolver.cached("b.test") is None
        assert resolver.cached("a.test") and resolver.cached("c.test")
        await resolver.close()


@on_loop
async def test_a_name_that_cannot_be_asked_is_an_error_not_a_crash() -> None:
    async with dns_server({}) as (_, address):
        resolver = Resolver([address])
        for host in ("a" * 70 + ".test", "a..test", "x" * 300, "\udc80.test"):
            with pytest.raises(DnsError):
                await resolver.lookup(host)
        await resolver.close()


def test_literals_localhost_and_the_hosts_file_need_no_network(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# local\n::1 box\n10.0.0.7 box Box.lan # ours\nrubbish\n")
    resolver = Resolver([], hosts_file=hosts)
    assert resolver.cached("192.0.2.9") == ["192.0.2.9"]
    assert resolver.cached("[2001:db8::1]") == ["2001:db8::1"]
    assert resolver.cached("localhost") == ["127.0.0.1", "::1"]
    assert resolver.cached("a.localhost.") == ["127.0.0.1", "::1"]
    assert resolver.cached("BOX.lan") == ["10.0.0.7"]
    assert resolver.cached("box") == ["10.0.0.7", "::1"]
    assert resolver.cached("999.1.1.1") is None


def test_an_unreadable_hosts_file_is_an_empty_one(tmp_path: Path) -> None:
    assert read_hosts(tmp_path / "missing") == {}


def test_the_waits_grow_from_one_second_to_ninety() -> None:
    assert [round(wait, 1) for wait in growing_waits(1, 90, 5)] == [1.0, 3.1, 9.5, 29.2, 90.0]
    assert growing_waits(2, 90, 1) == [2]


@pytest.mark.parametrize("trouble", ["silent", "failing"])
@on_loop
async def test_a_server_in_trouble_is_asked_again_until_it_answers(trouble: str) -> None:
    async with dns_server({"a.test": ["192.0.2.1"]}) as (server, address):
        setattr(server, trouble, 3)
        resolver = Resolver([address], waits=growing_waits(0.05, 0.2, 5))
        assert await resolver.lookup("a.test") == ["192.0.2.1"]
        assert len(server.asked) == 4
        setattr(server, trouble, 99)
        with pytest.raises(DnsError) as caught:
            await resolver.lookup("b.test")
        assert caught.value.reason == {"silent": "timeout", "failing": "server_failure"}[trouble]
        assert len(server.asked) == 4 + 5
        await resolver.close()


@on_loop
async def test_an_expired_answer_is_given_while_it_is_asked_for_again() -> None:
    clock = Clock()
    async with dns_server({"a.test": ["192.0.2.1", "192.0.2.2"]}) as (server, address):
        resolver = Resolver([address], now=clock, stale=600, waits=[1])
        await resolver.lookup("a.test")
        server.table["a.test"] = ["192.0.2.3", "192.0.2.1"]
        clock.time += 130
        assert resolver.cached("a.test") == await resolver.lookup("a.test") == ["192.0.2.1", "192.0.2.2"]
        assert (resolver.counters["stale"], resolver.counters["refreshes"]) == (2, 1)
        await asyncio.gather(*resolver._questions.values())
        # The address in use stays first.
        assert resolver.cached("a.test") in (["192.0.2.1", "192.0.2.3"], ["192.0.2.1", "192.0.2.2"])
        clock.time += 120 + 601
        assert resolver.cached("a.test") is None
        await resolver.close()


@on_loop
async def test_a_refresh_that_learns_nothing_takes_nothing_away() -> None:
    clock = Clock()
    async with dns_server({"a.test": ["192.0.2.1"]}) as (server, address):
        resolver = Resolver([address], now=clock, stale=600, waits=[0.05])
        await resolver.lookup("a.test")
        server.failing = 99
        clock.time += 130
        again = Resolver([address], now=clock, stale=600, waits=[0.05])
        again._answers = resolver._answers  # c-ares below keeps answers of its own
        assert again.cached("a.test") == ["192.0.2.1"]
        await asyncio.gather(*again._questions.values())
        assert again.counters["failures"] == 1
        assert again.cached("a.test") == ["192.0.2.1"]
        await resolver.close()
        await again.close()


@on_loop
async def test_answers_outlive_the_process_but_not_their_expiry() -> None:
    clock, wall = Clock(), Clock()
    kept: dict[str, bytes] = {}
    async with dns_server({"a.test": ["192.0.2.1"]}) as (_, address):
        first = Resolver([address], now=clock, wall=wall, load=kept.get, save=kept.__setitem__)
        await first.lookup("a.test")
        with pytest.raises(DnsError):
            await first.lookup("missing.test")
        assert list(kept) == ["a.test"]
        clock.time, wall.time = 5.0, wall.time + 119
        second = Resolver([address], now=clock, wall=wall, load=kept.get)
        assert second.cached("a.test") == ["192.0.2.1"]
        clock.time += 2
        assert second.cached("a.test") is None
        wall.time += 2
        third = Resolver([address], now=clock, wall=wall, load=kept.get)
        assert third.cached("a.test") is None
        wall.time -= 1e6
        assert third.cached("a.test") is None
        for rubbish in (b"", b"\xc1", b"\x93\x01\x02\x03"):
            kept["a.test"] = rubbish
            assert third.cached("a.test") is None
        await first.close()


@on_loop
async def test_many_hosts_are_asked_at_once() -> None:
    table = {f"h{n}.test": [f"192.0.2.{n}"] for n in range(200)}
    async with dns_server(table) as (server, address):
        resolver = Resolver([address])
        found = await resolver.lookup_many([*table, "missing.test", "h1.test"])
        missing = found.pop("missing.test")
        assert isinstance(missing, DnsError) and missing.reason == "no_such_host"
        assert found == table
        assert len(server.asked) == 201
        await resolver.close()


@on_loop
async def test_a_slow_name_is_found_though_the_server_was_quick_so_far() -> None:
    table = {f"h{n}.test": ["192.0.2.1"] for n in range(40)} | {"slow.test": ["192.0.2.9"]}
    async with dns_server(table) as (server, address):
        server.delays["slow.test"] = 0.4
        resolver = Resolver([address], waits=[1, 2])
        await resolver.lookup_many(name for name in table if name != "slow.test")
        assert await resolver.lookup("slow.test") == ["192.0.2.9"]
        await resolver.close()
