"""Values of the dual function at many multipliers, fast enough to draw."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh

from .._threads import one_blas_thread
from .._types import Array
from ..fitted import FINE, FittedProblem
from ..operators.contract.dense import DensePencil
from ..operators.eigen.span import Projection

EXACT_MAX = 64  # order up to which every value is computed from the whole matrices


def dual_values(problem: FittedProblem, lambdas: Array, *, anchors: Array | None = None) -> Array:
    """The dual function g at each row of ``lambdas``, shape (n,).

    Small problems are solved at every row. For larger ones the values come from the subspace spanned by the two top
    eigenvectors at ``anchors`` (a few rows): exact there (to 1e-7 where data is known through products), never too
    large, and in between wrong by the square of what the subspace misses of an eigenvector.
    """
    with one_blas_thread():
        if problem.held.pencil.size <= EXACT_MAX:
            return np.array([problem.dual.evaluate(row * problem.bounds, k=1).value for row in lambdas])
        inside = DensePencil(_subspace(problem, lambdas if anchors is None else anchors))
        tops = [_top(inside.combine([1.0, *-row]).matrix) for row in lambdas]
    return np.array(tops) + lambdas @ problem.bounds


def _subspace(problem: FittedProblem, anchors: Array) -> Array:
    """A and the B_j inside the span of top eigenvectors at the anchors, (m + 1, q, q)."""
    inside = Projection(problem.eigen.products, problem.held.pencil.size, problem.m + 1)
    for row in anchors:
        point = problem.dual.evaluate(row * problem.bounds, k=2, accuracy=FINE * abs(problem.certificate.upper))
        inside.extend(point.vectors)
    return inside.matrices


def _top(matrix: Array) -> float:
    last = len(matrix) - 1
    return float(eigvalsh(matrix, subset_by_index=[last, last], check_finite=False)[0])
