"""The paper's algorithm: coordinate descent over the multipliers, each by L-BFGS-B with the analytic gradient.

It starts from the solutions for each background alone. The dual is convex but not smooth, and coordinate descent can stop
at a point where no single multiplier improves and the optimum is elsewhere; the certificate shows the gap.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from .._progress import Callback
from .._types import Array
from ..dual import Dual, DualPoint
from .found import Found, Stop
from .visited import PER_ITERATION, OutOfWork, Visited

#: Minimise g over one price, the others fixed: (evaluate, current price, unit) -> None; every evaluation is recorded.
Line = Callable[[Callable[[float], DualPoint], int, float, float], None]


def solve_coordinate(dual: Dual, *, tol: float, max_iter: int, callback: Callback | None = None) -> Found:
    """Coordinate descent with L-BFGS-B along each coordinate."""
    return descend(dual, _lbfgs_line, tol=tol, max_iter=max_iter, callback=callback)


def _lbfgs_line(evaluate: Callable[[float], DualPoint], j: int, price: float, unit: float) -> None:
    def value_and_slope(x: Array) -> tuple[float, Array]:
        point = evaluate(float(x[0]) * unit)
        return point.value / unit, np.array([1.0 - point.spent[j]])

    start = np.array([price / unit])
    options = {"ftol": 1e-15, "gtol": 1e-10}
    minimize(value_and_slope, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)], options=options)


def descend(dual: Dual, line: Line, *, tol: float, max_iter: int, callback: Callback | None) -> Found:
    """Cycle over the coordinates, minimising along each with ``line``, until a cycle improves g by less than ``tol``.

    A cycle takes as many eigen-solves as there are backgrounds, times what a line takes. So that the work is bounded for any
    number of backgrounds, all cycles together have ``PER_ITERATION`` eigen-solves for each that ``max_iter`` allows.
    """
    visited = Visited(dual, PER_ITERATION * max_iter)
    unit = max(abs(visited.evaluate(np.zeros(dual.m)).value), np.finfo(float).tiny)
    cycles, stop = 0, Stop.DONE if dual.m <= 1 else Stop.LIMIT
    try:
        alone = np.array([_search(visited, line, np.zeros(dual.m), j, unit).prices[j] for j in range(dual.m)])
        best = visited.evaluate(alone) if dual.m > 1 else visited.best
        for cycles in range(1, max_iter + 1 if dual.m > 1 else 1):
            before = best.value
            for j in range(dual.m):
                found = _search(visited, line, best.prices, j, unit)
                best = found if found.value < best.value else best
            if callback is not None:
                callback(cycles, best.value, -np.inf, np.inf)
            if dual.proves_infeasible(best) or before - best.value <= 0.1 * tol * unit:
                stop = Stop.DONE
                break
    except OutOfWork as end:
        stop = end.stop
    return visited.found(stop, n_iter=max(cycles, 1))


def _search(visited: Visited, line: Line, prices: Array, j: int, unit: float) -> DualPoint:
    """The best point along coordinate j."""
    seen: list[DualPoint] = []

    def evaluate(price: float) -> DualPoint:
        moved = prices.copy()
        moved[j] = price
        point = visited.evaluate(moved)
        if not seen or point.value < seen[0].value:
            seen[:] = [point]
        return point

    line(evaluate, j, float(prices[j]), unit)
    return seen[0]
