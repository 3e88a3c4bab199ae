"""Scrapy's signals, cheaper to send: who listens, and to what, is worked out once and not for each page.

Scrapy asks the dispatcher's tables and the receiver's signature at every signal, and makes a task for each
receiver of the signals that may be awaited. Here a signal's listeners are kept until its tables change. A
listener that awaits, or a call of an unusual kind, has Scrapy's own way; so have results and errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from pydispatch import dispatcher
from pydispatch.robustapply import function
from scrapy.crawler import Crawler
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

logger = logging.getLogger("scrapy.utils.signal")  # errors of listeners are told there

# A reference to a listener (or itself) and the names of what it takes; None: everything.
Listener = tuple[Any, frozenset[str] | None]
_TAKES_ALL = 8  # of a code object's flags: it has a **parameter


class QuickSignals(SignalManager):
    """For a running crawl: `use` puts it in the place of the engine's and the scraper's."""

    def __init__(self, sender: object) -> None:
        super().__init__(sender)
        self._known: dict[Any, tuple[list[list[Any]], list[Listener] | None]] = {}

    @classmethod
    def use(cls, crawler: Crawler) -> None:
        engine: Any = crawler.engine
        crawler.signals = engine.signals = engine.scraper.signals = cls(crawler)

    def send_catch_log(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        listeners = self._listeners(signal)
        if listeners is None or "dont_log" in named or "sender" in named:
            return super().send_catch_log(signal, **named)
        results: list[tuple[Any, Any]] = []
        for receiver, given in self._calls(listeners, signal, named):
            result: Any
            try:
                result = receiver(**given)
                if isinstance(result, Deferred):
                    logger.error("Cannot return deferreds from signal handler: %(receiver)s",
                                 {"receiver": receiver}, extra={"spider": named.get("spider")})
            except StopDownload:
                result = Failure()  # type: ignore[no-untyped-call]
            except Exception:
                result = Failure()  # type: ignore[no-untyped-call]
                self._tell(receiver, named)
            results.append((receiver, result))
        return results

    async def send_catch_log_async(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        listeners = self._listeners(signal)
        if listeners is None or "dont_log" in named or "sender" in named:
            return await super().send_catch_log_async(signal, **named)
        results: list[tuple[Any, Any]] = []
        for receiver, given in self._calls(listeners, signal, named):
            result: Any
            try:
                result = receiver(**given)
                if result is not None:
                    result = await ensure_awaitable(result, _warn=global_object_name(receiver))
            except Exception as error:
                result = error
                self._tell(receiver, named)
            results.append((receiver, result))
        return results

    def _calls(
        self, listeners: list[Listener], signal: Any, named: dict[str, Any]
    ) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
        """The living listeners, each with what it takes of what is told."""
        told = {"signal": signal, "sender": self.sender, **named}
        calls = []
        for reference, names in listeners:
            receiver = reference() if isinstance(reference, dispatcher.WEAKREF_TYPES) else reference
            if receiver is not None:
                given = told if names is None else {name: told[name] for name in names if name in told}
                calls.append((receiver, given))
        return calls

    def _listeners(self, signal: Any) -> list[Listener] | None:
        """Who is to be told; None if one of them awaits or is none of the usual kinds."""
        own = dispatcher.connections.get(id(self.sender)) or {}
        all_senders = dispatcher.connections.get(id(dispatcher.Any)) or {}
        tables = [table.get(name) or [] for table in (own, all_senders) for name in (signal, dispatcher.Any)]
        known = self._known.get(signal)
        if known is None or known[0] != tables:
            references = dict.fromkeys(each for table in tables for each in table)
            known = self._known[signal] = [list(table) for table in tables], _understood(list(references))
        return known[1]

    def _tell(self, receiver: object, named: dict[str, Any]) -> None:
        logger.error("Error caught on signal handler: %(receiver)s", {"receiver": receiver},
                     exc_info=True, extra={"spider": named.get("spider")})


def _understood(references: list[Any]) -> list[Listener] | None:
    listeners: list[Listener] = []
    for reference in references:
        receiver = reference() if isinstance(reference, dispatcher.WEAKREF_TYPES) else reference
        if receiver is None:
            continue
        try:
            called, code, first = function(receiver)
        except (AttributeError, ValueError):
            return None
        if iscoroutinefunction(called) or called is not receiver:
            return None
        names = None if code.co_flags & _TAKES_ALL else frozenset(
            code.co_varnames[first:code.co_argcount])
        listeners.append((reference, names))
    return listeners
