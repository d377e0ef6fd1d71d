"""Maximum likelihood for a factor model from rows with gaps: the law for fewer rows than features.

    x = mu + L z + e,      z ~ N(0, I_r),      e ~ N(0, Psi),   Psi diagonal.

A covariance of p features has no maximum likelihood estimate from n <= p rows; one of r factors has. Only z is completed:
given the values o that a row has, with ``M = I + L_o' Psi_o^-1 L_o``,

    E z = M^-1 L_o' Psi_o^-1 (x_o - mu_o),      cov z = M^-1,

and each feature is a regression of the values that it has on (z, 1). Both steps are products with r x r matrices, a row or
a feature each. The number of factors is chosen by values that are held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._types import Array
from .law import Gaps, NormalLaw

RANKS = (1, 2, 3, 5, 7, 10, 15, 20)  # numbers of factors that are tried
HELD_OUT = 0.1  # share of the values that choose it
MOST_FEATURES = 1_000  # that choose it
PATIENCE = 2  # larger numbers of factors in a row that predict worse, after which no more are tried
SEED = 271_828  # of those values: no seed that a user is likely to make gaps with
LEAST_NOISE = 0.01  # of a feature, as a share of its variance: a factor that is one feature is none
FEWEST = 2.0  # values of a feature that a factor may rest on
TOLERANCE = 3e-3  # of the covariance, relative, in one step; ten times less changes what fills gaps by 1e-5
MOST_STEPS = 500
RIDGE = 1.0  # rows' worth of a loading of 0, so that a feature with few values does not follow every factor


@dataclass(frozen=True)
class FactorFit:
    """What EM found for standardised values: ``mean`` (p,), ``loadings`` (p, r), ``noise`` (p,)."""

    mean: Array
    loadings: Array
    noise: Array
    n_iter: int
    converged: bool


def fit_factors(
    values: Array, rank: int, *, tol: float = TOLERANCE, max_iter: int = MOST_STEPS, ridge: float = RIDGE
) -> FactorFit:
    """EM for values (n, p) of about unit variance, NaN where they are missing; every row and column has a value."""
    there = ~np.isnan(values)
    rows = np.where(there, values, 0.0)
    weight = there.astype(float)
    mean, loadings, noise = _start(rows, weight, rank)
    moved, n_iter = np.inf, 0
    while moved > tol and n_iter < max_iter:
        scores, spread = expect_factors(rows, weight, mean, loadings, noise)
        before = loadings, noise
        mean, loadings, noise = _regress(rows, weight, scores, spread, ridge)
        moved, n_iter = _moved(before, (loadings, noise)), n_iter + 1
    return FactorFit(mean, loadings, noise, n_iter, bool(moved <= tol))


def _start(rows: Array, weight: Array, rank: int) -> tuple[Array, Array, Array]:
    """Leading components of the rows with means in the gaps."""
    n = len(rows)
    mean = rows.sum(axis=0) / weight.sum(axis=0)
    _, sizes, right = np.linalg.svd((rows - mean) * weight, full_matrices=False)
    loadings = right[:rank].T * (sizes[:rank] / np.sqrt(n))
    noise = np.maximum(1.0 - (loadings**2).sum(axis=1), 10 * LEAST_NOISE)
    return mean, loadings, noise


def expect_factors(rows: Array, weight: Array, mean: Array, loadings: Array, noise: Array) -> tuple[Array, Array]:
    """Expected factors (n, r) and their covariances (n, r, r), given the values where ``weight`` (n, p) is 1."""
    r = loadings.shape[1]
    scaled = loadings / noise[:, np.newaxis]
    products = (loadings[:, :, np.newaxis] * scaled[:, np.newaxis, :]).reshape(len(noise), r * r)
    known = products.sum(axis=0, keepdims=True) if weight.all() else weight @ products  # alike in all complete rows
    spread = np.broadcast_to(np.linalg.inv(np.eye(r) + known.reshape(-1, r, r)), (len(rows), r, r))
    pushed = (weight * (rows - mean)) @ scaled
    return np.einsum("nrs,ns->nr", spread, pushed), spread


def _regress(rows: Array, weight: Array, scores: Array, spread: Array, ridge: float) -> tuple[Array, Array, Array]:
    """Each feature on the expected factors and 1, over the rows that have it."""
    n, r = scores.shape
    both = np.column_stack([scores, np.ones(n)])
    squares = both[:, :, np.newaxis] * both[:, np.newaxis, :]
    squares[:, :r, :r] += spread
    flat = squares.reshape(n, -1)
    moments = flat.sum(axis=0, keepdims=True) if weight.all() else weight.T @ flat
    moments = moments.reshape(-1, r + 1, r + 1)
    moments[:, range(r), range(r)] += ridge
    cross = (weight * rows).T @ both
    solved = np.linalg.solve(moments, cross[:, :, np.newaxis])[:, :, 0]
    # Of the penalised regression: residual squares, and the ridge's own.
    residual = (weight * rows**2).sum(axis=0) - (solved * cross).sum(axis=1)
    return solved[:, r], solved[:, :r], np.maximum(residual / weight.sum(axis=0), LEAST_NOISE)


def _moved(before: tuple[Array, Array], now: tuple[Array, Array]) -> float:
    """How far the covariance moved, relative to its size: factors may turn among themselves without moving it."""
    (old, old_noise), (new, new_noise) = before, now
    # Squared Frobenius norms of LL', KK' and their product, from r x r products.
    before_square, square, both = (float(np.sum((a.T @ b) ** 2)) for a, b in ((old, old), (new, new), (old, new)))
    common = np.sqrt(max(before_square + square - 2.0 * both, 0.0) / max(square, np.finfo(float).tiny))
    return float(max(common, np.sqrt(np.mean((old_noise - new_noise) ** 2))))


def choose_rank(values: Array, ranks: Sequence[int] = RANKS, seed: int = SEED) -> int:
    """The number of factors that predicts values best which are held out, a tenth of all that are there."""
    rng = np.random.default_rng(seed)
    if values.shape[1] > MOST_FEATURES:  # as many show a factor well enough
        values = values[:, np.sort(rng.choice(values.shape[1], size=MOST_FEATURES, replace=False))]
        values = values[~np.isnan(values).all(axis=1)]
    n, p = values.shape
    there = ~np.isnan(values)
    held = there & (rng.random((n, p)) < HELD_OUT)
    held[:, (there & ~held).sum(axis=0) < FEWEST] = False
    held[~(there & ~held).any(axis=1)] = False
    tried = [rank for rank in ranks if rank < min(n, p)] or [1]
    if not held.any():
        return tried[0]
    part, errors = np.where(held, np.nan, values), []
    for rank in tried:
        errors.append(_error(part, values, held, rank))
        if len(errors) - 1 - int(np.argmin(errors)) == PATIENCE:
            break
    return tried[int(np.argmin(errors))]


def _error(part: Array, values: Array, held: Array, rank: int) -> float:
    fit = fit_factors(part, rank, tol=1e-2, max_iter=60)
    weight = (~np.isnan(part)).astype(float)
    scores, _ = expect_factors(np.where(weight > 0, part, 0.0), weight, fit.mean, fit.loadings, fit.noise)
    predicted = scores @ fit.loadings.T + fit.mean
    return float(np.mean((values[held] - predicted[held]) ** 2))


@dataclass(frozen=True, eq=False)
class FactorLaw(NormalLaw):
    """A normal law of a few factors and noise in each feature by itself.

    Besides the attributes of every law: ``loadings`` (q, r) and ``noise`` (q,), of standardised features that vary.
    """

    loadings: Array
    noise: Array

    @property
    def rank(self) -> int:
        """Number of factors."""
        return int(self.loadings.shape[1])

    @property
    def covariance(self) -> Array:
        return self.spread_out(self.loadings @ self.loadings.T + np.diag(self.noise))

    def gaps(self, values: Array) -> Gaps:
        missing = np.isnan(values)
        weight = (~missing).astype(float)
        scores, spread = expect_factors(np.where(missing, 0.0, values), weight, self.shift, self.loadings, self.noise)
        completed = np.where(missing, scores @ self.loadings.T + self.shift, values)
        return FactorGaps(completed, missing, spread, self.loadings, self.noise)


@dataclass(frozen=True, eq=False)
class FactorGaps(Gaps):
    """Gaps by the factors of their rows: covariance ``Psi_m + L_m M^-1 L_m'``."""

    completed: Array
    missing: Array
    spread: Array
    loadings: Array
    noise: Array

    def along(self, directions: Array) -> Array:
        out = self.missing @ (directions**2 * self.noise[:, np.newaxis])
        for j, direction in enumerate(directions.T):
            inside = (self.missing * direction) @ self.loadings
            out[:, j] += np.einsum("nr,nrs,ns->n", inside, self.spread, inside)
        return out

    def entries(self) -> Array:
        common = np.einsum("nrs,pr,ps->np", self.spread, self.loadings, self.loadings, optimize=True)
        return np.where(self.missing, common + self.noise, 0.0)

    def scatter(self) -> Array:
        out = np.diag(self.noise * self.missing.sum(axis=0))
        for gap, spread in zip(self.missing, self.spread, strict=True):
            features = np.flatnonzero(gap)
            own = self.loadings[features]
            out[np.ix_(features, features)] += own @ spread @ own.T
        return out

    def drawn(self, rng: np.random.Generator) -> Array:
        n, r = self.spread.shape[:2]
        roots = np.linalg.cholesky(self.spread)
        factors = np.einsum("nrs,ns->nr", roots, rng.standard_normal((n, r)))
        noise = factors @ self.loadings.T + np.sqrt(self.noise) * rng.standard_normal(self.missing.shape)
        return self.completed + np.where(self.missing, noise, 0.0)
