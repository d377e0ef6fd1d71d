"""A small orthonormal basis of promising directions: the memory of a solver."""

from __future__ import annotations

import numpy as np

from .._types import Array
from ..dual import Dual
from ..operators.eigen.span import Projection
from .projected import Projected, solve_projected


class Bundle(Projection):
    """Orthonormal W with ``W'AW`` and ``W'B_jW / c_j``. Every matrix ``W V W'`` is a primal candidate."""

    def __init__(self, dual: Dual):
        super().__init__(dual.eigen.products, dual.pencil.size, dual.m + 1)
        self.dual = dual

    @property
    def a(self) -> Array:
        """The target inside the basis, shape (q, q)."""
        return self.matrices[0]

    @property
    def b(self) -> Array:
        """The backgrounds over their bounds inside the basis, shape (m, q, q)."""
        return self.matrices[1:] * self.dual.per_bound[:, np.newaxis, np.newaxis]

    def solve(self, start: Array, *, probe: float, box: float) -> Projected:
        """The problem inside the basis."""
        return solve_projected(self.a, self.b, start, probe=probe, box=box, deadline=self.dual.deadline)
