"""Signals sent the quick way: every listener hears what it would hear from Scrapy's own manager."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from pydispatch import dispatcher
from scrapy import signals
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import succeed
from twisted.python.failure import Failure

from crawlerproj.signals import QuickSignals

SIGNAL = signals.item_scraped


class Sender:
    """Whoever the signals are of; each test has its own."""


class Listeners:
    """Callables of every kind; what they heard is in `heard`."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def of_item(self, item: Any) -> str:
        self.heard.append(("item", item))
        return "item"

    def of_nothing(self) -> None:
        self.heard.append("nothing")

    def of_all(self, **everything: Any) -> None:
        self.heard.append(sorted(everything))

    def of_signal_and_sender(self, signal: Any, sender: Any, spider: Any) -> None:
        self.heard.append((signal is SIGNAL, type(sender), spider))

    def that_fails(self, item: Any) -> None:
        self.heard.append("fails")
        raise RuntimeError("a bug in a listener")

    def that_wants_more(self, item: Any, never_told: Any) -> None:
        self.heard.append("not reached")

    async def that_awaits(self, item: Any) -> str:
        self.heard.append(("awaited", item))
        return "awaited"

    def that_defers(self, item: Any) -> Any:
        self.heard.append("defers")
        return succeed("deferred")


SYNCHRONOUS = [
    "of_item", "of_nothing", "of_all", "of_signal_and_sender", "that_fails", "that_wants_more",
]


def outcome(results: list[tuple[Any, Any]]) -> list[Any]:
    plain = []
    for receiver, result in results:
        error = result.value if isinstance(result, Failure) else result
        plain.append((receiver.__name__, type(error).__name__ if isinstance(error, Exception) else error))
    return sorted(plain, key=str)


def listening(manager: SignalManager, names: list[str]) -> Listeners:
    listeners = Listeners()
    for name in names:
        manager.connect(getattr(listeners, name), SIGNAL)
    return listeners


def told(manager: SignalManager, names: list[str]) -> Any:
    listeners = listening(manager, names)
    results = manager.send_catch_log(SIGNAL, item=1, spider="s", response=None)
    return sorted(listeners.heard, key=str), outcome(results)


async def told_and_awaited(manager: SignalManager, names: list[str]) -> Any:
    listeners = listening(manager, names)
    results = await manager.send_catch_log_async(SIGNAL, item=1, spider="s", response=None)
    return sorted(listeners.heard, key=str), outcome(results)


@pytest.mark.parametrize("names", [[name] for name in SYNCHRONOUS] + [SYNCHRONOUS, []])
def test_listeners_hear_what_scrapy_would_tell_them(names: list[str]) -> None:
    sender, other = Sender(), Sender()
    assert told(QuickSignals(sender), names) == told(SignalManager(other), names)


@pytest.mark.parametrize("names", [
    ["of_item"], ["that_awaits"], ["that_defers"], ["that_fails", "of_item"],
    [*SYNCHRONOUS, "that_awaits", "that_defers"]])
def test_listeners_that_may_await_hear_and_answer_the_same(names: list[str]) -> Any:
    sender, other = Sender(), Sender()

    async def both() -> None:
        quick = await told_and_awaited(QuickSignals(sender), names)
        assert quick == await told_and_awaited(SignalManager(other), names)

    return deferred_from_coro(both())


def test_who_comes_is_told_and_who_goes_is_not() -> None:
    sender = Sender()
    manager, first, second = QuickSignals(sender), Listeners(), Listeners()
    manager.connect(first.of_item, SIGNAL)
    manager.send_catch_log(SIGNAL, item=1)
    manager.connect(second.of_item, SIGNAL)
    manager.send_catch_log(SIGNAL, item=2)
    manager.disconnect(first.of_item, SIGNAL)
    manager.send_catch_log(SIGNAL, item=3)
    assert first.heard == [("item", 1), ("item", 2)]
    assert second.heard == [("item", 2), ("item", 3)]


def test_a_listener_that_is_gone_is_not_kept_alive() -> None:
    sender = Sender()
    manager, listener = QuickSignals(sender), Listeners()
    heard = listener.heard
    manager.connect(listener.of_item, SIGNAL)
    manager.send_catch_log(SIGNAL, item=1)
    del listener
    gc.collect()
    assert manager.send_catch_log(SIGNAL, item=2) == []
    assert heard == [("item", 1)]


def test_listeners_for_any_sender_and_any_signal_are_told() -> None:
    sender, listener = Sender(), Listeners()
    manager = QuickSignals(sender)
    dispatcher.connect(listener.of_item, SIGNAL)
    dispatcher.connect(listener.of_nothing, sender=sender)
    try:
        manager.send_catch_log(SIGNAL, item=1)
    finally:
        dispatcher.disconnect(listener.of_item, SIGNAL)
        dispatcher.disconnect(listener.of_nothing, sender=sender)
    assert sorted(listener.heard, key=str) == [("item", 1), "nothing"]
