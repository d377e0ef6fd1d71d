"""Top eigenpairs of the combinations of one pencil, and proofs of their size.

Promises: eigenvalues come in descending order with orthonormal vectors; the same input gives the same output, bit for
bit; a matrix that is held in memory never gets a largest eigenvalue that is too small without :meth:`Eigensolver.bound`
noticing it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..._types import Array
from ..contract.operator import Eigenpairs
from ..contract.pencil import Pencil, variances_of
from . import direct
from .recycled import Recycler

RANK = 1e-8  # of the largest eigenvalue: below, rows are dependent


class Eigensolver:
    """Solves the eigenproblems of a pencil: as the pencil itself can, directly, or by products that it remembers.

    One solver for one pencil and a whole fit: where problems are solved by products, each new combination uses all the
    products that were made before.
    """

    def __init__(self, pencil: Pencil, seed: int = 0):
        self.pencil = pencil
        directly = pencil.own_eigenpairs or (pencil.in_memory and pencil.size <= direct.DIRECT_MAX)
        self._recycler = None if directly else Recycler(pencil, seed)
        #: Whether eigenproblems are those of matrices in memory, solved directly.
        self.direct = pencil.in_memory and directly

    def top(
        self, weights: ArrayLike, k: int, *, accuracy: float | None = None, residual: float | None = None
    ) -> Eigenpairs:
        """The ``k`` algebraically largest eigenpairs of ``weights[0] * A + sum_j weights[j] * B_j``.

        Where the method is iterative, ``accuracy`` is the error that the largest eigenvalue may have, ``residual`` the size
        that all residuals may have. Without either, all pairs are as accurate as they get.
        """
        if self._recycler is not None:
            return self._recycler.top(np.asarray(weights, dtype=float), k, accuracy, residual)
        if accuracy is not None and (few := self._from_few_rows(np.asarray(weights, dtype=float), k)) is not None:
            return few
        operator = self.pencil.combine(weights)
        own = operator.own_eigenpairs(k)
        return direct.direct_eigenpairs(operator.to_matrix(), k) if own is None else own

    def _from_few_rows(self, weights: Array, k: int) -> Eigenpairs | None:
        """Eigenpairs of one covariance by those of the products of its rows, where these are few.

        They are marked as loose: what is certified rests on the matrices.
        """
        used = np.flatnonzero(weights)
        single = self.direct and len(weights) > 1 and len(used) == 1 and weights[used[0]] > 0
        rows = self.pencil.factor(int(used[0])) if single else None
        if rows is None or 3 * rows.shape[1] > 2 * self.pencil.size or rows.shape[1] < k:
            return None
        pairs = direct.direct_eigenpairs(rows.T @ rows, k)
        if not pairs.values[-1] > RANK * pairs.values[0]:
            return None
        vectors = (rows @ pairs.vectors) / np.sqrt(pairs.values)
        return Eigenpairs(pairs.values * weights[used[0]], vectors, loose=True)

    def bound(self, weights: ArrayLike, top: float, slack: float) -> tuple[float, bool]:
        """An upper bound on the largest eigenvalue, given an estimate ``top`` from an iterative method; is it proven?

        An iterative method approaches the largest eigenvalue from below and may miss it. Where the matrix is in memory, a
        Cholesky factorisation of ``(top + slack) I - C`` proves that nothing lies above; if it fails, the eigenvalue is
        computed directly. Without the matrix, the estimate stands.
        """
        matrix = self.pencil.combine(weights).dense()
        if matrix is None:
            return top, False
        if direct.nothing_above(matrix, top + slack):
            return top + slack, True
        return float(direct.direct_eigenpairs(matrix, 1).values[0]), True

    def products(self, vectors: Array) -> Array:
        """``A V, B_1 V, ..., B_m V``, (m + 1, size, k), from memory where V was met before."""
        known = None if self._recycler is None else self._recycler.known_products(vectors)
        return self.pencil.products(vectors) if known is None else known

    def variances(self, vectors: Array) -> Array:
        """``v' S v`` for every column v and every operator S; shape (m + 1, k)."""
        if self._recycler is None:
            return self.pencil.variances(vectors)
        return variances_of(vectors, self.products(vectors))
