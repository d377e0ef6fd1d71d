"""Representation ``implicit``: data stays as it is, and is known through products with a few vectors.

For standardised rows ``Z = (X - 1 mean') D`` the covariance times V is ``D (X - 1 mean')' (X - 1 mean') D V / (n - 1)``.
Centring and scaling are applied to V and to the result, so a sparse X stays sparse and a file on disk is read in blocks.
Memory: a few vectors of length p and one block. Each product is one pass over rows; columns (CSC) take two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._containers import float_dtype
from .._threads import in_lanes
from .._types import Array
from .._validation import raise_not_finite
from .base import CovarianceOperator, Pencil
from .chunks import Chunk, ColumnMoments, backward, beside, both, column_moments, forward
from .moments import BLOCK_BYTES, PARALLEL_BYTES, divisor, inverse, lanes_within, stored_bytes, used_deviations
from .representation import Representation, as_rows
from .rounding import ENTRY, UNIT, summation

SPARSE_BYTES = 8 * BLOCK_BYTES  # of the stored values of a sparse block
BLOCK_ROWS = 1_024  # of a block at most: longer sums of equal terms are off by more than a root of their number
ROOM_BYTES = 4 * BLOCK_BYTES  # for blocks, whatever the size of the input


@dataclass(frozen=True)
class ImplicitCovariance(CovarianceOperator):
    """Covariance of standardised rows that are never formed."""

    rows: Any  # Rows, or what has its methods
    mean: Array  # relative to the rows' origin
    factor: Array  # one over the deviations
    variances: Array  # of the standardised columns: 1, or what scaling left
    allowance: float = 0.0

    def error_at(self, size: float) -> float:
        # Scores and their products with the rows are off by a share of the size of each row: a root less than the trace.
        return self.allowance * min(1.0, float(np.sqrt(max(size, 0.0) / max(self.trace, np.finfo(float).tiny))))

    @property
    def size(self) -> int:
        return len(self.mean)

    @property
    def trace(self) -> float:
        return float(self.variances.sum())

    @property
    def magnitude(self) -> float:
        return self.trace

    def __matmul__(self, vectors: Array) -> Array:
        scaled = self.factor[:, np.newaxis] * vectors
        return self.finish(*self.rows.product(scaled, self.mean @ scaled))

    def finish(self, total: Array, sums: Array) -> Array:
        """From the product with uncentred rows to the product with the covariance."""
        total -= np.multiply.outer(self.mean, sums)
        total *= self.factor[:, np.newaxis] / divisor(self.rows.n)
        return total


class Rows:
    """Rows in memory or in a mapped file, as a list of chunks: blocks of rows, or of columns for CSC."""

    def __init__(self, X: Chunk):
        self.n, self.p = X.shape
        self.by_columns = sparse.issparse(X) and X.format == "csc"
        self.chunks, self.slices = _columns_of(X) if self.by_columns else _blocks_of(X)
        self._n_bytes = stored_bytes(X)
        #: Terms of the longest sum that no block divides.
        self.longest = int(np.diff(X.indptr).max(initial=0)) if self.by_columns else BLOCK_ROWS
        self._block_bytes = SPARSE_BYTES if sparse.issparse(X) else BLOCK_BYTES
        self.origin: Array | None = None

    def _lanes(self, n_values: int) -> int:
        """How many lanes may work side by side, if each holds ``n_values`` numbers beside a block."""
        if self._n_bytes < PARALLEL_BYTES:
            return 1
        return lanes_within(8 * n_values + self._block_bytes, self._n_bytes, ROOM_BYTES)

    def moments(self) -> ColumnMoments:
        """Moments of all columns."""
        found: dict[int, ColumnMoments] = {}

        def keep(share: Sequence[int]) -> None:
            found.update({i: column_moments(self.chunks[i]) for i in share})

        def merge(share: Sequence[int]) -> ColumnMoments:
            return reduce(ColumnMoments.merge, (column_moments(self.chunks[i]) for i in share))

        chunks, lanes = range(len(self.chunks)), self._lanes(8 * self.p)
        if not self.by_columns:
            return reduce(ColumnMoments.merge, in_lanes(merge, chunks, most=lanes))
        in_lanes(keep, chunks, most=lanes)
        return beside([found[i] for i in chunks])

    def product(self, vectors: Array, shift: Array) -> tuple[Array, Array]:
        """``X' (X V - shift)`` and the column sums of ``X V - shift``; X stands for ``X - origin``."""
        if self.by_columns:
            return self._product_by_columns(vectors, shift)

        def work(share: Sequence[int]) -> tuple[Array, Array]:
            total, sums = np.zeros(vectors.shape), np.zeros(vectors.shape[1])
            for i in share:
                part, part_sums = both(self.chunks[i], vectors, shift, self.origin)
                total += part
                sums += part_sums
            return total, sums

        (total, sums), *others = in_lanes(work, range(len(self.chunks)), most=self._lanes(2 * vectors.size))
        for other_total, other_sums in others:
            total += other_total
            sums += other_sums
        return total, sums

    def _product_by_columns(self, vectors: Array, shift: Array) -> tuple[Array, Array]:
        def score(share: Sequence[int]) -> Array:
            scores = np.zeros((self.n, vectors.shape[1]))
            for i in share:
                scores += forward(self.chunks[i], vectors[self.slices[i]], self._origin_of(i))
            return scores

        lanes = self._lanes(2 * self.n * vectors.shape[1])
        scores = reduce(np.add, in_lanes(score, range(len(self.chunks)), most=lanes))
        scores -= shift
        total = np.empty(vectors.shape)

        def weigh(share: Sequence[int]) -> None:
            for i in share:
                total[self.slices[i]] = backward(self.chunks[i], scores, self._origin_of(i))

        in_lanes(weigh, range(len(self.chunks)), most=lanes)
        return total, scores.sum(axis=0)

    def _origin_of(self, i: int) -> Array | None:
        return None if self.origin is None else self.origin[self.slices[i]]


