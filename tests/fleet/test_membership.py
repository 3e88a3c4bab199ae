"""Fair shares of partitions: claimed, drained, given back, lost; without a server."""

from __future__ import annotations

from crawlerproj.frontier.membership import Membership


class Held:
    """Leases of one worker, some of which others have."""

    def __init__(self, taken=()):
        self.taken, self.mine, self.lost = set(taken), set(), set()

    def claim(self, partition):
        if partition in self.taken:
            return None
        self.mine.add(partition)
        return b"fence"

    def renew(self):
        return set(self.lost)

    def abandoned(self, partition):
        self.lost.discard(partition)

    def release(self, partition):
        self.mine.discard(partition)

    def unclaimed(self, partitions):
        return [partition for partition in partitions if partition not in self.taken]


class Owned:
    """Partitions of a frontier; those in `busy` are not drained."""

    def __init__(self):
        self.owned, self.draining, self.busy, self.orphaned = set(), set(), set(), set()

    def adopt(self, partition, wall):
        if partition in self.orphaned:
            return False
        self.owned.add(partition)
        return True

    def drain(self, partition):
        self.draining.add(partition)

    def drained(self, partition):
        return partition not in self.busy

    def released(self, partition):
        self.owned.discard(partition)
        self.draining.discard(partition)

    abandon = released


class Groups:
    landed = 0
    written = 0


def member(partitions=10, taken=()):
    leases, owned, groups, closed = Held(taken), Owned(), Groups(), []
    made = Membership(leases, owned, range(partitions), mark=lambda: groups.written,
                      landed=lambda: groups.landed, hang_up=closed.append)
    return made, leases, owned, groups, closed


def test_a_worker_alone_claims_all_that_is_free():
    made, leases, owned, *_ = member(taken=(3, 4))
    made.balance(0.0, 0, 1)
    assert owned.owned == leases.mine == set(range(10)) - {3, 4}


def test_shares_add_up_whatever_the_number_of_workers():
    made, *_ = member(64)
    for workers in range(1, 70):
        assert sum(made.share(place, workers) for place in range(workers)) == 64


def test_what_is_too_much_is_drained_and_released_when_its_last_group_has_landed():
    made, leases, owned, groups, closed = member()
    made.balance(0.0, 0, 1)
    groups.written = 1
    owned.busy = {5}
    made.balance(0.0, 0, 2)
    assert owned.draining == {5, 6, 7, 8, 9} and len(leases.mine) == 10
    groups.landed = 1
    made.balance(0.0, 0, 2)
    assert leases.mine == {0, 1, 2, 3, 4, 5}  # a transfer of 5 goes on
    assert {6} in closed and {5} not in closed  # idle connections go before the lease does
    owned.busy = set()
    made.balance(0.0, 0, 2)
    assert leases.mine == owned.owned == {0, 1, 2, 3, 4}


def test_what_is_lost_is_forgotten_and_its_connections_closed():
    made, leases, owned, _, closed = member()
    made.balance(0.0, 0, 1)
    leases.lost = {2}
    assert made.renew() == [2]
    assert 2 not in owned.owned and closed == [{2}]


def test_a_partition_with_a_transfer_of_its_former_time_here_is_not_taken():
    made, leases, owned, *_ = member(taken=range(9))
    owned.orphaned = {9}
    assert made.balance(0.0, 0, 1) == []
    assert leases.mine == set()


def test_a_worker_that_leaves_claims_nothing_more():
    made, leases, *_ = member()
    made.balance(0.0, 0, 1)
    made.closing = True
    made.balance(0.0, 0, 1)
    assert made.empty_handed and leases.mine == set()
