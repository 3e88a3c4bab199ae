"""The knobs of the frontier."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Limits:
    """The knobs of the frontier; units in settings.py."""

    queues: int = 8
    bias: float = 2.0
    back_queues_min: int = 48
    back_queues_max: int = 20_000
    quantum: int = 50
    max_attempts: int = 3
    delay_factor: float = 10.0
    delay_minimum: float = 2.0
    delay_maximum: float = 300.0
    ready_maximum: float = 600.0  # a loaded ready_at is never further away than this
    fetch_timeout: float = 60.0
