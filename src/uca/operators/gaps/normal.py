"""Maximum likelihood for a normal law from rows with gaps, by EM through the precision matrix.

With ``Theta = Sigma^-1`` and a row whose features m are missing and o are there, what is missing has

    mean        mu_m - Theta_mm^-1 Theta_mo (x_o - mu_o),        covariance  Theta_mm^-1,

so the E-step inverts matrices of the size of the gaps, not of what is there. With the completed rows ``y_i`` and their
conditional covariances ``C_i`` (0 outside of the gaps), the M-step is

    mu = mean of y_i,      S = sum_i [(y_i - mu)(y_i - mu)' + C_i] / n,      Sigma = (n S + nu D) / (n + nu).

``nu`` pulls towards the diagonal D of the variances of the values that are there. It is the logarithm of a prior (inverse
Wishart), so each step raises the observed-data log likelihood less ``nu / 2 (log |Sigma| + tr(Sigma^-1 D))``. The pull only
serves the regressions in the E-step; the estimate is S of the last step, which is the sample covariance where nothing is
missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, lapack

from ..._types import Array
from .law import Gaps, NormalLaw
from .patterns import Batch, Patterns

PULL = 0.05  # rows' worth of the diagonal, as a share of the rows
TOLERANCE = 1e-5  # of means and covariances of standardised features, in one step
MOST_STEPS = 1_000


@dataclass(frozen=True)
class NormalFit:
    """What EM found for standardised values: the law (``mean``, ``sigma``) and the expected scatter matrix ``n S``."""

    mean: Array
    sigma: Array
    scatter: Array
    n_iter: int
    converged: bool


def fit_normal(values: Array, *, pull: float = PULL, tol: float = TOLERANCE, max_iter: int = MOST_STEPS) -> NormalFit:
    """EM for values (n, p) of about unit variance, NaN where they are missing; every row and column has a value.

    ``pull`` is nu / n. Ends where no entry of mean and covariance moves by more than ``tol`` in a step.
    """
    n = len(values)
    patterns = Patterns(np.isnan(values))
    rows = np.where(patterns.missing, 0.0, values)
    there = n - patterns.missing.sum(axis=0)
    mean = rows.sum(axis=0) / there
    diagonal = np.where(patterns.missing, 0.0, (rows - mean) ** 2).sum(axis=0) / there
    sigma = _start(np.where(patterns.missing, 0.0, rows - mean), diagonal, n, pull)
    scatter, moved, n_iter = sigma, np.inf, 0
    while moved > tol and n_iter < max_iter:
        completed, spread = expect(rows, patterns, mean, precision(sigma))
        before, earlier = mean, sigma
        mean = completed.mean(axis=0)
        centred = completed - mean
        scatter = centred.T @ centred + spread
        sigma = (scatter + pull * n * np.diag(diagonal)) / (n + pull * n)
        moved, n_iter = max(np.abs(mean - before).max(), np.abs(sigma - earlier).max()), n_iter + 1
    return NormalFit(mean, sigma, scatter, n_iter, bool(moved <= tol))


def _start(filled: Array, diagonal: Array, n: int, pull: float) -> Array:
    """Means in the gaps, and the variances of what is there."""
    start = filled.T @ filled / n
    np.fill_diagonal(start, diagonal)
    # What is missing is missing from products too: the matrix is positive definite all the same.
    return (start + pull * np.diag(diagonal)) / (1.0 + pull)


def precision(sigma: Array) -> Array:
    """The inverse of a positive definite matrix."""
    factor = cholesky(sigma, lower=True, check_finite=False)
    inverse = lapack.dpotri(factor, lower=1)[0]
    return np.tril(inverse) + np.tril(inverse, -1).T


def expect(rows: Array, patterns: Patterns, mean: Array, theta: Array) -> tuple[Array, Array]:
    """Rows completed by conditional means, and the sum of their conditional covariances; gaps of ``rows`` hold anything."""
    p = rows.shape[1]
    completed, spread = rows.copy(), np.zeros((p, p))
    deviations = np.where(patterns.missing, 0.0, rows - mean)
    for batch, covariances in conditional(patterns, theta):
        features = batch.features[batch.pattern]
        pushed = np.take_along_axis(deviations[batch.rows] @ theta, features, axis=1)
        means = mean[features] - np.einsum("rgh,rh->rg", covariances[batch.pattern], pushed)
        completed[batch.rows[:, np.newaxis], features] = means
        spread += batch.scatter(covariances, p)
    return completed, spread


def conditional(patterns: Patterns, theta: Array) -> Iterator[tuple[Batch, Array]]:
    """Batches of rows with the conditional covariances of their gaps, one a pattern, (u, g, g)."""
    for batch in patterns.batches:
        yield batch, np.linalg.inv(batch.block(theta))


@dataclass(frozen=True, eq=False)
class FullLaw(NormalLaw):
    """A normal law with a covariance of all features.

    Besides the attributes of every law: ``sigma`` (q, q), the covariance of the standardised features that vary.
    """

    sigma: Array

    @property
    def covariance(self) -> Array:
        return self.spread_out(self.sigma)

    def gaps(self, values: Array) -> Gaps:
        patterns, theta = Patterns(np.isnan(values)), precision(self.sigma)
        completed, scatter = expect(np.where(patterns.missing, 0.0, values), patterns, self.shift, theta)
        return FullGaps(completed, scatter, patterns, theta)


@dataclass(frozen=True, eq=False)
class FullGaps(Gaps):
    """Gaps by the precision matrix of a law."""

    completed: Array
    total: Array
    patterns: Patterns
    theta: Array

    def along(self, directions: Array) -> Array:
        out = np.zeros((len(self.completed), directions.shape[1]))
        for batch, covariances in conditional(self.patterns, self.theta):
            parts = directions[batch.features]
            out[batch.rows] = np.einsum("ugk,ugk->uk", parts, covariances @ parts)[batch.pattern]
        return out

    def entries(self) -> Array:
        out = np.zeros(self.completed.shape)
        for batch, covariances in conditional(self.patterns, self.theta):
            own = np.einsum("ugg->ug", covariances)[batch.pattern]
            out[batch.rows[:, np.newaxis], batch.features[batch.pattern]] = own
        return out

    def scatter(self) -> Array:
        return self.total

    def drawn(self, rng: np.random.Generator) -> Array:
        out = self.completed.copy()
        for batch, covariances in conditional(self.patterns, self.theta):
            features = batch.features[batch.pattern]
            roots = np.linalg.cholesky(covariances)[batch.pattern]
            noise = np.einsum("rgh,rh->rg", roots, rng.standard_normal(features.shape))
            out[batch.rows[:, np.newaxis], features] += noise
        return out