def _blocks_of(X: Chunk) -> tuple[list[Chunk], list[slice]]:
    """Blocks of rows, as views."""
    n, p = X.shape
    if not sparse.issparse(X):
        size = min(max(16, BLOCK_BYTES // (8 * p)), BLOCK_ROWS)
        slices = [slice(s, min(s + size, n)) for s in range(0, n, size)]
        return [X[rows] for rows in slices], slices
    slices = [
        slice(start, min(start + BLOCK_ROWS, share.stop))
        for share in _equal_shares(X.indptr, X.data.itemsize)
        for start in range(share.start, share.stop, BLOCK_ROWS)
    ]
    return [_view(X, rows, (rows.stop - rows.start, p)) for rows in slices], slices


def _columns_of(X: Chunk) -> tuple[list[Chunk], list[slice]]:
    """Blocks of columns of a CSC matrix, as views."""
    slices = _equal_shares(X.indptr, X.data.itemsize)
    return [_view(X, columns, (X.shape[0], columns.stop - columns.start)) for columns in slices], slices


def _equal_shares(indptr: Array, itemsize: int) -> list[slice]:
    """Slices of rows (or columns) that store about ``SPARSE_BYTES`` each."""
    n_blocks = max(1, int(indptr[-1]) * itemsize // SPARSE_BYTES)
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_blocks + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, [len(indptr) - 1]]))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def _view(X: Chunk, which: slice, shape: tuple[int, int]) -> Chunk:
    first, last = X.indptr[which.start], X.indptr[which.stop]
    view = type(X)(shape, dtype=X.dtype)
    # Set one by one: scipy's constructor copies views of much larger arrays.
    view.data, view.indices = X.data[first:last], X.indices[first:last]
    view.indptr = X.indptr[which.start : which.stop + 1] - first
    return view


def from_products(arrays: Sequence[Chunk], labels: Sequence[str], *, center: bool, scale: bool | str) -> Representation:
    """Target (first) and backgrounds, standardised implicitly."""
    rows = [Rows(array) for array in arrays]
    moments = []
    for part, array, label in zip(rows, arrays, labels, strict=True):
        found = part.moments()
        if not (np.isfinite(found.mean).all() and np.isfinite(found.squares).all()):
            raise_not_finite(array, label)
        moments.append(found)
    dtypes = [float_dtype(array.dtype) for array in arrays]
    return standardise(rows, moments, dtypes, center=center, scale=scale)


def standardise(
    rows: Sequence[Any],
    moments: Sequence[ColumnMoments],
    dtypes: Sequence[np.dtype],
    *,
    center: bool,
    scale: bool | str,
    pencil: type[Pencil] = Pencil,
) -> Representation:
    """The representation of rows whose moments are known; ``pencil`` holds its operators."""
    p = len(moments[0].mean)
    squares = [m.squares + (0.0 if center else m.n * m.mean**2) for m in moments]
    used = used_deviations(squares, [m.mean for m in moments], [m.n for m in moments], dtypes, scale)
    n_constant = tuple(int(np.sum(d == 0)) if scale else 0 for d in used)
    operators = []
    for part, m, squares_, d in zip(rows, moments, squares, used, strict=True):
        factor = inverse(d) if scale else np.ones(p)
        part.origin = m.far_origin() if center else None
        moved = m.mean if part.origin is None else m.mean - part.origin  # exact, or 0
        mean = moved + m.rest if center else np.zeros(p)
        variances = squares_ / divisor(m.n) * factor**2
        # Rounding is relative to rows before their mean is taken out of the products.
        units = 2.0 * max(summation(m.n), part.longest / 4.0) + summation(p) + ENTRY
        allowance = UNIT * units * float(variances.sum() + np.sum((mean * factor) ** 2))
        operators.append(ImplicitCovariance(part, mean, factor, variances, allowance))
    held = pencil(operators[0], tuple(operators[1:]), p)
    mean = moments[0].mean if center else np.zeros(p)
    return Representation("implicit", held, as_rows, mean, used[0] if scale else np.ones(p), n_constant)
