"""Datasets as dask arrays: the same three representations, with the passes over data done by dask.

Promises: nothing is gathered but a p x p matrix a dataset (``covariance``), one N x N matrix (``reduced``) or a few vectors
a pass (``implicit``); each pass is one graph for all datasets; chunks may run along rows, columns or both, and may be scipy
sparse. Work runs where dask runs it: the threaded scheduler by default, a ``distributed.Client`` where there is one. If
workers die, dask computes their part again; if none is left, :mod:`uca.operators.schedule` ends the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._containers import float_dtype
from .._missing import with_nan
from .._threads import one_blas_thread
from .._types import Array
from .._validation import count_not_finite, raise_counts
from .base import Pencil
from .chunks import ColumnMoments, backward, beside, both, column_moments, forward, project
from .columns import ColumnBlocks
from .covariance import from_moments
from .implicit import standardise
from .memory import check_matrices_fit
from .moments import Moments
from .reduced import from_columns
from .representation import Representation, stacked
from .schedule import compute

WIDTH = 4  # results merged by one task
COLUMN_BYTES = 64e6  # of a block of columns, all rows together


def as_dask(array: Any) -> Any:
    """A dask array; arrays in memory become one of one chunk."""
    import dask.array as da

    if isinstance(array, da.Array):
        return array
    return da.from_array(array, chunks=array.shape, asarray=False, name=False)


def from_dask(
    arrays: Sequence[Any],
    labels: Sequence[str],
    *,
    representation: str,
    center: bool,
    scale: bool | str,
    n_empty: int,
) -> Representation:
    """The representation of dask arrays, target first."""
    if representation == "product_svd":
        raise ValueError("representation='product_svd' needs the data in memory; choose another for dask arrays")
    arrays = [as_dask(array) for array in arrays]
    if representation == "reduced":
        return from_columns(DaskColumns(arrays, labels, center=center, scale=scale), n_empty=n_empty)
    if representation == "covariance":
        return _from_moments(arrays, labels, center=center, scale=scale)
    return _from_products(arrays, labels, center=center, scale=scale)


def project_lazily(X: Any, mean: Array, weights: Array, dtype: np.dtype) -> Any:
    """Scores as a dask array, computed when asked for."""
    whole_rows = X.rechunk({1: -1})
    return whole_rows.map_blocks(
        lambda chunk: project(_plain(chunk), mean, weights).astype(dtype, copy=False),
        dtype=dtype,
        chunks=(whole_rows.chunks[0], (weights.shape[1],)),
        meta=np.empty((0, 0), dtype=dtype),
    )


# --- tall data: moments of row chunks ---------------------------------------------------------------------------------


def _from_moments(arrays: Sequence[Any], labels: Sequence[str], *, center: bool, scale: bool | str) -> Representation:
    check_matrices_fit(arrays[0].shape[1], len(arrays), "representation='covariance'")
    return from_moments(moments_of(arrays, labels), center=center, scale=scale)


def moments_of(arrays: Sequence[Any], labels: Sequence[str]) -> list[Moments]:
    """Moments of dask arrays, in one graph."""
    trees = [_tree([_task(_moments_of)(row[0]) for row in _grid(a.rechunk({1: -1}))], _merge_moments) for a in arrays]
    moments = compute(trees)
    for array, label, found in zip(arrays, labels, moments, strict=True):
        if not (np.isfinite(found.mean).all() and np.isfinite(found.scatter.diagonal()).all()):
            _raise_not_finite(array, label)
    return moments


def _moments_of(chunk: Any) -> Moments:
    chunk = _plain(chunk)
    with one_blas_thread():
        return Moments.gather(chunk.tocsr() if sparse.issparse(chunk) else chunk, parallel=False)


def _merge_moments(parts: Sequence[Moments]) -> Moments:
    total = parts[0].copy()
    for part in parts[1:]:
        total.merge(part)
    return total


# --- wide data: a Gram matrix of column chunks ------------------------------------------------------------------------


class DaskColumns:
    """The passes of :class:`~uca.operators.columns.ColumnBlocks`, one task a block of columns."""

    def __init__(self, arrays: Sequence[Any], labels: Sequence[str], *, center: bool, scale: bool | str):
        self.center, self.scale, self.labels, self.arrays = center, scale, labels, arrays
        self.n_features = arrays[0].shape[1]
        n_rows = [array.shape[0] for array in arrays]
        widest = max(1, int(COLUMN_BYTES // (8 * sum(n_rows))))
        edges = np.unique([0, *np.cumsum(arrays[0].chunks[1]), *range(0, self.n_features, widest)])
        self._columns = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.width = int(np.diff(edges).max())
        chunks = {0: -1, 1: tuple(np.diff(edges).tolist())}
        grids = [_grid(array.rechunk(chunks)) for array in arrays]
        self._parts = [[grid[0][c] for grid in grids] for c in range(len(self._columns))]
        self.rows = stacked(n_rows)
        self.means = [np.zeros(self.n_features) for _ in arrays]
        self.rests = [np.zeros(self.n_features) for _ in arrays]
        self.deviations = [np.ones(self.n_features) for _ in arrays]

    def gram(self) -> Array:
        """``Z Z'``, with means and deviations found on the way."""
        parts = [_task(_gram_part, nout=2)(part, self.center, self.scale) for part in self._parts]
        gram, statistics = compute([_tree([part[0] for part in parts], _sum), [part[1] for part in parts]])
        for columns, found in zip(self._columns, statistics, strict=True):
            for held, parts_ in zip((self.means, self.rests, self.deviations), found, strict=True):
                for i, part in enumerate(parts_):
                    held[i][columns] = part
        return gram

    def covariances(self) -> Callable[[], Representation]:
        """The same data in covariance form."""
        return partial(_from_moments, self.arrays, self.labels, center=self.center, scale=self.scale)

    def raise_not_finite(self, i: int) -> None:
        """Raise the error that names what is not finite in dataset ``i``."""
        _raise_not_finite(self.arrays[i], self.labels[i])

    def product(self, vectors: Array) -> Array:
        """``Z V``."""
        parts = [
            _task(_product_part)(part, *self._standard(columns), vectors[columns])
            for part, columns in zip(self._parts, self._columns, strict=True)
        ]
        return compute([_tree(parts, _sum)])[0]

    def transposed_product(self, weights: Array) -> Array:
        """``(Z' W)'``."""
        parts = [
            _task(_transposed_part)(part, *self._standard(columns), weights)
            for part, columns in zip(self._parts, self._columns, strict=True)
        ]
        return np.hstack(compute(parts))

    def _standard(self, columns: slice) -> tuple[bool, bool | str, Statistics]:
        held = (self.means, self.rests, self.deviations)
        return self.center, self.scale, tuple([part[columns] for part in parts] for parts in held)


