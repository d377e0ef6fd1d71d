"""Representation ``reduced``: for more features than rows, everything after one Gram pass is N x N.

Stack the standardised rows of all datasets as Z (N x p). Every direction with variance anywhere lies in the span of
these rows. With a pivoted Cholesky factor of the Gram matrix, ``Z Z' = F F'``, the rows of F are the rows of Z in
orthonormal coordinates of that span, so the covariances in the working space are those of F. Components are lifted back
once: ``Z' L^{-T} u`` with L the triangular part of F. p enters twice, never again.

A Gram matrix squares: what is below a root of the rounding unit of the largest row is lost in it. With an error E of the
Gram matrix the rows of F lie within ``1.1 |E| / s`` of those of Z, turned, where s is the smallest singular value of the
rows (Tu, Boczar, Simchowitz, Soltanolkotabi & Recht 2016, lemma 5.4). That is little where rows are well conditioned.
Where they are not (units that differ, nearly equal rows), the rows are decomposed themselves, ``Z' = Q R``
(:func:`from_qr`), in a copy. Rows that are equal are merged first, so those drawn again in a bootstrap are no such case.

The rest of feature space has no variance in any dataset. It matters (mass there spends no bound), so the working space
gets a few coordinates for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.linalg import blas, lapack, qr, solve_triangular

from ..._memory import fits, matrices_fit
from ..._threads import one_blas_thread
from ..._types import Array
from ..contract.dense import DensePencil
from ..sources.columns import ColumnBlocks
from ..sources.repeated import first_equal
from ..sources.source import ColumnPasses, Offer, Source
from ..statistics.blocks import check_range, divisor
from ..statistics.rounding import ENTRY, UNIT, frobenius, product_allowance, summation
from . import covariance
from .representation import How, Kind, Representation, Size, as_rows

EMPTY = 1e-8  # weight on a direction without variance below the accuracy of iterative eigenvectors: counts as none
CONDITIONED = 1e-8  # error, relative to the target's largest variance, from which the rows themselves are decomposed
DEPENDENT = 1e-14  # of the largest: what is left of a vector beside others that is rounding
NORM_STEPS = 12  # of the power method
NORM_ROOM = 1.5  # for what it misses


def build(source: Source, how: How) -> Representation:
    """Reduced form of the target (first) and the backgrounds, with up to ``n_empty`` coordinates without variance."""
    blocks, n_empty = source.columns(center=how.center, scale=how.scale), how.n_empty
    gram = blocks.gram()
    for i, (rows, standard) in enumerate(zip(blocks.rows, blocks.standards, strict=True)):
        diagonal = gram[rows, rows].diagonal()
        if not (np.isfinite(diagonal).all() and np.isfinite(standard.scale).all()):
            source.raise_not_finite(i)
        check_range(diagonal.sum(), np.zeros(1) if how.scale else standard.mean)
    weights, traces = _balance(gram, blocks.rows)
    kept, weights, sets = _merged(blocks, weights)
    gram = gram if len(kept) == len(gram) else gram[np.ix_(kept, kept)]
    gram *= weights[kept]
    gram *= weights[kept, np.newaxis]
    rank_left = sum(s.stop - s.start - how.center for s in sets if weights[kept[s]].any())  # centring takes one each
    factor, pivots, rank = _pivoted_cholesky(gram, blocks, rank_left)
    of_gram = UNIT * _gram_units(blocks) * frobenius(gram)
    triangle, whole = np.asfortranarray(factor[:rank, :rank]), rank >= rank_left
    # A smaller rank is no proof that nothing was cut away: rows up to the root of the error may hide there.
    distance = 1.1 * of_gram * _inverse_norm(triangle) if whole else np.sqrt(len(gram) * of_gram)
    norms = np.array([_norm(gram[rows, rows]) for rows in sets])  # of each dataset, relative to its trace
    sharper = _sharper(source, blocks, how)
    if sharper is not None and 2.0 * distance * np.sqrt(norms[0]) > CONDITIONED * norms[0]:
        return replace(sharper(), name="reduced")  # covariances too: to all of feature space
    n_features = blocks.n_features
    n_empty = min(n_empty, n_features - rank)
    coordinates = np.zeros((len(factor), rank + n_empty))
    coordinates[pivots, :rank] = factor[:, :rank]
    parts = [np.sqrt(trace) * coordinates[rows] for rows, trace in zip(sets, traces, strict=True)]
    matrices = _squares(parts)
    products = np.array([product_allowance(len(gram), matrix) for matrix in matrices])
    lift = Lift(blocks, triangle, kept[pivots[:rank]], weights)

    def errors_at(vectors: Array, sizes: Array) -> Array:
        # v'Sv is off by 2 (Fv)' E a to first order, with E the error of the Gram matrix and v = F'a.
        mass = np.linalg.norm(solve_triangular(triangle, vectors[:rank], lower=True, trans=1, check_finite=False), 2)
        return 2.0 * np.sqrt(np.maximum(sizes, 0.0) * traces) * of_gram * mass + products

    allowances = 2.0 * distance * np.sqrt(norms) * traces + products
    pencil = DensePencil(matrices, n_features, allowances, errors_at if whole else None, parts)
    return Representation("reduced", pencil, blocks.standards, lift, sharper)


def _sharper(source: Source, blocks: ColumnPasses, how: How) -> Callable[[], Representation] | None:
    """A form of the same data that does not square, where it fits in memory with room to make it."""
    if not isinstance(blocks, ColumnBlocks):  # rows are not at hand
        square = matrices_fit(source.n_features, len(source.arrays))
        return partial(covariance.build, source, how) if square else None
    copies = fits(4 * 8.0 * sum(source.n_rows) * source.n_features)
    return partial(from_qr, blocks, n_empty=how.n_empty) if copies else None


def _balance(gram: Array, rows: Sequence[slice]) -> tuple[Array, Array]:
    """Row weights that give every dataset trace 1, so that none is lost beside larger units; and the traces."""
    weights, traces = np.zeros(len(gram)), np.zeros(len(rows))
    diagonal = gram.diagonal()
    for i, where in enumerate(rows):
        total = float(diagonal[where].sum())
        traces[i] = total / divisor(where.stop - where.start)
        weights[where] = 1.0 / np.sqrt(total) if total > 0 else 0.0
    return weights, traces


def _merged(blocks: ColumnPasses, weights: Array) -> tuple[Array, Array, list[slice]]:
    """Places of rows without those that repeat an earlier one, weights of all, and where datasets stand among the former.

    Rows that repeat get weight 0, and the first of c equal ones ``c ** 0.5`` times its own: covariances are the same, and
    the rows that are left need not depend on one another.
    """
    places = np.arange(len(weights))
    first = first_equal(blocks.arrays) if isinstance(blocks, ColumnBlocks) and blocks.dense else places
    counts = np.bincount(first, minlength=len(weights))
    kept = np.flatnonzero(counts)
    ends = np.searchsorted(kept, [0, *(rows.stop for rows in blocks.rows)]).tolist()
    return kept, weights * np.sqrt(counts), [slice(*pair) for pair in pairwise(ends)]


def _gram_units(blocks: ColumnPasses) -> float:
    """Units of rounding of the Gram matrix: its products are sums over features, its factor is made of sums over rows."""
    return summation(blocks.n_features, blocks.width) + summation(blocks.rows[-1].stop) + ENTRY


def _pivoted_cholesky(gram: Array, blocks: ColumnPasses, rank_left: int) -> tuple[Array, Array, int]:
    """Lower factor with rows in pivot order, pivots, and rank: what is not rounding, at most what centring leaves."""
    with one_blas_thread():
        tol = UNIT * (_gram_units(blocks) + len(gram)) * max(gram.diagonal().max(), np.finfo(float).tiny)
        factor, pivots, rank, _ = lapack.dpstrf(gram, tol=tol, lower=1)
    return np.tril(factor), pivots - 1, min(int(rank), rank_left)


def _squares(parts: Sequence[Array]) -> Array:
    """``P'P`` for every part, stacked; written where they stay."""
    out = np.empty((len(parts), parts[0].shape[1], parts[0].shape[1]))
    for part, matrix in zip(parts, out, strict=True):
        np.matmul(part.T, part, out=matrix)
    return out


