"""Rows of one dataset, centred and scaled as a model does it *within these rows*, known through products.

Promises: dense and sparse rows give the same numbers, and sparse ones stay sparse: their means are subtracted from products.
Where a mean is so far from 0 that this would cost the digits (more than ``FAR_MEAN`` times its feature's deviation), hardly
an entry is 0, and the rows are made dense.
Where ``pull`` is asked for, rows further than ``FAR`` times the median distance from the mean are pulled in to that
distance, along the line to the mean. ``factor`` is what features are multiplied with; whoever compares datasets sets it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._memory import check_dense_fits
from .._types import Array
from ..operators.statistics.blocks import divisor
from ..operators.statistics.standard import deviations, inverse

FAR = 3.0  # times the median distance from the mean
FAR_MEAN = 1e4  # deviations
ROUNDS = 5  # of finding far rows, each with the mean and the deviations that the last one left


class ScaledRows:
    """Centred and scaled rows, dense or sparse."""

    def __init__(self, rows: Any, *, center: bool, pull: bool):
        n, p = rows.shape
        if center and sparse.issparse(rows) and _is_far(rows):
            check_dense_fits(rows, "a feature's mean is more than 10 000 times its SD: the sparse rows are made dense")
            rows = rows.toarray()
        self.n, self.centred, self._sparse = n, center, sparse.issparse(rows)
        self.mean = np.asarray(rows.mean(axis=0), dtype=float).ravel() if center else np.zeros(p)
        # Sparse rows stay as they are and their means are subtracted from products.
        self._rows: Any = rows if self._sparse else np.asarray(rows, dtype=float) - self.mean
        self._squares = self._squared()
        self.factor, self._pull = np.ones(p), np.ones((n, 1))
        dtype = rows.dtype if rows.dtype.kind == "f" else np.dtype(float)
        self.deviation = deviations(self._sums_of_squares(), self.mean, n, dtype)
        if pull:
            self._pull_far_rows()

    def _squared(self) -> Any:
        return self._rows.multiply(self._rows).tocsr() if self._sparse else self._rows**2

    @property
    def dense(self) -> bool:
        """Whether rows are held as an array."""
        return not self._sparse

    @property
    def pulled(self) -> bool:
        """Whether there are far rows."""
        return bool((self._pull < 1).any())

    def _pull_far_rows(self) -> None:
        """Set the factor on each row, and the mean and the deviations that then hold; a far row moves them at first."""
        for _ in range(ROUNDS):
            self._pull = np.ones((self.n, 1))
            distance = np.sqrt(np.maximum(self.squares(inverse(self.deviation)[:, np.newaxis] ** 2), 0.0))
            limit = FAR * np.median(distance)
            far = (distance > limit) & (limit > 0)
            if not far.any():
                return
            self._pull = np.divide(limit, distance, out=np.ones_like(distance), where=far)
            if self.centred:
                shift = self.back(np.ones((self.n, 1)))[:, 0] / self.n
                self.mean = self.mean + shift
                if not self._sparse:
                    self._rows = self._rows - shift
                    self._squares = self._squared()
            deviation = np.sqrt(self._sums_of_squares() / divisor(self.n))
            self.deviation = np.where(self.deviation > 0, deviation, 0.0)

    def _sums_of_squares(self) -> Array:
        """Of every feature, about its mean."""
        weights = self._pull[:, 0] ** 2
        sums = weights @ self._squares
        if self._sparse:
            sums = sums - 2.0 * self.mean * (weights @ self._rows) + weights.sum() * self.mean**2
        if self.centred:  # the mean is not quite that of the rows after far ones were pulled in
            sums = sums - self.back(np.ones((self.n, 1)))[:, 0] ** 2 / self.n
        return np.maximum(sums, 0.0)

    def standardised(self) -> Array:
        """Dense rows as an array of their own, centred and scaled."""
        return np.asarray(self._pull * self._rows * self.factor)

    def scores(self, directions: Array) -> Array:
        """``x v`` for every row x and column v."""
        weights = directions * self.factor[:, np.newaxis]
        out = self._rows @ weights
        out = self._pull * (out - self.mean @ weights if self._sparse else out)
        return out - out.mean(axis=0) if self.centred else out

    def squared_scores(self, directions: Array) -> Array:
        """Squares of :meth:`scores`: what they are expected to be, where values are missing."""
        return self.scores(directions) ** 2

    def image(self, scores: Array, directions: Array) -> Array:
        """``sum_i x_i x_i' v`` for columns v with these scores, (p, k)."""
        return self.back(scores)

    def information(self, directions: Array, variance: Array) -> Array | float:
        """Share of a complete row's information about the variance along directions that rows have, (k,)."""
        return 1.0

    def back(self, scores: Array) -> Array:
        """``sum_i x_i z_i``, (p, k)."""
        scores = self._pull * scores
        out = self._rows.T @ scores
        if self._sparse:
            out = out - np.multiply.outer(self.mean, scores.sum(axis=0))
        return out * self.factor[:, np.newaxis]

    def sums_of_squares(self, weights: Array) -> Array:
        """``sum_i w_i x_if^2`` for every feature f and column w, (p, k)."""
        weights = self._pull**2 * weights
        out = self._squares.T @ weights
        if self._sparse:
            mean = self.mean[:, np.newaxis]
            out = out - 2.0 * mean * (self._rows.T @ weights) + mean**2 * weights.sum(axis=0)
        return out * self.factor[:, np.newaxis] ** 2

    def squares(self, weights: Array) -> Array:
        """``sum_f w_f x_f^2`` for every row x and column w."""
        weights = weights * self.factor[:, np.newaxis] ** 2
        out = self._squares @ weights
        if self._sparse:
            out = out - 2.0 * (self._rows @ (weights * self.mean[:, np.newaxis])) + weights.T @ self.mean**2
        return self._pull**2 * out


def _is_far(rows: Any) -> bool:
    """Whether sparse rows have a feature that varies and whose mean is far beyond its deviation."""
    square = np.asarray(rows.mean(axis=0), dtype=float).ravel() ** 2
    mean_square = np.asarray(rows.multiply(rows).mean(axis=0), dtype=float).ravel()
    far = np.flatnonzero(mean_square - square < square / FAR_MEAN**2)
    if not len(far):
        return False
    columns = rows[:, far]
    return bool((columns.max(axis=0) != columns.min(axis=0)).nnz)
