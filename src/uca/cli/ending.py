"""Requests to end: SIGTERM and SIGHUP (a batch system, a closed terminal) end the program as an interrupt does.

Promises: what is half written is removed, the old result stays, one line says so, and the exit code is 128 + the number of
the signal. A hang-up that is ignored (``nohup``) stays ignored. After the first request others, and interrupts, do nothing,
neither while what is half written is removed nor afterwards: the program ends.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGTERM", "SIGHUP")  # some systems have no SIGHUP
SIGNALS = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


@contextmanager
def ending_as_interrupt() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on a request to end; the list then holds the number of the signal."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def end(number: int, frame: FrameType | None) -> None:
        if received:
            return
        received.append(number)
        signal.signal(signal.SIGINT, _nothing)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = {number: old for number, old in before.items() if old == signal.SIG_DFL}
    for number in taken:
        signal.signal(number, end)
    try:
        yield received
    finally:
        for number, old in taken.items():
            signal.signal(number, signal.SIG_IGN if received else old)
        if received:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _nothing(number: int, frame: FrameType | None) -> None:
    """Not ``SIG_IGN``: of a signal that waits for its turn when it becomes ignored, Python prints an error."""


@contextmanager
def held_back() -> Iterator[None]:
    """Ignore requests to end, and interrupts, for the moment in which a result gets its name."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *SIGNALS)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
