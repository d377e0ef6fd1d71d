"""Covariances held as matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas

from ..._types import Array
from ..statistics.rounding import frobenius
from .operator import CovarianceOperator
from .pencil import Pencil, embed, householder, reflect

#: The signature of :meth:`~.pencil.Pencil.errors_at`.
ErrorsAt = Callable[[Array, Array], Array]


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
    """A pencil whose matrices are stacked in one array, so that combining them is one product.

    ``rows`` may hold, for each dataset, R of shape (n, size) with ``R'R`` its matrix.
    """

    in_memory = True

    def __init__(
        self,
        matrices: Array,
        n_features: int | None = None,
        allowances: ArrayLike | None = None,
        errors_at: ErrorsAt | None = None,
        rows: Sequence[Array] | None = None,
    ):
        given = np.zeros(len(matrices)) if allowances is None else np.asarray(allowances, dtype=float)
        operators = [DenseCovariance(matrix, a) for matrix, a in zip(matrices, given.tolist(), strict=True)]
        super().__init__(operators, n_features or len(matrices[0]))
        self._matrices, self._errors_at, self._rows = matrices, errors_at, rows
        # Twice through the rows of a dataset is less than once through its matrix where there are several datasets.
        self._rows_are_shorter = rows is not None and 3 * sum(map(len, rows)) <= len(matrices) * len(matrices[0])

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        known = self.allowances
        return known if self._errors_at is None else np.minimum(known, self._errors_at(vectors, sizes))

    def factor(self, i: int) -> Array | None:
        return None if self._rows is None else self._rows[i].T

    def combine(self, weights: ArrayLike) -> DenseCovariance:
        given = np.asarray(weights, dtype=float)
        used = np.flatnonzero(given)
        if 2 * len(used) > len(given):
            return DenseCovariance((given @ self._matrices.reshape(len(given), -1)).reshape(self._matrices.shape[1:]))
        total = np.zeros(self._matrices[0].size)  # many backgrounds have no multiplier: leave their matrices alone
        for i in used:
            blas.daxpy(self._matrices[i].reshape(-1), total, a=given[i])
        return DenseCovariance(total.reshape(self._matrices.shape[1:]))

    def products(self, vectors: Array) -> Array:
        if not self._rows_are_shorter:
            return self._matrices @ vectors
        return np.stack([rows.T @ (rows @ vectors) for rows in self._rows or ()])

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