def _columns_of(arrays: Sequence[Any], center: bool, scale: bool | str) -> ColumnBlocks:
    plain = [_plain(array) for array in arrays]
    return ColumnBlocks(plain, [""] * len(plain), center=center, scale=scale, parallel=False)


#: Means, what rounding them left, and deviations, each with one array a dataset.
Statistics = tuple[list[Array], ...]


def _gram_part(arrays: Sequence[Any], center: bool, scale: bool | str) -> tuple[Array, Statistics]:
    blocks = _columns_of(arrays, center, scale)
    with one_blas_thread():
        return blocks.gram(), (blocks.means, blocks.rests, blocks.deviations)


def _standardised(arrays: Sequence[Any], center: bool, scale: bool | str, statistics: Statistics) -> ColumnBlocks:
    blocks = _columns_of(arrays, center, scale)
    blocks.means, blocks.rests, blocks.deviations = statistics
    return blocks


def _product_part(
    arrays: Sequence[Any], center: bool, scale: bool | str, statistics: Statistics, vectors: Array
) -> Array:
    with one_blas_thread():
        return _standardised(arrays, center, scale, statistics).product(vectors)


def _transposed_part(
    arrays: Sequence[Any], center: bool, scale: bool | str, statistics: Statistics, weights: Array
) -> Array:
    with one_blas_thread():
        return _standardised(arrays, center, scale, statistics).transposed_product(weights)


# --- large both ways: products ----------------------------------------------------------------------------------------


class DaskRows:
    """Rows behind a dask array, for products with a few vectors."""

    def __init__(self, array: Any):
        self.n, self.p = array.shape
        self.longest = max(array.chunks[0])  # rows that one sum may run over
        self.grid = _grid(array)
        stops = np.cumsum(array.chunks[1]).tolist()
        self.columns = [slice(stop - width, stop) for stop, width in zip(stops, array.chunks[1], strict=True)]
        self.origin: Array | None = None

    def moments(self) -> Any:
        """Moments of all columns, lazily."""
        columns = [
            _tree([_task(_column_moments)(row[c]) for row in self.grid], _merge) for c in range(len(self.columns))
        ]
        return _task(beside)(columns)

    def product(self, vectors: Array, shift: Array) -> tuple[Array, Array]:
        """``X' (X V - shift)`` and the column sums of ``X V - shift``; X stands for ``X - origin``."""
        total, sums = compute([self.lazy_product(vectors, shift)])[0]
        return np.vstack(total), sums

    def lazy_product(self, vectors: Array, shift: Array) -> Any:
        """The same lazily, with the first result as a list of blocks of rows."""
        held, origin = [_constant(vectors[c]) for c in self.columns], [self._origin_of(c) for c in self.columns]
        if len(self.columns) == 1:
            parts = [_task(_both)(row[0], held[0], shift, origin[0]) for row in self.grid]
            return _tree(parts, _sum_pairs)
        totals: list[list[Any]] = [[] for _ in self.columns]
        sums = []
        for row in self.grid:
            scored = [_task(_forward)(chunk, v, o) for chunk, v, o in zip(row, held, origin, strict=True)]
            scores = _task(_shifted)(scored, shift)
            sums.append(_task(_column_sums)(scores))
            for c, chunk in enumerate(row):
                totals[c].append(_task(_backward)(chunk, scores, origin[c]))
        return [[_tree(parts, _sum) for parts in totals], _tree(sums, _sum)]

    def _origin_of(self, columns: slice) -> Any:
        return None if self.origin is None else _constant(self.origin[columns])


