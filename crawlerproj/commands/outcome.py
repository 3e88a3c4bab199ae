"""How a command ends: an exit code, and for a person one line where that is not 0."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from scrapy.commands import ScrapyCommand

INTERRUPTED = 130  # as shells say it of a program that Ctrl-C has ended
_STANDARD_OUTPUT = 1


@contextmanager
def outcome(command: ScrapyCommand, name: str, *expected: type[Exception]) -> Iterator[None]:
    """Expected errors are told in a line, Ctrl-C too; that nobody reads the rest of the output is none."""
    try:
        try:
            yield
            sys.stdout.flush()
        except BrokenPipeError:
            if not _nobody_reads():
                raise
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted", file=sys.stderr)
        command.exitcode = INTERRUPTED
    except expected as error:
        print(f"{name}: {error}", file=sys.stderr)
        command.exitcode = 1


def _nobody_reads() -> bool:
    """Is it the standard output whose reader has left? What is still to be written then goes nowhere."""
    look = select.poll()
    look.register(_STANDARD_OUTPUT, 0)
    if not look.poll(0):
        return False
    # The interpreter must not complain while it closes.
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STANDARD_OUTPUT)
    return True
