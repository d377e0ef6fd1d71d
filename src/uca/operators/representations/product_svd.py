"""Representation ``product_svd``: the paper's Algorithm 1, kept for fidelity and comparison.

``A - sum_j lambda_j B_j = L R`` with R the stacked standardised rows (N x p) and L their transpose with the rows of
background j multiplied by ``-lambda_j``. R has one singular value decomposition, ``U S V'``. At each lambda only block j
of L changes; its QR factorisation ``L = Q T`` and the small decomposition of ``T U S`` (N x N) give that of the product.
The eigenvalues are the singular values with the sign of the product of left and right vectors. p enters at every lambda,
which is what the reduced form avoids. Holds a standardised copy of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._containers import float_dtype
from ..._types import Array
from ..contract.operator import CovarianceOperator, Eigenpairs
from ..contract.pencil import OperatorPencil
from ..contract.units import ScaledPencil
from ..sources.columns import stacked
from ..sources.source import Offer, Source
from ..statistics.blocks import center_block, divisor, fill, sums_of_squares
from ..statistics.column_moments import ColumnMoments
from ..statistics.rounding import ENTRY, UNIT, one_sum
from ..statistics.standard import check_totals, standards
from .representation import How, Kind, Representation

EMPTY = 1e-13  # singular value, relative to the largest, that is none


@dataclass(frozen=True)
class StackedRows:
    """The matrix R with its singular value decomposition ``left * sizes @ right``."""

    rows: Array
    left: Array
    sizes: Array
    right: Array

    @classmethod
    def of(cls, rows: Array) -> StackedRows:
        """Decompose once."""
        left, sizes, right = np.linalg.svd(rows, full_matrices=False)
        return cls(rows, left, sizes, right)


@dataclass(frozen=True)
class RowProduct(CovarianceOperator):
    """``R' diag(weights) R``, decomposed as the product of ``L = R' diag(weights)`` and R."""

    stacked: StackedRows
    weights: Array

    @property
    def allowance(self) -> float:
        # Products of factors, each decomposed, in sums that no block divides; and what own_eigenpairs() drops as empty.
        n, p = self.stacked.rows.shape
        return self.magnitude * (UNIT * 4.0 * (one_sum(n) + one_sum(p) + ENTRY) + EMPTY)

    @property
    def size(self) -> int:
        return int(self.stacked.rows.shape[1])

    @property
    def trace(self) -> float:
        return float(self.weights @ np.einsum("np,np->n", self.stacked.rows, self.stacked.rows))

    @property
    def magnitude(self) -> float:
        return float(np.abs(self.weights) @ np.einsum("np,np->n", self.stacked.rows, self.stacked.rows))

    def __matmul__(self, vectors: Array) -> Array:
        rows = self.stacked.rows
        return rows.T @ (self.weights[:, np.newaxis] * (rows @ vectors))

    def own_eigenpairs(self, k: int) -> Eigenpairs:
        stacked = self.stacked
        q, t = np.linalg.qr(stacked.rows.T * self.weights)
        left, sizes, right = np.linalg.svd(t @ (stacked.left * stacked.sizes), full_matrices=False)
        varying = sizes > EMPTY * sizes[0]
        u, v = q @ left[:, varying], stacked.right.T @ right.T[:, varying]
        agreement = np.einsum("pi,pi->i", u, v)
        if np.any(np.abs(agreement) < 1 - 1e-7):
            # Equal singular values of eigenvalues with opposite signs mix their vectors; the span sorts them out.
            values, inner = np.linalg.eigh(u.T @ (self @ u))
            u = u @ inner
        else:
            values = sizes[varying] * np.sign(agreement)
        return self._top(values, u, k)

    def _top(self, values: Array, vectors: Array, k: int) -> Eigenpairs:
        """The k largest, with directions outside the span of the vectors (eigenvalue 0) in their place."""
        order = np.argsort(values)[::-1]
        values, vectors = values[order], vectors[:, order]
        positive = int(np.sum(values > 0))
        n_empty = min(self.size - len(values), max(k - positive, 0))
        if n_empty > 0:
            empty = np.random.default_rng(0).standard_normal((self.size, n_empty))
            for _ in range(2):  # the second pass removes what rounding left
                empty = np.linalg.qr(empty - vectors @ (vectors.T @ empty))[0]
            values = np.concatenate([values[:positive], np.zeros(n_empty), values[positive:]])
            vectors = np.hstack([vectors[:, :positive], empty, vectors[:, positive:]])
        return Eigenpairs(values[:k], vectors[:, :k])


class ProductPencil(OperatorPencil):
    """Target and backgrounds as weights on the rows of one stacked matrix."""

    own_eigenpairs = True

    def __init__(self, rows: StackedRows, blocks: Sequence[slice]):
        self._stacked, self._sizes = rows, [block.stop - block.start for block in blocks]
        super().__init__([self.combine(only) for only in np.eye(len(blocks))], rows.rows.shape[1])

    def combine(self, weights: ArrayLike) -> RowProduct:
        return RowProduct(self._stacked, np.repeat(np.asarray(weights, dtype=float), self._sizes))


def build(source: Source, how: How) -> Representation:
    """Standardise, stack and decompose the target (first) and the backgrounds."""
    blocks = stacked(source.n_rows)
    stack = np.empty((blocks[-1].stop, source.n_features))
    moments = source.checked([_fill(stack[b], a, how.center) for a, b in zip(source.arrays, blocks, strict=True)])
    given = standards(moments, center=how.center, scale=how.scale)
    check_totals(moments, given, how.scale)
    powers = []
    for block, m, standard in zip(blocks, moments, given, strict=True):
        stack[block] *= standard.factor / np.sqrt(divisor(m.n))
        # Datasets of like size, so that units do not matter to the decomposition; powers of two change no digit.
        powers.append(int(np.frexp(np.linalg.norm(stack[block]))[1]))
        stack[block] = np.ldexp(stack[block], -powers[-1])
    pencil = ScaledPencil(ProductPencil(StackedRows.of(stack), blocks), np.ldexp(1.0, 2 * np.array(powers)))
    return Representation("product_svd", pencil, given)


def _fill(part: Array, array: Any, center: bool) -> ColumnMoments:
    """Write a dataset to its part of the stack, centred if data is; return its moments (about 0 where it is not)."""
    n, p = part.shape
    mean = rest = np.zeros(p)
    with np.errstate(invalid="ignore", over="ignore"):
        if center:
            mean, rest = center_block(array, part)
        else:
            fill(part, array)
        return ColumnMoments(n, np.full(p, n), mean, rest, sums_of_squares(part), float_dtype(array.dtype))


KIND = Kind("product_svd", build, needs=Offer.ARRAYS, cost=None)
