"""What can be done with one chunk of rows and columns, dense or sparse: the kernels of implicit products.

A chunk is a numpy array or a scipy CSR or CSC array; nothing here makes a sparse chunk dense. ``origin`` is subtracted
from the columns before a product, so that a column with a large mean and a small spread keeps its digits. It is 0 for
sparse columns with a value that is not stored: such columns cannot have a mean that is large beside their spread, since
their zeros are part of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._containers import float_dtype
from ..._types import Array
from ..statistics.blocks import BLOCK_BYTES, center_block, sums_of_squares, two_sum
from ..statistics.column_moments import ColumnMoments

Chunk = Any  # numpy array, or scipy sparse array or matrix in CSR or CSC format


def column_moments(chunk: Chunk) -> ColumnMoments:
    """Moments of the columns of a chunk, in two passes over it. NaN and infinity show in the result."""
    if chunk.shape[0] == 0:
        zeros = np.zeros(chunk.shape[1])
        return ColumnMoments(0, zeros, zeros, zeros, zeros, float_dtype(chunk.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        return _sparse_moments(chunk) if sparse.issparse(chunk) else _dense_moments(chunk)


def _dense_moments(chunk: Array) -> ColumnMoments:
    n, p = chunk.shape
    centred = np.empty((n, p))
    mean, rest = center_block(chunk, centred)
    return ColumnMoments(n, np.full(p, n), mean, rest, sums_of_squares(centred), float_dtype(chunk.dtype))


def _sparse_moments(chunk: Chunk) -> ColumnMoments:
    n, p = chunk.shape
    columns = column_of_each(chunk)
    stored = np.bincount(columns, minlength=p)
    mean = np.bincount(columns, weights=chunk.data, minlength=p) / n
    centred = chunk.data - mean[columns]
    left = (np.bincount(columns, weights=centred, minlength=p) - (n - stored) * mean) / n
    squares = np.bincount(columns, weights=centred**2, minlength=p) + (n - stored) * mean**2 - n * left**2
    return ColumnMoments(n, stored, *two_sum(mean, left), np.maximum(squares, 0.0), float_dtype(chunk.dtype))


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


def both(
    chunk: Chunk, vectors: Array, shift: Array, origin: Array | None, turned: Chunk | None = None
) -> tuple[Array, Array]:
    """``X' (X V - shift)`` and the column sums of ``X V - shift``, with X read once; X stands for ``X - origin``.

    ``turned`` is the transpose of the chunk, where it is at hand.
    """
    moved = _moved(chunk, origin)
    scores = np.asarray(moved @ vectors)
    scores -= shift
    transpose = moved.T if turned is None or origin is not None else turned
    return np.asarray(transpose @ scores), scores.sum(axis=0)


def transposed(chunk: Chunk) -> Chunk:
    """The transpose as a view. That of scipy copies a chunk that is itself a view, at every call."""
    if not sparse.issparse(chunk):
        return chunk.T
    view = type(chunk)(chunk.shape, dtype=chunk.dtype).T
    view.data, view.indices, view.indptr = chunk.data, chunk.indices, chunk.indptr
    return view


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
