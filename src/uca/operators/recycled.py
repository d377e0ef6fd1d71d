"""Eigenproblems of a pencil that is known through products: every product ever made is used again.

The contrast ``A - sum_j lambda_j B_j`` changes with lambda, its parts do not. A :class:`Span` remembers vectors with
their products by A and each B_j; at a new lambda the contrast inside the span costs no pass over the data. Residuals of
its top Ritz vectors extend the span, one pass for a block of vectors, until they are as small as was asked: block Lanczos
with thick restarts (Wu & Simon 2000) whose memory outlives a change of lambda. So the first solves may be loose, and the
passes of a whole fit are about those of one eigenproblem.

Promises: values are Ritz values, hence never above the largest eigenvalue, and ``error`` estimates what is missing
(Kato-Temple). A random vector joins at every new lambda, so that no invariant subspace hides the top from the method;
this makes a miss unlikely, not impossible. Where the matrix is in memory, :mod:`uca.eigen` proves the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._types import Array
from . import dense
from .base import CovarianceOperator, Eigenpairs, Pencil
from .span import Span

MEMORY_BYTES = 1e9  # for the remembered vectors and products
MOST_VECTORS = 120
KEPT = 0.4  # share of the vectors that a restart keeps
SHARP = 1e-8  # accuracy of vectors where none is given
FLOOR = 1e-11  # residual, relative to the norm, below which nothing is gained
ROUNDING = 1e-14  # error of an eigenvalue, relative to the norm, that is rounding
PATIENCE = 150  # passes in which the largest residual must halve
FAST = 12  # passes of one solve after which a matrix of moderate order is solved directly
KNOWN = 1e-12  # part of a vector outside the span that is rounding


def recycled(pencil: Pencil, seed: int = 0) -> Pencil:
    """The pencil itself where its eigenproblems are solved directly, else one that recycles its products."""
    return pencil if pencil.direct else RecycledPencil(pencil, seed)


class RecycledPencil(Pencil):
    """A pencil that remembers its products and solves its eigenproblems with them."""

    def __init__(self, inner: Pencil, seed: int = 0):
        super().__init__(inner.target, inner.backgrounds, inner.n_features)
        object.__setattr__(self, "inner", inner)  # the dataclass is frozen
        object.__setattr__(self, "span", Span(inner))
        object.__setattr__(self, "random", np.random.default_rng(seed))

    inner: Pencil
    span: Span
    random: np.random.Generator

    @property
    def direct(self) -> bool:
        return True

    def combine(self, target_weight: float, background_weights: ArrayLike) -> Recombined:
        weights = np.concatenate([[target_weight], np.asarray(background_weights, dtype=float)])
        return Recombined(self, weights)

    def products(self, vectors: Array) -> Array:
        coefficients = self.span.basis.T @ vectors
        rest = np.linalg.norm(vectors - self.span.basis @ coefficients, axis=0)
        if np.all(rest <= KNOWN):
            return self.span.images @ coefficients
        return self.inner.products(vectors)

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        return self.inner.errors_at(vectors, sizes)

    def complement(self, vector: Array) -> tuple[Pencil, Array]:
        return self.inner.complement(vector)

    def minimising(self, j: int, bounded: Sequence[int]) -> Pencil:
        return self.inner.minimising(j, bounded)

    def most_vectors(self, k: int) -> int:
        """How many vectors may be remembered: the whole space if it is small, else what memory allows."""
        each = 8.0 * self.size * (self.n_backgrounds + 2)
        return int(min(self.size, max(6 * (k + 1), min(MOST_VECTORS, MEMORY_BYTES // each))))


@dataclass(frozen=True)
class Recombined(CovarianceOperator):
    """``sum_s weights[s] * S_s`` over the operators of a recycled pencil, target first."""

    pencil: RecycledPencil
    weights: Array

    @property
    def _plain(self) -> CovarianceOperator:
        return self.pencil.inner.combine(self.weights[0], self.weights[1:])

    @property
    def size(self) -> int:
        return self.pencil.size

    @property
    def trace(self) -> float:
        return self._plain.trace

    @property
    def magnitude(self) -> float:
        operators = (self.pencil.target, *self.pencil.backgrounds)
        return float(np.abs(self.weights) @ [operator.magnitude for operator in operators])

    def dense(self) -> Array | None:
        return self._plain.dense()

    def __matmul__(self, vectors: Array) -> Array:
        return np.tensordot(self.weights, self.pencil.products(vectors), axes=1)

    def own_eigenpairs(self, k: int, accuracy: float | None = None) -> Eigenpairs:
        span, most = self.pencil.span, self.pencil.most_vectors(k)
        n_random = 1 if len(span) else k + 1
        new = self.pencil.random.standard_normal((self.size, n_random))
        milestone, since, n_passes = np.inf, 0, 0
        while True:
            if len(span) + new.shape[1] > most and most < self.size:
                span.restrict(self._ritz()[1][:, : max(int(KEPT * most), k + 1)])
            grown = span.extend(new / np.linalg.norm(new, axis=0), independent=1e-3)
            n_passes += 1
            values, coordinates = self._ritz()
            vectors = span.basis @ coordinates[:, :k]
            residuals = self._image(coordinates[:, :k]) - vectors * values[:k]
            sizes = np.linalg.norm(residuals, axis=0)
            scale = max(float(np.abs(values[[0, -1]]).max()), np.finfo(float).tiny)
            error = _eigenvalue_error(values, float(sizes[0]))
            unfinished = _unfinished(values, sizes, scale, accuracy, error)
            if sizes.max() < 0.5 * milestone:
                milestone, since = float(sizes.max()), n_passes
            if n_passes > FAST and unfinished.any() and (direct := self._directly(k)) is not None:
                return direct
            if not unfinished.any() or grown == 0 or len(span) == self.size or n_passes - since > PATIENCE:
                if len(span) == self.size:
                    return Eigenpairs(values[:k], vectors)
                loose = accuracy is not None
                missing = () if loose else tuple(np.flatnonzero(unfinished).tolist())
                return Eigenpairs(values[:k], vectors, error, loose, missing)
            new = residuals[:, unfinished]

    def _image(self, coordinates: Array) -> Array:
        """The product with vectors of the span, given by their coordinates."""
        images = self.pencil.span.images
        return np.asarray(
            sum(weight * (image @ coordinates) for weight, image in zip(self.weights, images, strict=True))
        )

    def _directly(self, k: int) -> Eigenpairs | None:
        """Eigenpairs of a matrix in memory that is small enough, for solves that converge slowly; they join the span."""
        matrix = self.dense() if self.size <= dense.DIRECT_MAX_IF_SLOW else None
        if matrix is None:
            return None
        pairs = dense.direct_eigenpairs(matrix, k)
        self.pencil.span.extend(pairs.vectors)
        return pairs

    def _ritz(self) -> tuple[Array, Array]:
        """Eigenvalues, descending, and vectors of the contrast inside the span."""
        values, coordinates = np.linalg.eigh(np.tensordot(self.weights, self.pencil.span.matrices, axes=1))
        return values[::-1], coordinates[:, ::-1]


def _eigenvalue_error(values: Array, residual: float) -> float:
    """How far the largest eigenvalue may lie above the largest Ritz value: ``residual^2 / gap``, at most ``residual``."""
    below = values[values < values[0] - residual]
    gap = float(values[0] - below[0]) if len(below) else residual
    return residual * min(1.0, residual / gap) if gap > 0 else residual


def _unfinished(values: Array, sizes: Array, scale: float, accuracy: float | None, error: float) -> Array:
    """Which of the top pairs need another pass."""
    if accuracy is not None:
        return np.full(len(sizes), error > max(accuracy, ROUNDING * scale))
    distance = np.abs(values[: len(sizes), np.newaxis] - values)
    np.fill_diagonal(distance, np.inf)
    return sizes > np.maximum(SHARP * distance.min(axis=1, initial=np.inf), FLOOR * scale)
