"""What a solver has seen so far, where it goes from point to point: the best few points, and an end to the work.

Promises: memory does not grow with the number of points; after ``most`` of them, or once the time of the dual is over, the
next one is refused with :class:`OutOfWork`, whatever calls for it (a line search of scipy, say), and what was seen
stays. The first point is always granted.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

import numpy as np

from .._types import Array
from ..dual import Dual, DualPoint
from .bundle import Bundle
from .found import Found, Stop

PER_ITERATION = 200  # eigen-solves of coordinate methods for each iteration that is allowed
DIRECTIONS = 60  # in which a feasible matrix is looked for, and two more for each background


class OutOfWork(Exception):
    """No further point is granted; ``stop`` says why."""

    def __init__(self, stop: Stop):
        self.stop = stop


class Visited:
    """Points at which the dual was evaluated."""

    def __init__(self, dual: Dual, most: float = np.inf):
        self.dual, self.most = dual, most
        self.count = 0
        self._best: list[tuple[float, float, int, DualPoint]] = []  # in order; earlier points first where equal

    def evaluate(self, prices: Array) -> DualPoint:
        """The point at ``prices``, which is remembered if it is among the best."""
        if self.count >= self.most:
            raise OutOfWork(Stop.LIMIT)
        if self.count and self.dual.deadline.passed:
            raise OutOfWork(Stop.TIME)
        point = self.dual.evaluate(prices)
        self.count += 1
        if len(self._best) < self.dual.m + 4 or point.value <= self._best[-1][0]:
            insort(self._best, (point.value, point.kkt, self.count, point))
            del self._best[self.dual.m + 4 :]
        return point

    @property
    def best(self) -> DualPoint:
        """The point with the smallest value."""
        return self._best[0][-1]

    def found(self, stop: Stop, n_iter: int | None = None) -> Found:
        """The best point, with a feasible matrix from the eigenvectors at the best few."""
        ranked = [entry[-1] for entry in self._best]
        return found_among(self.dual, ranked, stop, self.count if n_iter is None else n_iter)


def found_among(dual: Dual, ranked: Sequence[DualPoint], stop: Stop, n_iter: int) -> Found:
    """The first of some points, best first, with a feasible matrix from the eigenvectors at all of them."""
    bundle = Bundle(dual)
    tops, others = [point.vectors[:, :1] for point in ranked], [point.vectors[:, 1:] for point in ranked]
    bundle.extend(np.hstack([*tops, *others])[:, : DIRECTIONS + 2 * dual.m])
    return _found(bundle, ranked[0], stop, n_iter)


def with_a_matrix(dual: Dual, found: Found) -> Found:
    """The same with a feasible matrix, of directions that spend little of the bounds, where a solver ended without one."""
    if found.factor is not None or dual.m == 0:
        return found
    bundle = Bundle(dual)
    bundle.extend(found.point.vectors)
    bundle.extend(dual.eigen.top(np.concatenate([[0.0], -dual.per_bound]), dual.n_vectors).vectors)
    return _found(bundle, found.point, found.stop, found.n_iter)


def _found(bundle: Bundle, best: DualPoint, stop: Stop, n_iter: int) -> Found:
    box = 1e3 * max(float(best.prices.max(initial=0.0)), abs(best.value))
    small = bundle.solve(best.prices, probe=box, box=box)
    factor = None if small.factor is None else bundle.basis @ small.factor
    return Found(best, small.lower, factor, n_iter, stop)
