"""Signals: a process that is asked to stop first removes what is temporary."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What a terminal, a supervisor or a closed window sends; not every system has all of them."""


class StopSignal(BaseException):
    """A signal asked the process to end. Not an Exception, so that no handler swallows it."""


@contextmanager
def in_good_order() -> Iterator[None]:
    """Close what is open within when a signal comes, before the process ends.

    The process ends by SIGTERM afterwards, as it would have without this; Ctrl-C stays a KeyboardInterrupt.
    """
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _hang_up if number == getattr(signal, "SIGHUP", None) else _stop)
    try:
        yield
    except StopSignal:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_tidily() -> None:
    """Let SIGTERM and SIGHUP end the process like an exit, which cleans up."""
    for number in SIGNALS:
        if number != signal.SIGINT and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)  # nothing may interrupt the clean-up
    raise SystemExit(128 + number)


def _hang_up(number: int, frame: FrameType | None) -> None:
    """Like SIGTERM, also for a server that handles only that one."""
    signal.raise_signal(signal.SIGTERM)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """Once: a second signal must not interrupt the clean-up."""
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt if number == signal.SIGINT else StopSignal
