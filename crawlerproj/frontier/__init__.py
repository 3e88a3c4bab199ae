"""Which URL next, and when? Mercator's frontier: priority front queues, back queues, a heap of times."""
