"""A growing orthonormal set of vectors that remembers its products with every operator of a pencil.

Promises: vectors stay orthonormal to rounding; each new vector costs one product with every operator, all new vectors
of a call share one pass over the data; rotations and restrictions cost none.
"""

from __future__ import annotations

import numpy as np

from .._types import Array
from .base import Pencil

INDEPENDENT = 1e-7  # a new vector is kept if this much of it is new


class Span:
    """Orthonormal ``W`` (size, q) with ``S W`` and ``W'S W`` for S = A, B_1 ... B_m, target first."""

    def __init__(self, pencil: Pencil):
        self.pencil = pencil
        self._length = 0
        self._basis = np.empty((0, pencil.size))  # vectors are rows here, so that growing copies whole rows
        self._images = np.empty((pencil.n_backgrounds + 1, 0, pencil.size))
        self.matrices = np.empty((pencil.n_backgrounds + 1, 0, 0))

    def __len__(self) -> int:
        return self._length

    @property
    def basis(self) -> Array:
        """W, shape (size, q)."""
        return self._basis[: self._length].T

    @property
    def images(self) -> Array:
        """Products of W with every operator, shape (m + 1, size, q)."""
        return self._images[:, : self._length].swapaxes(1, 2)

    def extend(self, vectors: Array, *, independent: float = INDEPENDENT) -> int:
        """Add the part of ``vectors`` that is new; returns how many directions that was."""
        fresh = self._new_part(vectors, independent)
        n_new = fresh.shape[1]
        if n_new == 0:
            return 0
        images = self.pencil.products(fresh)
        self._reserve(self._length + n_new)
        rows = slice(self._length, self._length + n_new)
        self._basis[rows] = fresh.T
        self._images[:, rows] = images.swapaxes(1, 2)
        self._length += n_new
        self._grow_matrices(n_new)
        return n_new

    def restrict(self, rotation: Array) -> None:
        """Keep only ``W @ rotation``, for an orthonormal (q, r) rotation."""
        q, r = rotation.shape
        self._basis[:r] = rotation.T @ self._basis[:q]
        for images in self._images:
            images[:r] = rotation.T @ images[:q]
        self._length = r
        self.matrices = symmetric(rotation.T @ self.matrices @ rotation)

    def _grow_matrices(self, n_new: int) -> None:
        q = self._length
        grown = np.empty((len(self.matrices), q, q))
        grown[:, : q - n_new, : q - n_new] = self.matrices
        right = self._basis[:q] @ self._images[:, q - n_new : q].swapaxes(1, 2)
        grown[:, :, q - n_new :] = right
        grown[:, q - n_new :, : q - n_new] = right[:, : q - n_new].swapaxes(1, 2)
        grown[:, q - n_new :, q - n_new :] = symmetric(right[:, q - n_new :])
        self.matrices = grown

    def _reserve(self, length: int) -> None:
        if length <= len(self._basis):
            return
        capacity = max(length, min(2 * len(self._basis), len(self._basis) + 32))
        basis = np.empty((capacity, self._basis.shape[1]))
        basis[: self._length] = self._basis[: self._length]
        self._basis = basis
        images = np.empty((len(self._images), *basis.shape))
        images[:, : self._length] = self._images[:, : self._length]
        self._images = images

    def _new_part(self, vectors: Array, independent: float) -> Array:
        basis = self.basis
        room = len(basis) - self._length
        # Twice is enough (Kahan): the second pass removes what rounding left of the first.
        fresh = orthonormal(vectors - basis @ (basis.T @ vectors), independent)[:, :room]
        return np.linalg.qr(fresh - basis @ (basis.T @ fresh))[0]


def orthonormal(vectors: Array, independent: float = INDEPENDENT) -> Array:
    """An orthonormal basis of the columns, without directions that are dependent to working accuracy."""
    left, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    return left[:, sizes > independent]


def symmetric(matrices: Array) -> Array:
    """The symmetric part of each matrix."""
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2
