"""The small semidefinite programme, by Clarabel.

    minimise  t + sum_j w_j   s.t.   t I - A + sum_j w_j B_j psd,   low_j <= w_j <= box

Its conic multiplier of the psd constraint is the primal matrix V. The box keeps the problem bounded where no mixture
inside the subspace respects the bounds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from .._types import Array

ACCURACY = 1e-11


@cache
def _triangle(q: int) -> tuple[Array, Array, Array]:
    """Rows, columns and weights of Clarabel's packing: upper triangle by columns, off-diagonals times sqrt(2)."""
    rows, columns = np.tril_indices(q)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


def _pack(matrices: Array) -> Array:
    rows, columns, weights = _triangle(matrices.shape[-1])
    return matrices[..., rows, columns] * weights


def _unpack(vector: Array, q: int) -> Array:
    rows, columns, weights = _triangle(q)
    matrix = np.empty((q, q))
    matrix[rows, columns] = matrix[columns, rows] = vector / weights
    return matrix


def solve_sdp(a: Array, b: Array, low: Array, box: float, seconds: float = np.inf) -> tuple[Array, Array]:
    """Prices (m,) and primal matrix (q, q), to solver accuracy; ``a`` (q, q) and ``b`` (m, q, q) are near unit size.

    After so many ``seconds`` both are what the solver has by then.
    """
    import clarabel  # few problems need it

    q, m = len(a), len(b)
    psd = np.column_stack([-_pack(np.eye(q)), -_pack(b).T])
    limits = np.vstack([np.eye(m), -np.eye(m)])
    constraints = sparse.csc_matrix(np.vstack([psd, np.column_stack([np.zeros(2 * m), limits])]))
    right = np.concatenate([-_pack(a), np.full(m, box), -low])
    cones = [clarabel.PSDTriangleConeT(q), clarabel.NonnegativeConeT(2 * m)]
    status = clarabel.SolverStatus
    # The data is scaled already, and rescaling has been seen to stop Clarabel at its first step; it is the second try.
    for rescale in (False, True):
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix((m + 1, m + 1)),
            np.ones(m + 1),
            constraints,
            right,
            cones,
            _settings(clarabel.DefaultSettings(), rescale, seconds),
        )
        solution = solver.solve()
        if solution.status in (status.Solved, status.AlmostSolved, status.MaxTime):
            break
    prices = np.clip(np.array(solution.x)[1:], low, box)
    return prices, _unpack(np.array(solution.z)[: q * (q + 1) // 2], q)


def _settings(settings: Any, rescale: bool, seconds: float) -> Any:
    settings.verbose = False
    settings.time_limit = seconds
    settings.max_threads = 1
    settings.equilibrate_enable = rescale
    settings.chordal_decomposition_enable = False  # it would leave the primal matrix incomplete where data has zeros
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = ACCURACY
    return settings
