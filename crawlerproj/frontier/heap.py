"""The heap: for each back queue, the earliest moment its host may be contacted."""

from __future__ import annotations

import heapq

from crawlerproj.frontier.back_queues import BackQueue


class DueHeap:
    """Hosts by their ready times. A place whose queue has another token by now is stale."""

    def __init__(self, back: dict[bytes, BackQueue]) -> None:
        self._back = back
        self._heap: list[tuple[float, int, bytes]] = []
        self._token = 0

    def schedule(self, queue: BackQueue, not_before: float = 0.0) -> None:
        self._token += 1
        queue.token = self._token
        heapq.heappush(self._heap, (max(queue.ready_at, not_before), self._token, queue.host))

    def pop(self, now: float) -> BackQueue | None:
        """Takes the root out if its host is due."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            _, token, host = heapq.heappop(heap)
            queue = self._back.get(host)
            if queue is not None and queue.token == token:
                queue.token = 0
                return queue
        return None

    def next_due(self) -> float | None:
        """When the next host is due, None if none is scheduled."""
        heap = self._heap
        while heap:
            _, token, host = heap[0]
            queue = self._back.get(host)
            if queue is not None and queue.token == token:
                return heap[0][0]
            heapq.heappop(heap)
        return None
