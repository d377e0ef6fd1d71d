"""A small orthonormal basis of promising directions, with its products: the memory of a solver."""

from __future__ import annotations

import numpy as np

from .._types import Array
from ..dual import Dual
from ..operators.span import INDEPENDENT, Span
from .projected import Projected, solve_projected


class Bundle:
    """Orthonormal W with ``W'AW`` and ``W'B_jW / c_j``. Every matrix ``W V W'`` is a primal candidate."""

    def __init__(self, dual: Dual):
        self.dual = dual
        self._span = Span(dual.pencil)

    def __len__(self) -> int:
        return len(self._span)

    @property
    def basis(self) -> Array:
        """W, shape (size, q)."""
        return self._span.basis

    @property
    def a(self) -> Array:
        """The target inside the basis, shape (q, q)."""
        return self._span.matrices[0]

    @property
    def b(self) -> Array:
        """The backgrounds over their bounds inside the basis, shape (m, q, q)."""
        return self._span.matrices[1:] * self.dual.per_bound[:, np.newaxis, np.newaxis]

    def extend(self, vectors: Array, *, independent: float = INDEPENDENT) -> int:
        """Add the part of ``vectors`` that is new; returns how many directions that was."""
        return self._span.extend(vectors, independent=independent)

    def restrict(self, rotation: Array) -> None:
        """Keep only ``W @ rotation``, for an orthonormal (q, r) rotation."""
        self._span.restrict(rotation)

    def solve(self, start: Array, *, probe: float, box: float) -> Projected:
        """The problem inside the basis."""
        return solve_projected(self.a, self.b, start, probe=probe, box=box)
