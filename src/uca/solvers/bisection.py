"""Bisection on the sign of the derivative: for one multiplier exact, for several one coordinate at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._progress import Callback
from ..dual import Dual, DualPoint
from .coordinate import descend
from .found import Found

BRACKET_WIDTH = 1e-14  # of the bracket, relative
LARGEST_PRICE = 1e12  # price, in units of g(0), beyond which no minimum is looked for


def solve_bisection(dual: Dual, *, tol: float, max_iter: int, callback: Callback | None = None) -> Found:
    """Bisect each coordinate in turn."""
    return descend(dual, _bisect_line, tol=tol, max_iter=max_iter, callback=callback)


def _bisect_line(evaluate: Callable[[float], DualPoint], j: int, price: float, unit: float) -> None:
    """Halve a bracket of the minimum; g falls along j as long as more than the bound is spent."""

    def falls(x: float) -> bool:
        return bool(evaluate(x).spent[j] > 1.0)

    if not falls(0.0):
        return
    low, high = 0.0, max(price, 0.1 * unit)
    while falls(high):
        low, high = high, 10.0 * high
        if high > LARGEST_PRICE * unit:
            return
    while high - low > BRACKET_WIDTH * max(high, np.finfo(float).tiny):
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) else (low, middle)
