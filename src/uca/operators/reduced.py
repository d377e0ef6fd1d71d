"""Representation ``reduced``: for more features than rows, everything after one Gram pass is N x N.

Stack the standardised rows of all datasets as Z (N x p). Every direction with variance anywhere lies in the span of
these rows. With a pivoted Cholesky factor of the Gram matrix, ``Z Z' = F F'``, the rows of F are the rows of Z in
orthonormal coordinates of that span, so the covariances in the working space are those of F. Components are lifted back
once: ``Z' L^{-T} u`` with L the triangular part of F. p enters twice, never again.

The rest of feature space has no variance in any dataset. It matters (mass there spends no bound), so the working space
gets a few coordinates for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, solve_triangular

from .._containers import float_dtype
from .._threads import in_lanes, one_blas_thread
from .._types import Array
from .._validation import raise_not_finite
from .dense import DensePencil
from .moments import BLOCK_BYTES, PARALLEL_BYTES, center_block, deviations, divisor, fill, inverse
from .representation import Representation, stacked

SMALLEST = 1e-11  # share of the largest variance
LANE_BYTES = 4_000_000
EMPTY = 1e-8  # weight on a direction without variance below the accuracy of iterative eigenvectors: counts as none


def from_gram(
    arrays: Sequence[Any], labels: Sequence[str], *, center: bool, scale: bool | str, n_empty: int
) -> Representation:
    """Reduced form of the target (first) and the backgrounds, with up to ``n_empty`` coordinates without variance."""
    return from_columns(ColumnBlocks(arrays, labels, center=center, scale=scale), n_empty=n_empty)


def from_columns(blocks: Any, *, n_empty: int) -> Representation:
    """The same for :class:`ColumnBlocks`, or anything that makes its passes."""
    scale, gram = blocks.scale, blocks.gram()
    for i, (rows, deviation) in enumerate(zip(blocks.rows, blocks.deviations, strict=True)):
        if not (np.isfinite(gram[rows, rows].diagonal()).all() and np.isfinite(deviation).all()):
            blocks.raise_not_finite(i)
    weights, traces = _balance(gram, blocks.rows)
    gram *= weights
    gram *= weights[:, np.newaxis]
    factor, pivots, rank = _pivoted_cholesky(gram)
    n_features = blocks.n_features
    n_empty = min(n_empty, n_features - rank)
    coordinates = np.zeros((len(factor), rank + n_empty))
    coordinates[pivots, :rank] = factor[:, :rank]
    matrices = np.stack(
        [trace * (coordinates[rows].T @ coordinates[rows]) for rows, trace in zip(blocks.rows, traces, strict=True)]
    )
    lift = Lift(blocks, factor[:rank, :rank], pivots[:rank], weights)
    scale_ = blocks.deviations[0] if scale else np.ones(n_features)
    n_constant = tuple(int(np.sum(d == 0)) if scale else 0 for d in blocks.deviations)
    return Representation("reduced", DensePencil(matrices, n_features), lift, blocks.means[0], scale_, n_constant)


def _balance(gram: Array, rows: Sequence[slice]) -> tuple[Array, list[float]]:
    """Row weights that give every dataset trace 1, so that none is lost beside larger units; and the traces."""
    weights, traces = np.zeros(len(gram)), []
    diagonal = gram.diagonal()
    for where in rows:
        total = float(diagonal[where].sum())
        traces.append(total / divisor(where.stop - where.start))
        weights[where] = 1.0 / np.sqrt(total) if total > 0 else 0.0
    return weights, traces


def _pivoted_cholesky(gram: Array) -> tuple[Array, Array, int]:
    """Lower factor with rows in pivot order, the pivots, and the numerical rank."""
    with one_blas_thread():
        # Variance below this share of the largest cannot be told from rounding in a Gram matrix; it counts as none.
        share = max(len(gram) * np.finfo(float).eps, SMALLEST)
        tol = share * max(gram.diagonal().max(), np.finfo(float).tiny)
        factor, pivots, rank, _ = lapack.dpstrf(gram, tol=tol, lower=1)
    return np.tril(factor), pivots - 1, int(rank)


@dataclass(frozen=True)
class Lift:
    """From the working space back to features."""

    blocks: Any  # ColumnBlocks, or what makes its passes
    triangle: Array
    pivots: Array
    weights: Array

    def __call__(self, vectors: Array) -> Array:
        basis, coefficients = np.linalg.qr(vectors)
        rank = len(self.triangle)
        components = self.blocks.transposed_product(self._row_weights(basis[:rank]))
        empty = basis[rank:]
        if np.any(np.abs(empty) > EMPTY):
            components += empty.T @ self._empty_directions(len(empty))
        # The lifted basis is orthonormal up to rounding; its small Gram matrix makes it exact without another p x k copy.
        factor = np.linalg.cholesky(components @ components.T)
        return (coefficients.T @ np.linalg.inv(factor)) @ components

    def _row_weights(self, vectors: Array) -> Array:
        """Coefficients a with ``Z' a`` = the lifted vectors, on all rows."""
        weights = np.zeros((len(self.weights), vectors.shape[1]))
        weights[self.pivots] = solve_triangular(self.triangle, vectors, lower=True, trans=1, check_finite=False)
        return weights * self.weights[:, np.newaxis]

    def _empty_directions(self, k: int) -> Array:
        """Seeded orthonormal directions, (k, p), in which no dataset varies."""
        directions = np.random.default_rng(0).standard_normal((k, self.blocks.n_features))
        for _ in range(2):  # the second pass removes what rounding left
            scores = self.blocks.product(directions.T) * self.weights[:, np.newaxis]
            inside = solve_triangular(self.triangle, scores[self.pivots], lower=True, check_finite=False)
            directions -= self.blocks.transposed_product(self._row_weights(inside))
            directions = np.linalg.qr(directions.T)[0].T
        return directions


