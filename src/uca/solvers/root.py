"""One background: find where the derivative of the dual, ``c - v'Bv``, is 0, by Brent's method.

g is convex in its one multiplier, so the derivative grows from negative to positive and a bracket always shrinks. Brent's
method is given ``(c / v'Bv)^(1/2) - 1``, which has the same sign and is nearly a straight line, as in trust regions. A
jump across zero (a multiple top eigenvalue) is found by the same bracket; the certificate then mixes the directions on
its two sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from .._progress import Callback
from ..dual import Dual, DualPoint
from .found import Found, Stop
from .visited import OutOfWork, Visited

BRACKET_START = 0.3  # in units of g(0)
BRACKET_GROWTH = 10.0
BRACKET_MAX = 1e12
LEAST = 1e-12  # variance over the bound; less is as good as none
LOOSE = (
    1e-4  # for tolerances from here on, so much of the bound or of the multiplier: the value errs by the square of it
)


def solve_root(dual: Dual, *, tol: float, max_iter: int, callback: Callback | None = None) -> Found:
    """Minimise the dual of one background by bracketing the root of its derivative."""
    if dual.m != 1:
        raise ValueError(f"solver='root' takes exactly one background, got {dual.m}; use solver='subspace'")
    visited: list[DualPoint] = []
    budget = Visited(dual)
    near = LOOSE if tol >= LOOSE else 0.0

    def slope(price: float) -> float:
        visited.append(budget.evaluate(np.array([price])))
        if callback is not None:
            callback(budget.count, budget.best.value, -np.inf, np.inf)
        spent = float(visited[-1].spent[0])
        return 0.0 if abs(spent - 1.0) <= near else max(spent, LEAST) ** -0.5 - 1.0

    def bracketed() -> Stop:
        if slope(0.0) >= 0:
            return Stop.DONE
        unit = max(abs(visited[0].value), np.finfo(float).tiny)
        left, right = 0.0, BRACKET_START * unit
        while slope(right) < 0 and not dual.proves_infeasible(visited[-1]) and right < BRACKET_MAX * unit:
            left, right = right, right * BRACKET_GROWTH
        if visited[-1].spent[0] > 1.0:
            return Stop.NO_PROGRESS
        accuracy = {"xtol": 1e-300, "rtol": LOOSE if tol >= LOOSE else 4 * np.finfo(float).eps}
        outcome = brentq(slope, left, right, **accuracy, maxiter=max_iter, full_output=True, disp=False)[1]
        return Stop.DONE if outcome.converged else Stop.LIMIT

    try:
        stop = bracketed()
    except OutOfWork as end:
        stop = end.stop
    return _mixed(visited, stop)


def _mixed(visited: Sequence[DualPoint], stop: Stop) -> Found:
    """The best point, with a mixture of the directions on the two sides of the bound that spends it exactly."""
    best = min(visited, key=lambda point: (point.value, point.kkt))
    within = max((point for point in visited if point.spent[0] <= 1.0), key=_spent, default=None)
    if within is None:
        return Found(best, -np.inf, None, len(visited), stop)
    beyond = min((point for point in visited if point.spent[0] > 1.0), key=_spent, default=within)
    room, excess = 1.0 - within.spent[0], beyond.spent[0] - 1.0
    share = room / (room + excess) if excess > 0 else 0.0
    weights = np.array([1.0 - share, share])
    # The target's variance along the top eigenvector: its eigenvalue, and what was subtracted from it.
    variances = np.array([point.eigenvalues[0] + point.prices[0] * point.spent[0] for point in (within, beyond)])
    factor = np.column_stack([within.vectors[:, 0], beyond.vectors[:, 0]]) * np.sqrt(weights)
    return Found(best, float(weights @ variances), factor[:, weights > 0], len(visited), stop)


def _spent(point: DualPoint) -> float:
    return float(point.spent[0])
