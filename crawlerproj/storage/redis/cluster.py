"""A line to a Redis Cluster: every command goes to the node that has its key.

A script never leaves its hash tag, so it never leaves its node. What is sent as one batch is a round trip
to each node it concerns, one after the other; the order of a group (offers, commits, rows) holds across
nodes, because each step is answered before the next is sent. While one node is away the crawl waits, as it
does for a single server: what is due on the others could not be committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, TryAgainError

from crawlerproj.storage.interface import Pause
from crawlerproj.storage.redis.line import Line, spelled

_REARRANGED = (AskError, ClusterDownError, TryAgainError)  # AskError: MOVED too
_KEYLESS = frozenset(("INFO", "PING", "TIME"))
_Node = tuple[str, int]


class ClusterLine(Line):
    """Lines to all nodes, as one."""

    def __init__(self, client: Any, **options: Any) -> None:
        super().__init__(client)  # never connected: `_guide` asks the named node where the others are
        self._client, self._options = client, options
        self._guide = Line(client)
        self._nodes: dict[_Node, Line] = {}
        self._ranges: list[tuple[int, int, _Node]] = []  # slots, from and to, and who has them

    def connect(self) -> None:
        """All nodes: whoever was restarted is noticed before anything is written."""
        if not self._ranges:
            self._look()
        for line in list(self._nodes.values()):
            self._through(line, line.connect)
        self.run_id = b"+".join(sorted(line.run_id for line in self._nodes.values()))

    def answers(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        self.connect()
        parts: dict[Line, list[int]] = {}
        for place, command in enumerate(commands):
            parts.setdefault(self._node_of(command), []).append(place)
        answers: list[Any] = [None] * len(commands)
        for line, places in parts.items():
            found = self._through(line, line.answers, [commands[place] for place in places])
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        for answer in answers:
            if isinstance(answer, _REARRANGED):
                self._ranges = []  # to be asked for anew
                raise self._wait(answer) from answer
        self.trouble = ""
        return answers

    def send(self, tag: Any, name: str, key: bytes, *arguments: Any) -> None:
        self.connect()
        line = self._node_of(spelled(name, key, arguments))
        self._through(line, line.send, tag, name, key, *arguments)

    def send_later(self, tag: Any, name: str, key: bytes, *arguments: Any) -> None:
        self.connect()
        line = self._node_of(spelled(name, key, arguments))
        self._through(line, line.send_later, tag, name, key, *arguments)

    def reload(self) -> None:
        self.connect()
        for line in self._nodes.values():
            self._through(line, line.reload)

    def close(self) -> None:
        for line in (self._guide, *self._nodes.values()):
            line.close()

    # --- nodes ------------------------------------------------------------------------------

    def _through(self, line: Line, do: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return do(*arguments)
        except Pause:
            self.trouble = line.trouble
            self._ranges = []  # another node may have taken its place
            raise

    def _node_of(self, command: Sequence[Any]) -> Line:
        """What has no key is asked of the node with the first slot: times, above all, are one node's."""
        slot = 0 if command[0] in _KEYLESS else key_slot(_key_of(command))
        for first, last, node in self._ranges:
            if first <= slot <= last:
                return self._nodes[node]
        self._ranges = []
        self.trouble = f"no node of the Redis Cluster has slot {slot}: the crawl waits until one does"
        raise Pause(self.trouble)

    def _look(self) -> None:
        """Who has which slots; lines to nodes that are still there are kept."""
        found = [(int(first), int(last), self._address(owner)) for first, last, owner, *_ in self._slots()]
        nodes = {node for _, _, node in found}
        for node in nodes - set(self._nodes):
            self._nodes[node] = Line(self._client, node=node, **self._options)
        for node in set(self._nodes) - nodes:
            self._nodes.pop(node).close()
        self._ranges = sorted(found)

    def _slots(self) -> list[Any]:
        """As any node tells that can be reached."""
        for line in (self._guide, *self._nodes.values()):
            try:
                [rows] = line.commands(("CLUSTER", "SLOTS"))
                return list(rows)
            except Pause as pause:
                self.trouble = str(pause)
        raise Pause(self.trouble)

    def _address(self, owner: Sequence[Any]) -> _Node:
        """A node that does not know its own address is where it was asked."""
        host = owner[0].decode() if isinstance(owner[0], bytes) else owner[0]
        return host or self._client.connection_pool.connection_kwargs.get("host", "localhost"), int(owner[1])


def _key_of(command: Sequence[Any]) -> bytes:
    place = 3 if command[0] in ("EVALSHA", "SCAN") else 1  # a scan has a pattern, with the tag in it
    key = command[place]
    return key if isinstance(key, bytes) else str(key).encode()


def line_to(client: Any, **options: Any) -> Line:
    """A line to a single server or to a cluster, whichever it is."""
    probe = Line(client)
    try:
        [told] = probe.commands(("INFO", "server"))
        cluster = "redis_mode:cluster" in (told.decode() if isinstance(told, bytes) else str(told))
    except Pause:
        cluster = False  # whoever uses the line will be told
    finally:
        probe.close()
    return ClusterLine(client, **options) if cluster else Line(client, **options)
