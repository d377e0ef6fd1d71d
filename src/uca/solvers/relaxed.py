"""Bounds that are tightened as far as it pays: for problems on few directions, in which tight bounds may be out of reach.

Tightening all bounds by one factor takes variance from the target too. Down to the direction of the largest ratio of target
to background variance the target loses less than the backgrounds do, in proportion; beyond it more. So bounds are tightened
to that direction and no further. It is the solution without the constraint on the length of v,

    max v'Av  s.t.  v'v <= 1,  v'B_j v <= c_j,
    dual:  min  max(lambda_max(A - sum_j lambda_j B_j), 0) + sum_j lambda_j c_j   over lambda >= 0,

scaled to length 1: there the largest eigenvalue is 0. Bounds are never raised above a ceiling that a direction can keep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh

from .._deadline import NEVER
from .._types import Array
from ..dual import Dual, DualResult
from ..operators.contract.dense import DensePencil
from ..operators.contract.pencil import Pencil
from ..operators.eigen.solver import Eigensolver
from .infeasible import InfeasibleBoundsError
from .solve import solve
from .subspace import solve_subspace

NEGATIVE = 1e-9  # largest eigenvalue, relative to the value, from which tightening costs more than it gains
ROOM = 1e-6  # by which relaxed bounds exceed what their direction needs
VANISHING = 1e-12  # squared length of a solution that is none


def solve_relaxed(
    eigen: Eigensolver, bounds: Array, *, ceiling: Array, patient: bool = True, **options: Any
) -> DualResult:
    """As :func:`~.solve.solve`, with bounds that are relaxed, all by one factor, where tightening them does not pay.

    ``result.bounds`` has those that were used: the given ones; or those of the direction with the largest ratio, if they are
    below the ``ceiling``; or the ceiling; or, where no direction keeps that, those of the largest ratio. Where matrices are
    not in memory, the given ones. Past the deadline among the ``options`` the given ones stand, or the ceiling; where no
    direction keeps either, the answer takes its time, or with ``patient=False`` the bounds count as infeasible.
    """
    deadline = options.get("deadline", NEVER)
    try:
        result = solve(eigen, bounds, **options)
        pays = result.eigenvalues[0] >= -NEGATIVE * abs(result.value)
        if pays or np.array_equal(bounds, ceiling) or not eigen.pencil.in_memory or deadline.passed:
            return result
    except InfeasibleBoundsError:
        if not eigen.pencil.in_memory:
            raise
    stretch = np.inf if deadline.passed else _stretch(eigen.pencil, bounds, options)
    known = bool(np.isfinite(stretch))  # otherwise the time was over before
    if known and np.all(bounds * ((1.0 + ROOM) * stretch) <= ceiling):
        return solve(eigen, bounds * ((1.0 + ROOM) * stretch), **options)
    try:
        return solve(eigen, ceiling, **options)
    except InfeasibleBoundsError:
        if not known and not patient:
            raise
        stretch = stretch if known else _stretch(eigen.pencil, bounds, {**options, "deadline": NEVER})
        return solve(eigen, bounds * ((1.0 + ROOM) * stretch), **options)


def _stretch(pencil: Pencil, bounds: Array, options: dict[str, Any]) -> float:
    """What the bounds are to be multiplied with, so that what has the largest ratio keeps them at length 1.

    Infinite where the time was over before that was found.
    """
    matrices = np.stack([operator.to_matrix() for operator in pencil.operators])
    stretch = _largest_ratio(matrices) / bounds[0] if len(bounds) == 1 else np.inf
    if np.isfinite(stretch):
        return float(stretch)
    length = _squared_length(matrices, bounds, options)
    if length < VANISHING and options.get("deadline", NEVER).passed:
        return np.inf
    if length < VANISHING:
        raise InfeasibleBoundsError("no direction satisfies the bounds, nor a multiple of them: raise the bound")
    return 1.0 / length


def _largest_ratio(matrices: Array) -> float:
    """``v'Bv`` of the unit vector v with the largest ``v'Av / v'Bv``; infinite where B is singular up to rounding."""
    try:
        vector = eigh(matrices[0], matrices[1], subset_by_index=[len(matrices[0]) - 1] * 2)[1][:, 0]
    except LinAlgError:
        return float(np.inf)
    return float(vector @ matrices[1] @ vector) / float(vector @ vector)


def _squared_length(matrices: Array, bounds: Array, options: dict[str, Any]) -> float:
    """Trace of the solution with ``v'v <= 1``: a further direction in which nothing varies takes up the rest."""
    padded = np.pad(matrices, ((0, 0), (0, 1), (0, 1)))
    dual = Dual(Eigensolver(DensePencil(padded)), bounds, deadline=options.get("deadline", NEVER))
    found = solve_subspace(dual, tol=options["tol"], max_iter=options["max_iter"])
    return 0.0 if found.factor is None else float(np.sum(found.factor[:-1] ** 2))
