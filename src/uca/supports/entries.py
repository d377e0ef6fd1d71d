"""Covariances of many features, of which a few rows or a small part are looked at at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Array

SINGLE = float(np.finfo(np.float32).eps) / 2  # unit of rounding of the rows below


@dataclass(frozen=True)
class Entries:
    """Target (first) and backgrounds, each ``Q S Q'`` with one row of Q for each feature.

    Attributes
    ----------
    basis : array of shape (p, d), or None
        Q; None is the identity, and the matrices are those of the features themselves.
    matrices : array of shape (m + 1, d, d)
    """

    basis: Array | None
    matrices: Array

    @property
    def p(self) -> int:
        """Number of features."""
        return self.matrices.shape[1] if self.basis is None else len(self.basis)

    @cached_property
    def diagonals(self) -> Array:
        """Variances of the features, (m + 1, p)."""
        if self.basis is None:
            return np.diagonal(self.matrices, axis1=1, axis2=2).copy()
        return np.stack([np.einsum("pd,pd->p", self.basis @ matrix, self.basis) for matrix in self.matrices])

    def part(self, features: Array) -> Array:
        """The covariances on a few features, (m + 1, f, f)."""
        if self.basis is None:
            return self.matrices[:, features[:, np.newaxis], features]
        rows = self.basis[features]
        products = rows @ self.matrices @ rows.T
        return (products + products.swapaxes(1, 2)) / 2

    def inside(self, vectors: Array) -> Array:
        """Vectors of features, (p, k), in coordinates of the matrices, (d, k)."""
        return vectors if self.basis is None else self.basis.T @ vectors

    def contrast(self, weights: Array, features: Array | None = None) -> ContrastRows:
        """The rows of ``sum_j weights_j S_j``, target first, for all features or some."""
        matrix = np.tensordot(weights, self.matrices, axes=1)
        if self.basis is None:
            rows = matrix if features is None else matrix[features]
            return ContrastRows(rows.astype(np.float32), None, 2 * SINGLE * float(np.abs(rows).max()))
        left = (self.basis if features is None else self.basis[features]) @ matrix
        error = (len(matrix) + 4) * SINGLE * float(np.linalg.norm(left, axis=1).max()) * self._longest
        return ContrastRows(left.astype(np.float32), self._single, error)

    @cached_property
    def _single(self) -> Array | None:
        return None if self.basis is None else self.basis.astype(np.float32)

    @cached_property
    def _longest(self) -> float:
        return 1.0 if self.basis is None else float(np.linalg.norm(self.basis, axis=1).max())


@dataclass(frozen=True)
class ContrastRows:
    """A symmetric matrix of order p in single precision, some rows at a time.

    ``error`` is how far an entry may be off.
    """

    left: Array
    right: Array | None
    error: float

    def __getitem__(self, rows: slice | Array) -> Array:
        return self.left[rows] if self.right is None else self.left[rows] @ self.right.T
