"""Covariances held as matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, eigh

from .._threads import one_blas_thread
from .._types import Array
from .base import CovarianceOperator, Eigenpairs, Pencil, embed, householder, reflect
from .rounding import frobenius

# Up to this order eigenproblems are solved directly, from this order on by products with a proof by Cholesky; in between by
# products as long as they converge fast (measured on two cores: 11 against 91 ms on noise of order 300, 925 against 180 ms
# on structured data of order 1 000).
DIRECT_MAX = 300
DIRECT_MAX_IF_SLOW = 1500

#: The signature of :meth:`uca.operators.base.Pencil.errors_at`.
ErrorsAt = Callable[[Array, Array], Array]


def direct_eigenpairs(matrix: Array, k: int) -> Eigenpairs:
    """The ``k`` largest eigenpairs of a matrix by LAPACK."""
    d = len(matrix)
    # One thread: tridiagonalisation waits at a barrier for every column, which on a busy machine costs tenfold.
    with one_blas_thread():
        try:
            values, vectors = eigh(matrix, subset_by_index=[d - k, d - 1], check_finite=False)
        except LinAlgError:  # LAPACK's fast method gives up on rare clustered spectra; divide and conquer does not
            values, vectors = np.linalg.eigh(matrix)
            values, vectors = values[d - k :], vectors[:, d - k :]
    return Eigenpairs(values[::-1], vectors[:, ::-1])


@dataclass(frozen=True)
class DenseCovariance(CovarianceOperator):
    """A symmetric matrix in memory."""

    matrix: Array
    allowance: float = 0.0

    @property
    def size(self) -> int:
        return len(self.matrix)

    @property
    def trace(self) -> float:
        return float(np.trace(self.matrix))

    @property
    def magnitude(self) -> float:
        return frobenius(self.matrix)

    def __matmul__(self, vectors: Array) -> Array:
        return self.matrix @ vectors

    def dense(self) -> Array:
        return self.matrix


class DensePencil(Pencil):
    """A pencil whose matrices are stacked in one array, so that combining them is one product."""

    def __init__(
        self,
        matrices: Array,
        n_features: int | None = None,
        allowances: ArrayLike | None = None,
        errors_at: ErrorsAt | None = None,
    ):
        given = np.zeros(len(matrices)) if allowances is None else np.asarray(allowances, dtype=float)
        operators = tuple(DenseCovariance(matrix, a) for matrix, a in zip(matrices, given.tolist(), strict=True))
        super().__init__(operators[0], operators[1:], n_features or len(matrices[0]))
        object.__setattr__(self, "_matrices", matrices)  # the dataclass is frozen
        object.__setattr__(self, "_errors_at", errors_at)

    _matrices: Array
    _errors_at: ErrorsAt | None

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        known = self.allowances
        return known if self._errors_at is None else np.minimum(known, self._errors_at(vectors, sizes))

    @property
    def direct(self) -> bool:
        return self.size <= DIRECT_MAX

    def combine(self, target_weight: float, background_weights: ArrayLike) -> DenseCovariance:
        weights = np.concatenate([[target_weight], np.asarray(background_weights, dtype=float)])
        return DenseCovariance((weights @ self._matrices.reshape(len(weights), -1)).reshape(self._matrices.shape[1:]))

    def products(self, vectors: Array) -> Array:
        return self._matrices @ vectors

    def minimising(self, j: int, bounded: Sequence[int]) -> DensePencil:
        which = [1 + j, *(1 + i for i in bounded)]
        matrices = self._matrices[which]
        matrices[0] *= -1
        return DensePencil(matrices, self.n_features, self.allowances[which])

    def complement(self, vector: Array) -> tuple[DensePencil, Array]:
        w = householder(vector)
        reflected = np.stack([reflect(reflect(matrix, w).T, w)[1:, 1:] for matrix in self._matrices])
        at = self._errors_at
        inner = None if at is None else lambda vectors, sizes: at(embed(vectors, w), sizes)
        return DensePencil(reflected, self.n_features, self.allowances, inner), w
