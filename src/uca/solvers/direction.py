"""The best single direction where the optimum is a mixture.

At a multiple top eigenvalue the optimum may need a mixture of several directions. Every unit vector u of the top
eigenspace then has target variance ``mu + sum_j lambda_j u'B_j u``; we look for the one with the largest target
variance among those that respect every bound. In two dimensions all quadratic forms are sinusoids of twice the angle,
so the search is exact; in more dimensions it is a local search from many deterministic starts.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from .._types import Array

SLACK = 1e-10  # excess over a bound that still counts as respecting it, relative to the bound
N_STARTS = 24


def best_feasible_direction(a: Array, b: Array) -> Array | None:
    """Unit vector u that maximises ``u'Au`` subject to ``u'B_j u <= 1``, or None where no direction was found.

    Parameters
    ----------
    a : array of shape (r, r)
        Target covariance inside the eigenspace.
    b : array of shape (m, r, r)
        Background covariances inside the eigenspace, divided by their bounds.
    """
    r = len(a)
    candidates = [np.ones(1)] if r == 1 else _by_angle(a, b) if r == 2 else _by_local_search(a, b)
    feasible = [u for u in candidates if np.all((b @ u) @ u <= 1.0 + SLACK)]
    return max(feasible, key=lambda u: u @ a @ u) if feasible else None


def _by_angle(a: Array, b: Array) -> list[Array]:
    """All candidates on the circle: the unconstrained maximum, and every angle at which a bound is met exactly."""
    angles = [_wave(a)[2]]
    for matrix in b:
        mean, amplitude, phase = _wave(matrix)
        # mean + amplitude * cos(2 (angle - phase)) = 1
        if amplitude > 0 and abs(1.0 - mean) <= amplitude:
            half = np.arccos((1.0 - mean) / amplitude) / 2
            angles += [phase - half, phase + half]
    return [np.array([np.cos(t), np.sin(t)]) for t in angles]


def _wave(matrix: Array) -> tuple[float, float, float]:
    """``u'Mu = mean + amplitude * cos(2 (angle - phase))`` for u = (cos angle, sin angle)."""
    half_difference, off = (matrix[0, 0] - matrix[1, 1]) / 2, matrix[0, 1]
    phase = np.arctan2(off, half_difference) / 2
    return (matrix[0, 0] + matrix[1, 1]) / 2, float(np.hypot(half_difference, off)), float(phase)


def _by_local_search(a: Array, b: Array) -> list[Array]:
    r = len(a)
    starts = np.vstack([np.eye(r), np.random.default_rng(0).standard_normal((N_STARTS, r))])
    sphere = {"type": "eq", "fun": lambda u: u @ u - 1.0, "jac": lambda u: 2 * u}
    bounds = {"type": "ineq", "fun": lambda u: 1.0 - (b @ u) @ u, "jac": lambda u: -2 * (b @ u)}
    found = []
    for start in starts:
        outcome = minimize(
            lambda u: -(u @ a @ u),
            start / np.linalg.norm(start),
            jac=lambda u: -2 * (a @ u),
            method="SLSQP",
            constraints=[sphere, bounds],
            options={"maxiter": 200, "ftol": 1e-14},
        )
        if np.all(np.isfinite(outcome.x)) and np.linalg.norm(outcome.x) > 0.5:
            found.append(outcome.x / np.linalg.norm(outcome.x))
    return found