class ColumnBlocks:
    """Passes over the standardised rows of all datasets, a few columns at a time in a small buffer.

    The first pass, :meth:`gram`, also finds the means and deviations of every dataset.
    """

    def __init__(
        self,
        arrays: Sequence[Any],
        labels: Sequence[str],
        *,
        center: bool,
        scale: bool | str,
        parallel: bool = True,
    ):
        self.arrays = [array.tocsc() if sparse.issparse(array) else array for array in arrays]
        self.labels, self.center, self.scale = labels, center, scale
        self.n_features = arrays[0].shape[1]
        # Blocks of float32 input are widened, so that products lose nothing; float32 products of paired data, whose
        # difference is what matters, would break bounds that are certified to be kept.
        self.dtype = np.dtype(float)
        # The lift is another matter: components of float32 data are float32.
        self._lift_dtype = np.result_type(np.float32, *(array.dtype for array in self.arrays))
        self.rows = stacked([array.shape[0] for array in arrays])
        self.n_rows = self.rows[-1].stop
        self.means = [np.zeros(self.n_features) for _ in arrays]
        self.deviations = [np.ones(self.n_features) for _ in arrays]
        n_bytes = self.n_rows * self.n_features * self.dtype.itemsize
        self._parallel = parallel and n_bytes >= PARALLEL_BYTES
        # Lanes need blocks that keep a core busy while another holds Python's lock; all are small beside the input.
        size = int(np.clip(n_bytes // 40, 2 * BLOCK_BYTES, LANE_BYTES)) if self._parallel else BLOCK_BYTES
        width = max(64, size // (self.n_rows * self.dtype.itemsize))
        self._columns = [slice(s, min(s + width, self.n_features)) for s in range(0, self.n_features, width)]
        self._width = min(width, self.n_features)

    def raise_not_finite(self, i: int) -> None:
        """Raise the error that names what is not finite in dataset ``i``."""
        raise_not_finite(self.arrays[i], self.labels[i])

    def gram(self) -> Array:
        """``Z Z'`` in float64; means that rounding left in Z are taken out of it."""

        def work(share: Sequence[slice]) -> Array:
            total, buffer = np.zeros((self.n_rows, self.n_rows)), self._buffer()
            for columns in share:
                z = self._measure(columns, buffer)
                total += z @ z.T
            return total

        with np.errstate(invalid="ignore", over="ignore"):
            total = self._sum(work)
            if self.center:
                for rows in self.rows:
                    total[rows] -= total[rows].mean(axis=0)
                    total[:, rows] -= total[:, rows].mean(axis=1, keepdims=True)
        return total

    def product(self, vectors: Array) -> Array:
        """``Z V`` for V of shape (p, k)."""

        def work(share: Sequence[slice]) -> Array:
            total, buffer = np.zeros((self.n_rows, vectors.shape[1])), self._buffer()
            for columns in share:
                total += self._standardised(columns, buffer) @ vectors[columns]
            return total

        return self._sum(work)

    def transposed_product(self, weights: Array) -> Array:
        """``(Z' W)'``, of shape (k, p), for W of shape (N, k)."""
        out = np.empty((weights.shape[1], self.n_features))
        small = self._means_are_small()
        product = self._centred_after if small else self._centred_before
        left = np.ascontiguousarray(weights.T, dtype=self._lift_dtype if small else self.dtype)

        def work(share: Sequence[slice]) -> None:
            buffer = self._buffer()
            for columns in share:
                out[:, columns] = product(left, columns, buffer)

        in_lanes(work, self._columns, parallel=self._parallel)
        return out

    def _means_are_small(self) -> bool:
        """Whether centring after a product costs no digits that matter: no mean exceeds a hundred deviations (or one)."""
        limit = 100.0 if self._lift_dtype == np.float64 else 1.0
        pairs = zip(self.means, self.deviations, strict=True)
        return bool(self.scale) and all(np.all(np.abs(mean) <= limit * deviation) for mean, deviation in pairs)

    def _centred_before(self, left: Array, columns: slice, buffer: Array) -> Array:
        return left @ self._standardised(columns, buffer)

    def _centred_after(self, left: Array, columns: slice, buffer: Array) -> Array:
        """The same without a standardised block: ``(W'X - (W'1) mean') / deviation`` for each dataset, summed."""
        total = np.zeros((len(left), columns.stop - columns.start))
        for array, rows, mean, deviation in zip(self.arrays, self.rows, self.means, self.deviations, strict=True):
            part = (left[:, rows] @ array[:, columns]).astype(float, copy=False)
            part -= np.multiply.outer(left[:, rows].sum(axis=1), mean[columns])
            part *= inverse(deviation[columns])
            total += part
        return total

    def _sum(self, work: Callable[[Sequence[slice]], Array]) -> Array:
        first, *others = in_lanes(work, self._columns, parallel=self._parallel)
        for other in others:
            first += other
        return first

    def _buffer(self) -> Array:
        return np.empty((self.n_rows, self._width), dtype=self.dtype)

    def _measure(self, columns: slice, buffer: Array) -> Array:
        """Standardise a block, finding and storing its means and deviations."""
        z = buffer[:, : columns.stop - columns.start]
        for i, (array, rows) in enumerate(zip(self.arrays, self.rows, strict=True)):
            part, left = z[rows], np.zeros(1)
            if self.center:
                self.means[i][columns], left = center_block(array[:, columns], part)
            else:
                fill(part, array[:, columns])
            if self.scale:
                part *= inverse(self._deviation(i, columns, part, left)).astype(self.dtype)
        return z

    def _deviation(self, i: int, columns: slice, part: Array, left: Array) -> Array:
        if i and self.scale == "target":
            found = self.deviations[0][columns]
        else:
            sums = np.einsum("ij,ij->j", part, part).astype(float) - len(part) * np.square(left)
            found = deviations(sums, self.means[i][columns], len(part), float_dtype(self.arrays[i].dtype))
        self.deviations[i][columns] = found
        return found

    def _standardised(self, columns: slice, buffer: Array) -> Array:
        """Standardise a block with the stored means and deviations."""
        z = buffer[:, : columns.stop - columns.start]
        for array, rows, mean, deviation in zip(self.arrays, self.rows, self.means, self.deviations, strict=True):
            part = z[rows]
            fill(part, array[:, columns])
            if self.center:
                part -= mean[columns].astype(self.dtype)
            if self.scale:
                part *= inverse(deviation[columns]).astype(self.dtype)
        return z
