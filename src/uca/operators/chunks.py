"""What can be done with one chunk of rows and columns, dense or sparse: the kernels of implicit products.

A chunk is a numpy array or a scipy CSR or CSC array; nothing here makes a sparse chunk dense. ``origin`` is subtracted
from the columns before a product, so that a column with a large mean and a small spread keeps its digits. It is 0 for
sparse columns with a value that is not stored: such columns cannot have a mean that is large beside their spread, since
their zeros are part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._types import Array
from .moments import BLOCK_BYTES, center_block, divisor, sums_of_squares, two_sum

Chunk = Any  # numpy array, or scipy sparse array or matrix in CSR or CSC format
FAR = 4.0  # a mean this many deviations from 0 is taken out before products: rounding grows with its square


@dataclass(frozen=True)
class ColumnMoments:
    """Rows, stored values, means and sums of squares about the mean of some columns; they can be merged.

    The mean is ``mean + rest``: one float does not hold the digits of a mean that is large beside the spread.
    """

    n: int
    stored: Array
    mean: Array
    rest: Array
    squares: Array

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        """The moments of both sets of rows together (Chan, Golub & LeVeque 1983)."""
        if self.n == 0 or other.n == 0:
            return self if other.n == 0 else other
        n = self.n + other.n
        shift = (other.mean - self.mean) + (other.rest - self.rest)
        mean, lost = two_sum(self.mean, shift * (other.n / n))
        return ColumnMoments(
            n,
            self.stored + other.stored,
            mean,
            self.rest + lost,
            self.squares + other.squares + shift**2 * (self.n * other.n / n),
        )

    def far_origin(self) -> Array | None:
        """What to subtract from columns whose mean is far from 0; None where there is none."""
        deviation = np.sqrt(self.squares / max(divisor(self.n), 1))
        far = (np.abs(self.mean) > FAR * deviation) & (self.stored == self.n)
        return np.where(far, self.mean, 0.0) if far.any() else None


def beside(parts: Sequence[ColumnMoments]) -> ColumnMoments:
    """Moments of columns that stand side by side."""
    names = ("stored", "mean", "rest", "squares")
    return ColumnMoments(parts[0].n, *(np.concatenate([getattr(m, name) for m in parts]) for name in names))


def column_moments(chunk: Chunk) -> ColumnMoments:
    """Moments of the columns of a chunk, in two passes over it. NaN and infinity show in the result."""
    if chunk.shape[0] == 0:
        zeros = np.zeros(chunk.shape[1])
        return ColumnMoments(0, zeros, zeros, zeros, zeros)
    with np.errstate(invalid="ignore", over="ignore"):
        return _sparse_moments(chunk) if sparse.issparse(chunk) else _dense_moments(chunk)


def _dense_moments(chunk: Array) -> ColumnMoments:
    n, p = chunk.shape
    centred = np.empty((n, p))
    mean, rest = center_block(chunk, centred)
    return ColumnMoments(n, np.full(p, n), mean, rest, sums_of_squares(centred))


def _sparse_moments(chunk: Chunk) -> ColumnMoments:
    n, p = chunk.shape
    columns = column_of_each(chunk)
    stored = np.bincount(columns, minlength=p)
    mean = np.bincount(columns, weights=chunk.data, minlength=p) / n
    centred = chunk.data - mean[columns]
    left = (np.bincount(columns, weights=centred, minlength=p) - (n - stored) * mean) / n
    squares = np.bincount(columns, weights=centred**2, minlength=p) + (n - stored) * mean**2 - n * left**2
    return ColumnMoments(n, stored, *two_sum(mean, left), np.maximum(squares, 0.0))


def column_of_each(chunk: Chunk) -> Array:
    """The column of each stored value."""
    if chunk.format == "csr":
        return chunk.indices
    return np.repeat(np.arange(chunk.shape[1]), np.diff(chunk.indptr))


def forward(chunk: Chunk, vectors: Array, origin: Array | None) -> Array:
    """``(X - origin) V``, shape (n, k)."""
    return np.asarray(_moved(chunk, origin) @ vectors)


def backward(chunk: Chunk, weights: Array, origin: Array | None) -> Array:
    """``(X - origin)' W``, shape (p, k)."""
    return np.asarray(_moved(chunk, origin).T @ weights)


def both(chunk: Chunk, vectors: Array, shift: Array, origin: Array | None) -> tuple[Array, Array]:
    """``X' (X V - shift)`` and the column sums of ``X V - shift``, with X read once; X stands for ``X - origin``."""
    moved = _moved(chunk, origin)
    scores = np.asarray(moved @ vectors)
    scores -= shift
    return np.asarray(moved.T @ scores), scores.sum(axis=0)


def project(X: Chunk, mean: Array, weights: Array) -> Array:
    """``(X - 1 mean') W``, centred before the product, so that a large mean costs no digits; sparse X stays sparse."""
    if sparse.issparse(X):
        full = np.bincount(column_of_each(X), minlength=X.shape[1]) == X.shape[0]
        origin = np.where(full, mean, 0.0) if full.any() else None
        return forward(X, weights, origin) - (mean if origin is None else mean - origin) @ weights
    scores = np.empty((X.shape[0], weights.shape[1]))
    rows = max(1, BLOCK_BYTES // (8 * X.shape[1]))
    with np.errstate(invalid="ignore"):
        for start in range(0, X.shape[0], rows):
            scores[start : start + rows] = (X[start : start + rows] - mean) @ weights
    return scores


def _moved(chunk: Chunk, origin: Array | None) -> Chunk:
    if origin is None:
        return chunk
    if not sparse.issparse(chunk):
        return chunk - origin
    data = chunk.data - origin[column_of_each(chunk)]
    return type(chunk)((data, chunk.indices, chunk.indptr), shape=chunk.shape, copy=False)
