"""Eigenproblems of a pencil that is known through products: every product ever made is used again.

The contrast ``A - sum_j lambda_j B_j`` changes with lambda, its parts do not. A :class:`Span` remembers vectors with
their products by A and each B_j; at a new lambda the contrast inside the span costs no pass over the data. Residuals of
its top Ritz vectors extend the span, one pass for a block of vectors, until they are as small as was asked: block Lanczos
with thick restarts (Wu & Simon 2000) whose memory outlives a change of lambda. So the first solves may be loose, and the
passes of a whole fit are about those of one eigenproblem.

Promises: values are Ritz values, hence never above the largest eigenvalue, and ``error`` estimates what is missing
(Kato-Temple). A random vector joins at every new lambda, so that no invariant subspace hides the top from the method;
this makes a miss unlikely, not impossible. Where the matrix is in memory, :meth:`~.solver.Eigensolver.bound` proves it.
"""

from __future__ import annotations

import numpy as np

from ..._types import Array
from ..contract.operator import Eigenpairs
from ..contract.pencil import Pencil
from . import direct
from .span import Span

MEMORY_BYTES = 1e9  # for the remembered vectors and products
MOST_VECTORS = 120
KEPT = 0.4  # share of the vectors that a restart keeps
SHARP = 1e-8  # accuracy of vectors where none is given
FLOOR = 1e-11  # residual, relative to the norm, below which nothing is gained
ROUNDING = 1e-14  # error of an eigenvalue, relative to the norm, that is rounding
PATIENCE = 150  # passes in which the largest residual must halve
LITTLE_PATIENCE = 30  # the same where large residuals will do
FAST = 12  # passes of one solve after which a matrix of moderate order is solved directly
KNOWN = 1e-12  # part of a vector outside the span that is rounding


class Recycler:
    """Remembers the products of a pencil and solves its eigenproblems with them."""

    def __init__(self, pencil: Pencil, seed: int = 0):
        self._pencil = pencil
        self._span = Span(pencil)
        self._random = np.random.default_rng(seed)

    def known_products(self, vectors: Array) -> Array | None:
        """Products of vectors that lie in the span; None where one does not."""
        coefficients = self._span.basis.T @ vectors
        rest = np.linalg.norm(vectors - self._span.basis @ coefficients, axis=0)
        return self._span.images @ coefficients if np.all(rest <= KNOWN) else None

    def _most_vectors(self, block: int) -> int:
        """How many vectors may be remembered: the whole space if it is small, else what memory allows."""
        size = self._pencil.size
        each = 8.0 * size * (self._pencil.n_backgrounds + 2)
        return int(min(size, max(6 * (block + 1), min(MOST_VECTORS, MEMORY_BYTES // each))))

    def top(self, weights: Array, k: int, accuracy: float | None = None, residual: float | None = None) -> Eigenpairs:
        """The ``k`` largest eigenpairs of the weighted sum of the operators, target first."""
        block = max(k, self._pencil.block)
        span, size, most = self._span, self._pencil.size, self._most_vectors(block)
        n_random, patience = 1 if len(span) else block + 1, PATIENCE if residual is None else LITTLE_PATIENCE
        new = self._random.standard_normal((size, n_random))
        milestone, since, n_passes = np.inf, 0, 0
        while True:
            if len(span) + new.shape[1] > most and most < size:
                span.restrict(span.ritz(weights)[1][:, : max(int(KEPT * most), k + 1)])
            grown = span.extend(new / np.linalg.norm(new, axis=0), independent=1e-3)
            n_passes += 1
            values, coordinates = span.ritz(weights)
            near = span.basis @ coordinates[:, :block]
            residuals = span.image(weights, coordinates[:, :block]) - near * values[:block]
            vectors, all_sizes = near[:, :k], np.linalg.norm(residuals, axis=0)
            sizes = all_sizes[:k]
            scale = max(float(np.abs(values[[0, -1]]).max()), np.finfo(float).tiny)
            error = _eigenvalue_error(values, float(sizes[0]))
            unfinished = _unfinished(values, sizes, scale, accuracy, error) if residual is None else sizes > residual
            if sizes.max() < 0.5 * milestone:
                milestone, since = float(sizes.max()), n_passes
            if n_passes > FAST and unfinished.any() and (directly := self._directly(weights, k)) is not None:
                return directly
            if not unfinished.any() or grown == 0 or len(span) == size or n_passes - since > patience:
                if len(span) == size:
                    return Eigenpairs(values[:k], vectors)
                loose = accuracy is not None or residual is not None
                missing = () if loose else tuple(np.flatnonzero(unfinished).tolist())
                return Eigenpairs(values[:k], vectors, error, loose, missing)
            # Those below the pairs that are asked for share the pass, as far as the pencil likes its passes wide.
            new = residuals[:, np.concatenate([unfinished, all_sizes[k:] > FLOOR * scale])]

    def _directly(self, weights: Array, k: int) -> Eigenpairs | None:
        """Eigenpairs of a matrix in memory that is small enough, for solves that converge slowly; they join the span."""
        if not self._pencil.in_memory or self._pencil.size > direct.DIRECT_MAX_IF_SLOW:
            return None
        pairs = direct.direct_eigenpairs(self._pencil.combine(weights).to_matrix(), k)
        self._span.extend(pairs.vectors)
        return pairs


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