def _norm(matrix: Array) -> float:
    """The largest eigenvalue of a positive matrix of trace 1, by the power method, with room for what it misses."""
    vector, size = np.random.default_rng(0).standard_normal(len(matrix)), 0.0
    for _ in range(NORM_STEPS):
        vector = matrix @ (vector / max(float(np.linalg.norm(vector)), np.finfo(float).tiny))
        size = float(np.linalg.norm(vector))
    return min(1.0, NORM_ROOM * size)


def _inverse_norm(triangle: Array) -> float:
    """About the largest singular value of the inverse of a triangular matrix, and rather more than less."""
    if len(triangle) == 0:
        return 0.0
    vector, size = np.random.default_rng(0).standard_normal(len(triangle)), 0.0
    for _ in range(NORM_STEPS):
        vector /= np.linalg.norm(vector)
        vector = blas.dtrsv(triangle, vector, lower=1)
        size = float(np.linalg.norm(vector))
        vector = blas.dtrsv(triangle, vector, lower=1, trans=1)
    return NORM_ROOM * size


def from_qr(blocks: ColumnBlocks, *, n_empty: int) -> Representation:
    """Reduced form by a QR factorisation of the standardised rows, after :meth:`ColumnBlocks.gram`.

    No square is taken, so small variances keep their digits: the error of each row is relative to its own size.
    """
    rows = blocks.standardised()
    n_rows, n_features = rows.shape
    powers = np.zeros(n_rows, dtype=int)
    for where in blocks.rows:  # datasets of like size, so that units do not matter; powers of two change no digit
        powers[where] = np.frexp(np.linalg.norm(rows[where]))[1]
    rows = np.ldexp(rows, -powers[:, np.newaxis])
    order = np.argsort(-np.einsum("np,np->n", rows, rows), kind="stable")  # large rows first, as with pivots
    with one_blas_thread():
        basis, factor = np.linalg.qr(rows[order].T)
    rank = basis.shape[1]
    n_empty = min(n_empty, n_features - rank)
    coordinates = np.zeros((n_rows, rank + n_empty))
    coordinates[order, :rank] = np.ldexp(factor.T, powers[order, np.newaxis])
    if n_empty:
        basis = np.hstack([basis, _complement(basis, n_empty)])
    parts = [coordinates[where] / np.sqrt(divisor(where.stop - where.start)) for where in blocks.rows]
    matrices = _squares(parts)
    products = np.array([product_allowance(n_rows, matrix) for matrix in matrices])
    # Each row is off by a share of its own size, so v'Sv by twice that share of the root of v'Sv and the trace.
    sizes_of_rows = np.array([np.linalg.norm(part) for part in parts])
    shares = 2.0 * UNIT * (summation(n_features) + summation(n_rows)) * sizes_of_rows

    def errors_at(vectors: Array, sizes: Array) -> Array:
        return shares * np.sqrt(np.maximum(sizes, 0.0)) + products

    def lift(vectors: Array) -> Array:
        return as_rows(basis @ vectors)

    allowances = shares * sizes_of_rows + products
    pencil = DensePencil(matrices, n_features, allowances, errors_at, parts)
    return Representation("reduced", pencil, blocks.standards, lift)


