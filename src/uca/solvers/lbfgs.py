"""L-BFGS-B on the dual with its analytic gradient: the plain choice, kept for comparison.

The dual has kinks where the top eigenvalue is multiple; a quasi-Newton method can stop early there. Its certificate
shows it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from .._progress import Callback
from .._types import Array
from ..dual import Dual
from .found import Found, Stop
from .visited import OutOfWork, Visited


def solve_lbfgs(dual: Dual, *, tol: float, max_iter: int, callback: Callback | None = None) -> Found:
    """Minimise the dual by L-BFGS-B from lambda = 0."""
    visited = Visited(dual)
    unit = max(
        abs(visited.evaluate(np.zeros(dual.m)).value), np.finfo(float).tiny
    )  # prices and values near 1 suit the line search

    def value_and_gradient(prices: Array) -> tuple[float, Array]:
        point = visited.evaluate(prices * unit)
        if callback is not None:
            callback(visited.count, visited.best.value, -np.inf, np.inf)
        # Below the floor the bounds are infeasible and the value has no minimum: a flat gradient ends the search.
        gradient = np.zeros(dual.m) if dual.proves_infeasible(point) else 1.0 - point.spent
        return point.value / unit, gradient

    if dual.m == 0:
        return visited.found(Stop.DONE)
    try:
        outcome = minimize(
            value_and_gradient,
            np.zeros(dual.m),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * dual.m,
            options={"maxiter": max_iter, "ftol": 1e-15, "gtol": 1e-10, "maxcor": max(10, dual.m)},
        )
    except OutOfWork as end:
        return visited.found(end.stop)
    return visited.found(Stop.LIMIT if outcome.nit >= max_iter else Stop.DONE)
