"""A line an iteration, through the standard logging module."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger("uca")


@contextmanager
def progress(verbose: bool) -> Iterator[Callable[[int, float, float, float], None] | None]:
    """A callback that logs upper bound, lower bound and gap; None when not ``verbose``.

    Where the application has not configured logging, lines go to standard error for the length of the context.
    """
    if not verbose:
        yield None
        return

    def line(iteration: int, upper: float, lower: float, gap: float) -> None:
        logger.info("pass %d  upper %.10g  lower %.10g  gap %.1e", iteration, upper, lower, gap)

    handler = None if logger.hasHandlers() else logging.StreamHandler()
    level = logger.level
    if handler is not None:
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield line
    finally:
        logger.setLevel(level)
        if handler is not None:
            logger.removeHandler(handler)