class DaskPencil(Pencil):
    """Implicit covariances whose products share one graph."""

    def products(self, vectors: Array) -> Array:
        operators: list[Any] = [self.target, *self.backgrounds]
        scaled = [operator.factor[:, np.newaxis] * vectors for operator in operators]
        lazy = [op.rows.lazy_product(v, op.mean @ v) for op, v in zip(operators, scaled, strict=True)]
        return np.stack(
            [op.finish(np.vstack(total), sums) for op, (total, sums) in zip(operators, compute(lazy), strict=True)]
        )


def _from_products(arrays: Sequence[Any], labels: Sequence[str], *, center: bool, scale: bool | str) -> Representation:
    rows = [DaskRows(array) for array in arrays]
    moments = compute([part.moments() for part in rows])
    for array, label, found in zip(arrays, labels, moments, strict=True):
        if not (np.isfinite(found.mean).all() and np.isfinite(found.squares).all()):
            _raise_not_finite(array, label)
    dtypes = [float_dtype(array.dtype) for array in arrays]
    return standardise(rows, moments, dtypes, center=center, scale=scale, pencil=DaskPencil)


def _column_moments(chunk: Any) -> ColumnMoments:
    return column_moments(_plain(chunk))


def _merge(parts: Sequence[ColumnMoments]) -> ColumnMoments:
    return reduce(ColumnMoments.merge, parts)


def _both(chunk: Any, vectors: Array, shift: Array, origin: Array | None) -> tuple[list[Array], Array]:
    with one_blas_thread():
        total, sums = both(_plain(chunk), vectors, shift, origin)
    return [total], sums


def _sum_pairs(parts: Sequence[tuple[list[Array], Array]]) -> tuple[list[Array], Array]:
    return [_sum([total[0] for total, _ in parts])], _sum([sums for _, sums in parts])


def _forward(chunk: Any, vectors: Array, origin: Array | None) -> Array:
    with one_blas_thread():
        return forward(_plain(chunk), vectors, origin)


def _backward(chunk: Any, scores: Array, origin: Array | None) -> Array:
    with one_blas_thread():
        return backward(_plain(chunk), scores, origin)


def _shifted(parts: Sequence[Array], shift: Array) -> Array:
    return _sum(parts) - shift


def _column_sums(scores: Array) -> Array:
    return np.asarray(scores.sum(axis=0))


# --- graphs -----------------------------------------------------------------------------------------------------------


def _grid(array: Any) -> list[list[Any]]:
    """Chunks as delayed objects, rows of columns."""
    return [list(row) for row in array.to_delayed()]


def _task(function: Callable[..., Any], nout: int | None = None) -> Any:
    import dask

    return dask.delayed(function, pure=False, nout=nout)


def _constant(value: Array) -> Any:
    """An array that a graph holds once, however many tasks use it."""
    import dask

    return dask.delayed(value, pure=False)


def _tree(parts: list[Any], merge: Callable[[Sequence[Any]], Any]) -> Any:
    """Merge results a few at a time, so that no task holds many."""
    while len(parts) > 1:
        parts = [_task(merge)(parts[i : i + WIDTH]) for i in range(0, len(parts), WIDTH)]
    return parts[0]


def _sum(parts: Sequence[Array]) -> Array:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _plain(chunk: Any) -> Any:
    """A chunk as the kernels take it: a numpy array (NaN where it is masked), or CSR or CSC without duplicates."""
    if not sparse.issparse(chunk):
        return np.asarray(with_nan(chunk))
    chunk = chunk if chunk.format in ("csr", "csc") else chunk.tocsr()
    if not chunk.has_canonical_format:
        chunk = chunk.copy()
        chunk.sum_duplicates()
    return chunk


def _raise_not_finite(array: Any, label: str) -> None:
    """Count what is not finite, chunk by chunk, and raise."""
    grid = _grid(array)
    counts = compute([[_task(_count)(chunk) for chunk in row] for row in grid])
    row_starts = np.cumsum([0, *array.chunks[0]])
    column_starts = np.cumsum([0, *array.chunks[1]])
    n_nan = n_inf = 0
    places = []
    for i, row in enumerate(counts):
        for c, (nan, inf, first) in enumerate(row):
            n_nan, n_inf = n_nan + nan, n_inf + inf
            if first is not None:
                places.append((int(row_starts[i]) + first[0], int(column_starts[c]) + first[1]))
    raise_counts(n_nan, n_inf, min(places) if places else None, label)


def _count(chunk: Any) -> Any:
    return count_not_finite(_plain(chunk))
