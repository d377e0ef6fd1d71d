"""The best single direction where the optimum is a mixture.

At a multiple top eigenvalue the optimum may need a mixture of several directions. Every unit vector u of the top
eigenspace then has target variance ``mu + sum_j lambda_j u'B_j u``; we look for the one with the largest target
variance among those that respect every bound. In two dimensions all quadratic forms are sinusoids of twice the angle,
so the search is exact. With one background it is exact in any number of dimensions: the multiplier of the bound is bisected,
and the top eigenvectors on its two sides span a plane that holds an optimum. In more dimensions and with several backgrounds
it is a local search from many deterministic starts, whose results are mended and improved by exact searches in planes; past
a deadline it ends with the start it is at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from .._deadline import NEVER, Deadline
from .._types import Array

SLACK = 1e-10  # excess over a bound that still counts as respecting it, relative to the bound
N_STARTS = 24
CLIMB_ROUNDS = 10
BISECTIONS = 60  # of the multiplier of one bound
LARGEST_MULTIPLIER = 1e18  # beyond it the target no longer counts


def best_feasible_direction(a: Array, b: Array, deadline: Deadline = NEVER) -> Array | None:
    """Unit vector u that maximises ``u'Au`` subject to ``u'B_j u <= 1``, or None where no direction was found.

    Parameters
    ----------
    a : array of shape (r, r)
        Target covariance inside the eigenspace.
    b : array of shape (m, r, r)
        Background covariances inside the eigenspace, divided by their bounds.
    deadline : Deadline
        Past it, the best that was found until then.
    """
    a = a / max(float(np.abs(a).max()), np.finfo(float).tiny)
    r = len(a)
    if r <= 2:
        return _best([np.ones(1)] if r == 1 else _by_angle(a, b), a, b)
    if len(b) == 1:
        return _best(_by_multiplier(a, b), a, b)
    candidates = _by_local_search(a, b, deadline)
    # A candidate that exceeds a bound is mended by turning it towards the least expensive direction.
    cheap = np.linalg.eigh(b.sum(axis=0))[1][:, 0]
    mended = [_best_in_plane(u, cheap, a, b) for u in candidates]
    best = _best([*candidates, cheap, *(u for u in mended if u is not None)], a, b)
    return None if best is None else _climb(best, np.vstack([np.linalg.eigh(a)[1].T, *candidates]), a, b, deadline)


def _best(candidates: Sequence[Array], a: Array, b: Array) -> Array | None:
    """The candidate with the largest target variance among those that respect every bound."""
    feasible = [u for u in candidates if np.all((b @ u) @ u <= 1.0 + SLACK)]
    return max(feasible, key=lambda u: u @ a @ u) if feasible else None


def _best_in_plane(u: Array, w: Array, a: Array, b: Array) -> Array | None:
    """The best direction in the plane of two vectors, exactly; None where they are parallel or none respects the bounds."""
    beside = w - (w @ u) * u
    size = float(np.linalg.norm(beside))
    if size < 1e-8:
        return None
    plane = np.column_stack([u, beside / size])
    turned = _best(_by_angle(plane.T @ a @ plane, plane.T @ b @ plane), a=plane.T @ a @ plane, b=plane.T @ b @ plane)
    return None if turned is None else plane @ turned


def _climb(best: Array, directions: Array, a: Array, b: Array, deadline: Deadline) -> Array:
    """Turn a feasible direction towards others as long as its target variance grows."""
    for _ in range(CLIMB_ROUNDS):
        if deadline.passed:
            break
        before = best @ a @ best
        for direction in directions:
            turned = _best_in_plane(best, direction, a, b)
            if turned is not None and turned @ a @ turned > best @ a @ best:
                best = turned / np.linalg.norm(turned)
        if best @ a @ best <= before + 1e-12:
            break
    return best


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


def _by_multiplier(a: Array, b: Array) -> list[Array]:
    """Candidates for one bound: top eigenvectors of ``a - t b`` on both sides of the best t, and the best of their plane."""

    def top(t: float) -> Array:
        return np.linalg.eigh(a - t * b[0])[1][:, -1]

    def spent(u: Array) -> float:
        return float(u @ b[0] @ u)

    low, high = 0.0, 1.0
    above, below = top(low), np.linalg.eigh(b[0])[1][:, 0]
    while spent(u := top(high)) > 1.0 and high < LARGEST_MULTIPLIER:
        low, high, above = high, 2.0 * high, u
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        u = top(middle)
        if spent(u) > 1.0:
            low, above = middle, u
        else:
            high, below = middle, u
    turned = _best_in_plane(below, above, a, b)
    return [above, below, *([] if turned is None else [turned])]


def _by_local_search(a: Array, b: Array, deadline: Deadline = NEVER) -> list[Array]:
    r = len(a)
    starts = np.vstack([np.eye(r), np.random.default_rng(0).standard_normal((N_STARTS, r))])
    sphere = {"type": "eq", "fun": lambda u: u @ u - 1.0, "jac": lambda u: 2 * u}
    bounds = {"type": "ineq", "fun": lambda u: 1.0 - (b @ u) @ u, "jac": lambda u: -2 * (b @ u)}
    found: list[Array] = []
    for start in starts:
        if found and deadline.passed:
            break
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
