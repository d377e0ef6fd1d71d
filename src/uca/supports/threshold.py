"""Upper bounds from thresholds, for thousands of features.

For every rho >= 0 let M be C with its entries off the diagonal moved towards 0 by rho. For a unit vector v with f entries,
``v'(C - M)v <= rho (|v|_1^2 - 1) <= rho (f - 1)``, so on every support F of f features

    lambda_max(C_F) <= lambda_max(M) + (f - 1) rho.

M falls apart into blocks of features that are still connected, and its eigenvalues are found block by block, by LAPACK. A
second bound is Gershgorin's: a diagonal entry and the f - 1 largest others of its row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components

from .._types import Array
from ..operators.eigen.direct import direct_eigenpairs
from .problem import SparseProblem

GRID = 24  # thresholds that are tried
COARSE = 6  # thresholds beside each factor below
FACTORS = (0.4, 0.6, 0.8, 1.0)  # of the prices that guide
EVALUATIONS = 20  # of the bound in a descent: more of them gain a tenth of a percent
CLOSE = 0.02  # above the value of a support, relative: a descent would gain little on it, and costs more than the grid
HUGE = 1e6  # in units of the target: where a bound was not computed
LARGEST_BLOCK = 1200  # features in a block whose eigenvalues are computed


def bounds_by_size(contrast: Array, k: int, n_thresholds: int = GRID) -> Array:
    """Upper bounds on ``lambda_max(C_F)`` for supports of 0, 1, ..., k features; (k + 1,)."""
    sizes = np.arange(k + 1)
    best = by_rows(contrast, k)
    off = np.abs(contrast - np.diag(contrast.diagonal()))
    for rho in _thresholds(off, k, n_thresholds):
        top = _shrunk(contrast, off, rho)
        if top is not None:
            best = np.minimum(best, top.value + np.maximum(sizes - 1, 0) * rho)
    best[0] = -np.inf
    return np.minimum.accumulate(best[::-1])[::-1]  # no support has more than a larger one


def by_rows(contrast: Array, k: int) -> Array:
    """Gershgorin's bounds for supports of 0, 1, ..., k features."""
    p, most = len(contrast), max(k - 1, 1)
    off = np.abs(contrast - np.diag(contrast.diagonal()))
    largest = np.sort(np.partition(off, p - most, axis=1)[:, p - most :] if most < p else off, axis=1)[:, ::-1]
    sums = np.concatenate([np.zeros((p, 1)), np.cumsum(largest, axis=1)], axis=1)[:, :k]
    best = (contrast.diagonal()[:, np.newaxis] + sums).max(axis=0)
    return np.concatenate([[-np.inf], best])


def _thresholds(off: Array, k: int, n: int) -> Array:
    """Thresholds between those that leave most entries and those that leave about k for a feature."""
    p = len(off)
    upper = off[np.triu_indices(p, 1)]
    if not len(upper):
        return np.zeros(1)
    ranks = np.geomspace(1, min(len(upper), 4 * p * k), n).astype(int) - 1
    chosen = np.partition(-upper, ranks)[ranks]
    return np.unique(np.append(-chosen, 0.0))


@dataclass(frozen=True)
class _Shrunk:
    """The largest eigenvalue of a thresholded contrast, with its vector on the features of its block."""

    value: float
    features: Array
    vector: Array


def _shrunk(contrast: Array, off: Array, rho: float) -> _Shrunk | None:
    """None where a block is too large."""
    _, block = connected_components(sparse.csr_matrix(off > rho), directed=False)
    sizes = np.bincount(block)
    if sizes.max() > LARGEST_BLOCK:
        return None
    single = int(contrast.diagonal().argmax())
    best = _Shrunk(float(contrast[single, single]), np.array([single]), np.ones(1))
    for i in np.flatnonzero(sizes > 1):
        inside = np.flatnonzero(block == i)
        part = contrast[np.ix_(inside, inside)]
        moved = np.sign(part) * np.maximum(np.abs(part) - rho, 0.0)
        np.fill_diagonal(moved, part.diagonal())
        pairs = direct_eigenpairs(moved, 1)
        if pairs.values[0] > best.value:
            best = _Shrunk(float(pairs.values[0]), inside, pairs.vectors[:, 0])
    return best


def best_bound(problem: SparseProblem, guide: Array, found: float) -> tuple[float, Array]:
    """The smallest bound on the value of every support that a grid and a descent find, and its prices.

    ``guide`` are prices in whose direction the grid lies: those of a relaxation, or of the problem on all features.
    ``found`` is the value of a support: a bound of the grid that is close to it is taken as it is.
    """
    tried = []
    for factor in FACTORS:
        prices = factor * guide
        contrast = problem.contrast(prices)
        off = np.abs(contrast)
        np.fill_diagonal(off, 0.0)
        for rho in _thresholds(off, problem.k, COARSE)[1:]:
            top = _shrunk(contrast, off, rho)
            if top is not None:
                tried.append((top.value + (problem.k - 1) * rho + float(prices.sum()), rho, prices))
    if not tried:
        return np.inf, guide
    value, rho, prices = min(tried, key=lambda row: row[0])
    if value <= found + CLOSE * abs(found):
        return value, prices
    return min((value, prices), descend(problem, prices, rho), key=lambda end: end[0])


def descend(problem: SparseProblem, prices: Array, rho: float, evaluations: int = EVALUATIONS) -> tuple[float, Array]:
    """The smallest bound on a value that a descent from prices and a threshold meets, and its prices.

    The bound is not convex in both together, so where the descent ends depends on where it begins; every point that it
    passes is a valid bound.
    """
    best = (np.inf, prices)
    scale = max(float(np.abs(prices).max(initial=0.0)), rho, 1e-3 * problem.size)

    def bound(x: Array) -> tuple[float, Array]:
        nonlocal best
        weights, threshold = scale * x[:-1], scale * float(x[-1])
        contrast = problem.contrast(weights)
        off = np.abs(contrast)
        np.fill_diagonal(off, 0.0)
        top = _shrunk(contrast, off, threshold)
        if top is None:
            return HUGE * problem.size, np.zeros(len(x))
        value = top.value + (problem.k - 1) * threshold + float(weights.sum())
        if value < best[0]:
            best = (value, weights)
        inside, outer = np.ix_(top.features, top.features), np.multiply.outer(top.vector, top.vector)
        kept = off[inside] > threshold
        signs = float(np.sum(outer * np.sign(contrast[inside]) * kept))
        np.fill_diagonal(kept, True)
        spent = np.array([np.sum(outer * b[inside] * kept) for b in problem.backgrounds])
        return value, scale * np.append(1.0 - spent, problem.k - 1 - signs)

    start = np.append(prices, rho) / scale
    minimize(
        bound, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options={"maxfun": evaluations}
    )
    return best
