"""Datasets as dask arrays: the passes over data are done by dask.

Promises: nothing is gathered but a p x p matrix a dataset (``covariance``), one N x N matrix (``reduced``) or a few vectors
a pass (``implicit``); each pass is one graph for all datasets; chunks may run along rows, columns or both, and may be scipy
sparse. Work runs where dask runs it: the threaded scheduler by default, a ``distributed.Client`` where there is one. If
workers die, dask computes their part again; if none is left, :mod:`~.graphs` ends the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ..._containers import is_dask
from ..._threads import one_blas_thread
from ..._types import Array
from ..._validation import count_not_finite, raise_counts
from ..contract.operator import CovarianceOperator
from ..contract.pencil import OperatorPencil, Pencil
from ..statistics.column_moments import ColumnMoments, beside
from ..statistics.moments import Moments
from ..statistics.standard import Standard
from .chunks import backward, both, column_moments, forward, project
from .columns import ColumnBlocks, stacked
from .graphs import compute, constant, grid, plain, sum_of, task, tree
from .source import Offer, Source

COLUMN_BYTES = 64e6  # of a block of columns, all rows together
DISTANT = 5.0  # a pass over chunks that dask reads, as a multiple of one over memory
GUESSED_DENSITY = 0.05  # of sparse chunks that have not been read


class DaskSource(Source):
    """Dask arrays; arrays in memory among them become one chunk."""

    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.MOMENTS, Offer.COLUMNS, Offer.ROWS})
    containers: ClassVar[str] = "dask arrays"
    pass_cost: ClassVar[float] = DISTANT

    def __init__(self, arrays: Sequence[Any], labels: Sequence[str]):
        super().__init__([_as_dask(array) for array in arrays], labels)

    @classmethod
    def takes(cls, array: Any) -> bool:
        return is_dask(array)

    @property
    def n_stored(self) -> float | None:
        if not any(sparse.issparse(array._meta) for array in self.arrays):
            return None
        return float(sum((GUESSED_DENSITY if sparse.issparse(a._meta) else 1.0) * a.size for a in self.arrays))

    def raise_not_finite(self, i: int) -> None:
        _raise_not_finite(self.arrays[i], self.labels[i])

    def moments(self) -> list[Moments]:
        arrays = [array.rechunk({1: -1}) for array in self.arrays]
        return self.checked(compute([tree([task(_moments_of)(row[0]) for row in grid(a)], _merge) for a in arrays]))

    def columns(self, *, center: bool, scale: bool | str) -> DaskColumns:
        return DaskColumns(self.arrays, center=center, scale=scale)

    def rows(self) -> tuple[list[DaskRows], list[ColumnMoments]]:
        rows = [DaskRows(array) for array in self.arrays]
        return rows, self.checked(compute([part.moments() for part in rows]))

    def pencil(self, operators: Sequence[CovarianceOperator]) -> Pencil:
        return DaskPencil(operators, self.n_features)


def _as_dask(array: Any) -> Any:
    import dask.array as da

    if isinstance(array, da.Array):
        return array
    return da.from_array(array, chunks=array.shape, asarray=False, name=False)


def project_lazily(X: Any, mean: Array, weights: Array, dtype: np.dtype) -> Any:
    """Scores as a dask array, computed when asked for."""
    whole_rows = X.rechunk({1: -1})
    return whole_rows.map_blocks(
        lambda chunk: project(plain(chunk), mean, weights).astype(dtype, copy=False),
        dtype=dtype,
        chunks=(whole_rows.chunks[0], (weights.shape[1],)),
        meta=np.empty((0, 0), dtype=dtype),
    )


def _moments_of(chunk: Any) -> Moments:
    chunk = plain(chunk)
    with one_blas_thread():
        return Moments.gather(chunk.tocsr() if sparse.issparse(chunk) else chunk, parallel=False)


def _merge(parts: Sequence[Any]) -> Any:
    """Moments of all parts, of either kind; the first is not changed."""
    first = parts[0].copy() if isinstance(parts[0], Moments) else parts[0]
    return reduce(lambda total, part: total.merge(part), parts[1:], first)


# --- wide data: a Gram matrix of column chunks ------------------------------------------------------------------------


class DaskColumns:
    """:class:`~.source.ColumnPasses`, one task a block of columns."""

    def __init__(self, arrays: Sequence[Any], *, center: bool, scale: bool | str):
        self.center, self.scale = center, scale
        self.n_features = arrays[0].shape[1]
        n_rows = [array.shape[0] for array in arrays]
        widest = max(1, int(COLUMN_BYTES // (8 * sum(n_rows))))
        edges = np.unique([0, *np.cumsum(arrays[0].chunks[1]), *range(0, self.n_features, widest)])
        self._columns = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        self.width = int(np.diff(edges).max())
        chunks = {0: -1, 1: tuple(np.diff(edges).tolist())}
        grids = [grid(array.rechunk(chunks)) for array in arrays]
        self._parts = [[rows[0][c] for rows in grids] for c in range(len(self._columns))]
        self.rows = stacked(n_rows)
        self.standards: tuple[Standard, ...] = ()

    def gram(self) -> Array:
        parts = [task(_gram_part, nout=2)(part, self.center, self.scale) for part in self._parts]
        gram, found = compute([tree([part[0] for part in parts], sum_of), [part[1] for part in parts]])
        self.standards = tuple(Standard.beside(of_one) for of_one in zip(*found, strict=True))
        return gram

    def product(self, vectors: Array) -> Array:
        return compute([tree(self._each("product", [vectors[columns] for columns in self._columns]), sum_of)])[0]

    def transposed_product(self, weights: Array) -> Array:
        return np.hstack(compute(self._each("transposed_product", [weights] * len(self._columns))))

    def _each(self, method: str, given: Sequence[Array]) -> list[Any]:
        """A task for each block of columns."""
        return [
            task(_pass)(part, tuple(s.part(columns) for s in self.standards), self.scale, method, argument)
            for part, columns, argument in zip(self._parts, self._columns, given, strict=True)
        ]


def _blocks(arrays: Sequence[Any], center: bool, scale: bool | str) -> ColumnBlocks:
    return ColumnBlocks([plain(array) for array in arrays], center=center, scale=scale, parallel=False)


def _gram_part(arrays: Sequence[Any], center: bool, scale: bool | str) -> tuple[Array, tuple[Standard, ...]]:
    blocks = _blocks(arrays, center, scale)
    with one_blas_thread():
        return blocks.gram(), blocks.standards


def _pass(arrays: Sequence[Any], given: tuple[Standard, ...], scale: bool | str, method: str, argument: Array) -> Array:
    """One pass of :class:`~.columns.ColumnBlocks` over a block of columns."""
    blocks = _blocks(arrays, given[0].center, scale)
    blocks.standards = given
    with one_blas_thread():
        return np.asarray(getattr(blocks, method)(argument))


# --- large both ways: products ----------------------------------------------------------------------------------------


class DaskRows:
    """The rows of one dask array: :class:`~.source.RowPasses`, and their moments."""

    def __init__(self, array: Any):
        self.n, self.p = array.shape
        self.longest = max(array.chunks[0])  # rows that one sum may run over
        self._grid = grid(array)
        stops = np.cumsum(array.chunks[1]).tolist()
        self.columns = [slice(stop - width, stop) for stop, width in zip(stops, array.chunks[1], strict=True)]
        self.origin: Array | None = None

    def moments(self) -> Any:
        """Moments of all columns, lazily."""
        columns = [
            tree([task(_column_moments)(row[c]) for row in self._grid], _merge) for c in range(len(self.columns))
        ]
        return task(beside)(columns)

    def product(self, vectors: Array, shift: Array) -> tuple[Array, Array]:
        total, sums = compute([self.lazy_product(vectors, shift)])[0]
        return np.vstack(total), sums

    def lazy_product(self, vectors: Array, shift: Array) -> Any:
        """The same lazily, with the first result as a list of blocks of rows."""
        held, origin = [constant(vectors[c]) for c in self.columns], [self._origin_of(c) for c in self.columns]
        if len(self.columns) == 1:
            parts = [task(_both)(row[0], held[0], shift, origin[0]) for row in self._grid]
            return tree(parts, _sum_pairs)
        totals: list[list[Any]] = [[] for _ in self.columns]
        sums = []
        for row in self._grid:
            scored = [task(_forward)(chunk, v, o) for chunk, v, o in zip(row, held, origin, strict=True)]
            scores = task(_shifted)(scored, shift)
            sums.append(task(_column_sums)(scores))
            for c, chunk in enumerate(row):
                totals[c].append(task(_backward)(chunk, scores, origin[c]))
        return [[tree(parts, sum_of) for parts in totals], tree(sums, sum_of)]

    def _origin_of(self, columns: slice) -> Any:
        return None if self.origin is None else constant(self.origin[columns])


class DaskPencil(OperatorPencil):
    """Implicit covariances whose products share one graph."""

    def products(self, vectors: Array) -> Array:
        operators: Sequence[Any] = self.operators
        scaled = [operator.factor[:, np.newaxis] * vectors for operator in operators]
        lazy = [op.rows.lazy_product(v, op.mean @ v) for op, v in zip(operators, scaled, strict=True)]
        return np.stack(
            [op.finish(np.vstack(total), sums) for op, (total, sums) in zip(operators, compute(lazy), strict=True)]
        )


def _column_moments(chunk: Any) -> ColumnMoments:
    return column_moments(plain(chunk))


def _both(chunk: Any, vectors: Array, shift: Array, origin: Array | None) -> tuple[list[Array], Array]:
    with one_blas_thread():
        total, sums = both(plain(chunk), vectors, shift, origin)
    return [total], sums


def _sum_pairs(parts: Sequence[tuple[list[Array], Array]]) -> tuple[list[Array], Array]:
    return [sum_of([total[0] for total, _ in parts])], sum_of([sums for _, sums in parts])


def _forward(chunk: Any, vectors: Array, origin: Array | None) -> Array:
    with one_blas_thread():
        return forward(plain(chunk), vectors, origin)


def _backward(chunk: Any, scores: Array, origin: Array | None) -> Array:
    with one_blas_thread():
        return backward(plain(chunk), scores, origin)


def _shifted(parts: Sequence[Array], shift: Array) -> Array:
    return sum_of(parts) - shift


def _column_sums(scores: Array) -> Array:
    return np.asarray(scores.sum(axis=0))


def _raise_not_finite(array: Any, label: str) -> None:
    """Count what is not finite, chunk by chunk, and raise."""
    counts = compute([[task(_count)(chunk) for chunk in row] for row in grid(array)])
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
    return count_not_finite(plain(chunk))
