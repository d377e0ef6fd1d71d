"""A growing orthonormal set of vectors that knows every operator of a pencil inside its span.

Promises: vectors stay orthonormal to rounding; each new vector costs one product with every operator, all new vectors
of a call share one pass over the data; rotations and restrictions cost none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._types import Array
from ..contract.pencil import Pencil

INDEPENDENT = 1e-7  # a new vector is kept if this much of it is new


class Projection:
    """Orthonormal ``W`` (size, q) with ``W'S W`` for S = A, B_1 ... B_m, target first. Products are not kept.

    ``products`` makes them, (size, k) -> (m + 1, size, k).
    """

    def __init__(self, products: Callable[[Array], Array], size: int, n_operators: int):
        self._products = products
        self._length = 0
        self._basis = np.empty((0, size))  # vectors are rows here, so that growing copies whole rows
        self.matrices = np.empty((n_operators, 0, 0))

    def __len__(self) -> int:
        return self._length

    @property
    def basis(self) -> Array:
        """W, shape (size, q)."""
        return self._basis[: self._length].T

    def extend(self, vectors: Array, *, independent: float = INDEPENDENT) -> int:
        """Add the part of ``vectors`` that is new; returns how many directions that was."""
        fresh = self._new_part(vectors, independent)
        n_new = fresh.shape[1]
        if n_new == 0:
            return 0
        images = self._products(fresh)
        self._basis = _grown(self._basis, self._length, fresh.T, axis=0)
        self._keep(images.swapaxes(1, 2))
        self._length += n_new
        self._grow_matrices(images)
        return n_new

    def restrict(self, rotation: Array) -> None:
        """Keep only ``W @ rotation``, for an orthonormal (q, r) rotation."""
        q, r = rotation.shape
        self._basis[:r] = rotation.T @ self._basis[:q]
        self._length = r
        self.matrices = symmetric(rotation.T @ self.matrices @ rotation)

    def _keep(self, images: Array) -> None:
        """What is done with the products of new vectors, (m + 1, k, size)."""

    def _grow_matrices(self, images: Array) -> None:
        q, n_new = self._length, images.shape[2]
        grown = np.empty((len(self.matrices), q, q))
        grown[:, : q - n_new, : q - n_new] = self.matrices
        right = self._basis[:q] @ images
        grown[:, :, q - n_new :] = right
        grown[:, q - n_new :, : q - n_new] = right[:, : q - n_new].swapaxes(1, 2)
        grown[:, q - n_new :, q - n_new :] = symmetric(right[:, q - n_new :])
        self.matrices = grown

    def _new_part(self, vectors: Array, independent: float) -> Array:
        basis = self.basis
        room = len(basis) - self._length
        # Twice is enough (Kahan): the second pass removes what rounding left of the first.
        fresh = orthonormal(vectors - basis @ (basis.T @ vectors), independent)[:, :room]
        return np.linalg.qr(fresh - basis @ (basis.T @ fresh))[0]


class Span(Projection):
    """The same with its products ``S W`` kept, from which those of any vector in the span follow."""

    def __init__(self, pencil: Pencil):
        super().__init__(pencil.products, pencil.size, pencil.n_backgrounds + 1)
        self._images = np.empty((pencil.n_backgrounds + 1, 0, pencil.size))

    @property
    def images(self) -> Array:
        """Products of W with every operator, shape (m + 1, size, q)."""
        return self._images[:, : self._length].swapaxes(1, 2)

    def ritz(self, weights: Array) -> tuple[Array, Array]:
        """Eigenvalues, descending, and vectors of the weighted sum of operators inside the span."""
        values, coordinates = np.linalg.eigh(np.tensordot(weights, self.matrices, axes=1))
        return values[::-1], coordinates[:, ::-1]

    def image(self, weights: Array, coordinates: Array) -> Array:
        """Product of the weighted sum of operators with vectors of the span, given by their coordinates."""
        return np.asarray(
            sum(weight * (image @ coordinates) for weight, image in zip(weights, self.images, strict=True))
        )

    def restrict(self, rotation: Array) -> None:
        q, r = rotation.shape
        for images in self._images:
            images[:r] = rotation.T @ images[:q]
        super().restrict(rotation)

    def _keep(self, images: Array) -> None:
        self._images = _grown(self._images, self._length, images, axis=1)


def _grown(held: Array, length: int, new: Array, *, axis: int) -> Array:
    """``held`` with ``new`` written after the first ``length`` entries of an axis; a larger copy where it is full."""
    capacity, needed = held.shape[axis], length + new.shape[axis]
    before = (slice(None),) * axis
    if needed > capacity:
        shape = list(held.shape)
        shape[axis] = max(needed, min(2 * capacity, capacity + 32))
        larger = np.empty(shape)
        larger[(*before, slice(length))] = held[(*before, slice(length))]
        held = larger
    held[(*before, slice(length, needed))] = new
    return held


def orthonormal(vectors: Array, independent: float = INDEPENDENT) -> Array:
    """An orthonormal basis of the columns, without directions that are dependent to working accuracy."""
    left, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    return left[:, sizes > independent]


def symmetric(matrices: Array) -> Array:
    """The symmetric part of each matrix."""
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2
