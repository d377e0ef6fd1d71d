"""Rows in memory or in a mapped file, dense or sparse, as a list of chunks: blocks of rows, or of columns for CSC."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ..._threads import in_lanes
from ..._types import Array
from ..._validation import raise_not_finite
from ..contract.operator import CovarianceOperator
from ..contract.pencil import Pencil
from ..statistics.blocks import BLOCK_BYTES, PARALLEL_BYTES, lanes_within, stored_bytes
from ..statistics.column_moments import ColumnMoments, beside
from ..statistics.moments import Moments
from .chunks import Chunk, backward, both, column_moments, forward, transposed
from .columns import ColumnBlocks
from .source import Offer, Source

SPARSE_BYTES = 8 * BLOCK_BYTES  # of the stored values of a sparse block
# Vectors of a pass over sparse rows: scipy takes as long for two as for six (3.4 and 3.9 ms for 1.5 million values, one
# alone .6), and a fit of 20 000 + 2 x 10 000 rows needs 41 passes instead of 58. Over dense rows wider passes do not pay.
SPARSE_BLOCK = 6
BLOCK_ROWS = 1_024  # of a block at most: longer sums of equal terms are off by more than a root of their number
ROOM_BYTES = 4 * BLOCK_BYTES  # for blocks, whatever the size of the input


class MemorySource(Source):
    """Arrays, mapped files and sparse matrices."""

    offers: ClassVar[frozenset[Offer]] = frozenset(Offer)
    containers: ClassVar[str] = "data in memory"

    @classmethod
    def takes(cls, array: Any) -> bool:
        return True

    @property
    def n_stored(self) -> float | None:
        if not any(sparse.issparse(array) for array in self.arrays):
            return None
        return float(sum(a.nnz if sparse.issparse(a) else a.shape[0] * a.shape[1] for a in self.arrays))

    def raise_not_finite(self, i: int) -> None:
        raise_not_finite(self.arrays[i], self.labels[i])

    def moments(self) -> list[Moments]:
        rows = [array.tocsr() if sparse.issparse(array) else array for array in self.arrays]
        return [Moments.of_checked(array, label) for array, label in zip(rows, self.labels, strict=True)]

    def columns(self, *, center: bool, scale: bool | str) -> ColumnBlocks:
        return ColumnBlocks(self.arrays, center=center, scale=scale)

    def rows(self) -> tuple[list[Rows], list[ColumnMoments]]:
        rows = [Rows(array) for array in self.arrays]
        return rows, self.checked([part.moments() for part in rows])

    def pencil(self, operators: Sequence[CovarianceOperator]) -> Pencil:
        pencil = super().pencil(operators)
        pencil.block = 1 if self.n_stored is None else SPARSE_BLOCK
        return pencil


class Rows:
    """The rows of one dataset: :class:`~.source.RowPasses`, and their moments."""

    def __init__(self, X: Chunk):
        self.n, self.p = X.shape
        self.by_columns = sparse.issparse(X) and X.format == "csc"
        self.chunks, self.slices = _columns_of(X) if self.by_columns else _blocks_of(X)
        self._turned = [] if self.by_columns else [transposed(chunk) for chunk in self.chunks]
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
                part, part_sums = both(self.chunks[i], vectors, shift, self.origin, self._turned[i])
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
