"""Progress of a fit: a live line on a terminal, lines through the standard logging module elsewhere, or a callback."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

logger = logging.getLogger("uca")

Item = TypeVar("Item")

#: Called once an iteration with (iteration, upper bound, lower bound, relative gap).
Callback = Callable[[int, float, float, float], None]
#: Called once a piece of work is done with (how many are done, how many there are).
Done = Callable[[int, int], None]


@contextmanager
def progress(verbose: bool | Callback) -> Iterator[Callback | None]:
    """What to call after each pass of a solver; None when silent.

    ``True`` shows one live line where standard error is a terminal and tqdm is installed, and logs a line a pass to the
    logger ``uca`` otherwise. Where the application has not configured logging, those lines go to standard error for the
    length of the context. A callable is called itself.
    """
    if callable(verbose):
        yield verbose
    elif not verbose:
        yield None
    elif (bar := _live_line()) is not None:
        with bar:
            yield _show_on(bar)
    else:
        with _logging_to_stderr():
            yield _log


def counted(items: Iterable[Item], total: int, what: str, verbose: bool | Done) -> Iterator[Item]:
    """The items, with a bar of how many are done on a terminal, or a log line for every tenth part, if ``verbose``.

    Both say how long the rest will take at the same pace. A callable is called itself, once an item is done.
    """
    if callable(verbose):
        for done, item in enumerate(items, start=1):
            verbose(done, total)
            yield item
    elif not verbose:
        yield from items
    elif (tqdm := _tqdm()) is not None:
        yield from tqdm(items, total=total, desc="uca", unit=f" {what}")
    else:
        with _logging_to_stderr():
            started = time.monotonic()
            for done, item in enumerate(items, start=1):
                if done == total or done * 10 // total > (done - 1) * 10 // total:
                    left = (time.monotonic() - started) / done * (total - done)
                    logger.info("%d of %d %s%s", done, total, what, f", {_duration(left)} left" if done < total else "")
                yield item


def _duration(seconds: float) -> str:
    """About so long, in words."""
    if seconds < 100:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def log_once(text: str) -> None:
    """One line through the logger, unless it is empty."""
    if text:
        with _logging_to_stderr():
            logger.info(text)


def _line(upper: float, lower: float, gap: float) -> str:
    return f"upper {upper:.10g}  lower {lower:.10g}  gap {gap:.1e}"


def _log(iteration: int, upper: float, lower: float, gap: float) -> None:
    logger.info("pass %d  %s", iteration, _line(upper, lower, gap))


def _tqdm() -> Any:
    """tqdm, or None where nobody would see it or the application takes log lines."""
    if sys.stderr is None or not sys.stderr.isatty() or logger.hasHandlers():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm


def _live_line() -> Any:
    tqdm = _tqdm()
    return tqdm and tqdm(bar_format="uca: pass {n_fmt} [{elapsed}]  {desc}", leave=True)


def _show_on(bar: Any) -> Callback:
    def show(iteration: int, upper: float, lower: float, gap: float) -> None:
        bar.n = iteration
        bar.set_description_str(_line(upper, lower, gap))

    return show


@contextmanager
def _logging_to_stderr() -> Iterator[None]:
    handler = None if logger.hasHandlers() else logging.StreamHandler()
    level = logger.level
    if handler is not None:
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)
