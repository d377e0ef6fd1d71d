"""A small orthonormal basis of promising directions, with its products: the memory of a solver."""

from __future__ import annotations

import numpy as np

from .._types import Array
from ..dual import Dual
from .projected import Projected, solve_projected

INDEPENDENT = 1e-7  # a new vector is kept if this much of it is new


class Bundle:
    """Orthonormal W with ``W'AW`` and ``W'B_jW / c_j``. Every matrix ``W V W'`` is a primal candidate."""

    def __init__(self, dual: Dual):
        self.dual = dual
        d, m = dual.pencil.size, dual.m
        self.basis = np.empty((d, 0))
        self._a_basis = np.empty((d, 0))
        self._b_basis = np.empty((m, d, 0))
        self.a = np.empty((0, 0))
        self.b = np.empty((m, 0, 0))

    def __len__(self) -> int:
        return self.basis.shape[1]

    def extend(self, vectors: Array) -> int:
        """Add the part of ``vectors`` that is new; returns how many directions that was."""
        fresh = self._new_part(vectors)
        if fresh.shape[1] == 0:
            return 0
        a_fresh, b_fresh = self.dual.project(fresh)
        self.basis = np.hstack([self.basis, fresh])
        self._a_basis = np.hstack([self._a_basis, a_fresh])
        self._b_basis = np.concatenate([self._b_basis, b_fresh], axis=2)
        self._refresh()
        return fresh.shape[1]

    def restrict(self, rotation: Array) -> None:
        """Keep only ``W @ rotation``, for an orthonormal (q, r) rotation."""
        self.basis = self.basis @ rotation
        self._a_basis = self._a_basis @ rotation
        self._b_basis = self._b_basis @ rotation
        self._refresh()

    def solve(self, start: Array, *, probe: float, box: float) -> Projected:
        """The problem inside the basis."""
        return solve_projected(self.a, self.b, start, probe=probe, box=box)

    def _refresh(self) -> None:
        self.a = _symmetric(self.basis.T @ self._a_basis)
        self.b = _symmetric(self.basis.T @ self._b_basis)

    def _new_part(self, vectors: Array) -> Array:
        room = len(self.basis) - len(self)
        # Twice is enough (Kahan): the second pass removes what rounding left of the first.
        fresh = orthonormal(vectors - self.basis @ (self.basis.T @ vectors))[:, :room]
        return np.linalg.qr(fresh - self.basis @ (self.basis.T @ fresh))[0]


def orthonormal(vectors: Array) -> Array:
    """An orthonormal basis of the columns, without directions that are dependent to working accuracy."""
    left, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    return left[:, sizes > INDEPENDENT]


def _symmetric(matrices: Array) -> Array:
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2
