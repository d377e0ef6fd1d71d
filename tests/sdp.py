"""The full-size semidefinite programme, modelled and solved independently of the package."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

cvxpy = pytest.importorskip("cvxpy", reason="the independent programme needs cvxpy: pip install cvxpy")


def full_sdp(
    target: np.ndarray, backgrounds: list[np.ndarray], bounds: np.ndarray, n_nonzero: int | None = None
) -> float:
    """``max tr(A V)  s.t.  tr V = 1, tr(B_j V) <= c_j, V psd``; data is scaled so that tolerances are relative.

    ``n_nonzero`` adds ``sum |V_ab| <= k``, the relaxation of "at most k features".
    """
    scale = np.linalg.norm(target, 2)
    v = cvxpy.Variable((len(target), len(target)), PSD=True)
    constraints = [cvxpy.trace(v) == 1]
    constraints += [cvxpy.trace((b / c) @ v) <= 1 for b, c in zip(backgrounds, bounds, strict=True)]
    if n_nonzero is not None:
        constraints.append(cvxpy.sum(cvxpy.abs(v)) <= n_nonzero)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace((target / scale) @ v)), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy warns of reduced accuracy; the caller's tolerance judges the answer
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value) * scale
