"""An upper bound from a semidefinite relaxation: a unit vector with k entries has ``|vv'|_1 <= k``.

    max tr(AV)   s.t.   tr V = 1,  tr(B_j V) <= 1,  sum |V_ab| <= k,  V psd.

Alternating directions (ADMM) on three copies of V, one for each kind of constraint, find it nearly. What is proven does not
rest on how nearly: for *every* symmetric W,

    value(S) <= min_w [ lambda_max(A + W - sum_j w_j B_j) + sum_j w_j ] + k max |W_ab|

for every support of k features, as ``v'(-W)v <= max |W_ab| |v|_1^2``. W is the scaled multiplier of the constraint on
``|V|_1``, and the minimum over prices is the dual problem of UCA, solved with its own certificate.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from .._types import Array
from ..operators.contract.dense import DensePencil
from ..operators.eigen.solver import Eigensolver
from ..solvers.solve import solve
from .problem import SparseProblem

LARGEST = 400  # features up to which it is worth its time: a whole eigenproblem a step
OVER_RELAXATION = 1.6
PENALTY = 1.0  # of the distance between copies, relative to the target
STEPS, CHECK_EVERY = 600, 100
ENOUGH = 2e-3  # relative gain of a hundred steps below which more are not worth it
TOLERANCE = 1e-7  # of the dual problem behind each bound


@dataclass(frozen=True)
class Relaxed:
    """The bound, the prices at which it holds, and how much weight each feature has in the relaxed solution, (p,)."""

    upper: float
    prices: Array
    weights: Array


def relax(problem: SparseProblem, deadline: float) -> Relaxed:
    """The best bound within the steps, or until a moment of ``time.perf_counter``."""
    a, p = problem.target, problem.p
    within = _Bounds(problem.backgrounds)
    rho = PENALTY * float(np.linalg.norm(a))
    x = y = np.eye(p) / p
    dual_x, dual_y = np.zeros((p, p)), np.zeros((p, p))
    best: Relaxed | None = None
    for step in range(1, STEPS + 1):
        v = _in_spectraplex((x - dual_x + y - dual_y) / 2 + a / (2 * rho))
        near = OVER_RELAXATION * v + (1 - OVER_RELAXATION) * x
        x = _in_ball(near + dual_x, problem.k)
        dual_x = dual_x + near - x
        near = OVER_RELAXATION * v + (1 - OVER_RELAXATION) * y
        y = within.project(near + dual_y)
        dual_y = dual_y + near - y
        late = time.perf_counter() > deadline
        if step % CHECK_EVERY == 0 or late:
            found = _bound(problem, -rho * (dual_x + dual_x.T) / 2, v)
            gain = np.inf if best is None else best.upper - found.upper
            best = found if best is None or gain > 0 else best
            if late or gain <= ENOUGH * abs(best.upper):
                break
    assert best is not None
    return best


def _bound(problem: SparseProblem, w: Array, v: Array) -> Relaxed:
    pencil = DensePencil(np.concatenate([(problem.target + w)[np.newaxis], problem.backgrounds]))
    bounds = np.ones(problem.m)
    result = solve(
        Eigensolver(pencil),
        bounds,
        k=1,
        names=tuple(map(str, range(problem.m))),
        tol=TOLERANCE,
        floor=-pencil.target.magnitude,
    )
    return Relaxed(result.value + problem.k * float(np.abs(w).max()), result.lambdas, v.diagonal().copy())


def _in_spectraplex(matrix: Array) -> Array:
    """The nearest positive semidefinite matrix with trace 1."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values - _shift(values[::-1], 1.0), 0.0)
    return (vectors * values) @ vectors.T


def _in_ball(matrix: Array, radius: float) -> Array:
    """The nearest matrix whose entries have absolute sum ``radius`` at most."""
    sizes = np.abs(matrix)
    if sizes.sum() <= radius:
        return matrix
    return np.sign(matrix) * np.maximum(sizes - _shift(np.sort(sizes, axis=None)[::-1], radius), 0.0)


def _shift(descending: Array, total: float) -> float:
    """What is subtracted from values, where that leaves something, so that the rest sums to ``total``."""
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(descending) + 1)
    return float(shifts[np.flatnonzero(descending > shifts)[-1]])


class _Bounds:
    """Projection on ``tr(B_j V) <= 1`` for every j: a non-negative least-squares problem in m multipliers."""

    def __init__(self, backgrounds: Array):
        self._flat = backgrounds.reshape(len(backgrounds), backgrounds[0].size if len(backgrounds) else 0)
        gram = self._flat @ self._flat.T
        gram.flat[:: len(gram) + 1] += 1e-12 * np.trace(gram)  # equal backgrounds
        self._factor = np.linalg.cholesky(gram) if len(gram) else gram

    def project(self, matrix: Array) -> Array:
        if not len(self._flat):
            return matrix
        excess = self._flat @ matrix.ravel() - 1.0
        if np.all(excess <= 0):
            return matrix
        multipliers, _ = nnls(self._factor.T, np.linalg.solve(self._factor, excess))
        return matrix - (multipliers @ self._flat).reshape(matrix.shape)