def _complement(basis: Array, k: int) -> Array:
    """Seeded orthonormal vectors, (p, k), orthogonal to the basis."""
    vectors = np.random.default_rng(0).standard_normal((len(basis), k))
    for _ in range(2):  # the second pass removes what rounding left
        vectors = np.linalg.qr(vectors - basis @ (basis.T @ vectors))[0]
    return vectors


@dataclass(frozen=True)
class Lift:
    """From the working space back to features."""

    blocks: ColumnPasses
    triangle: Array
    pivots: Array
    weights: Array

    def __call__(self, vectors: Array) -> Array:
        basis, coefficients = _basis(vectors)
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


def _basis(vectors: Array) -> tuple[Array, Array]:
    """An orthonormal basis of the span of vectors, and what they are in it; vectors may depend on each other."""
    basis, triangle, order = qr(vectors, mode="economic", pivoting=True, check_finite=False)
    sizes = np.abs(triangle.diagonal())
    rank = int(np.sum(sizes > DEPENDENT * sizes.max(initial=0.0)))
    coefficients = np.empty((rank, vectors.shape[1]))
    coefficients[:, order] = triangle[:rank]
    return basis[:, :rank], coefficients


def cost(size: Size) -> float:
    """``N^2 p`` for the Gram pass, ``N^3/3`` for its factor, ``n_j N^2`` for each small covariance, then eigen-solves."""
    return size.total**2 * size.p + size.total**3 * (1 / 3 + 1) + size.eigen_cost(size.total)


KIND = Kind("reduced", build, needs=Offer.COLUMNS, cost=cost)
