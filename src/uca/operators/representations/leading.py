"""Data seen through the leading directions of its target only.

A first component that lies among the leading eigenvectors of the target's covariance has fewer ways to fit the rows at hand
(:mod:`uca.estimators.crossfit` says what that is good for). Matrices are of the order of the number of directions kept, in
memory, whatever they were before; traces stay those of the whole data, so that mean bounds, shares and units do not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._types import Array
from ..contract.dense import DenseCovariance, DensePencil
from ..contract.pencil import Pencil
from ..contract.units import canonical
from ..eigen.direct import direct_eigenpairs
from ..statistics.rounding import UNIT, summation
from .representation import Representation

PASSES = 4  # of a subspace iteration, where the target is known through products alone
BESIDE = 10  # vectors that the iteration carries beyond those wanted


@dataclass(frozen=True)
class SeenThrough(DenseCovariance):
    """``U' S U`` for orthonormal U; the trace is that of S."""

    whole_trace: float = 0.0

    @property
    def trace(self) -> float:
        return self.whole_trace


class LeadingPencil(DensePencil):
    """A pencil on the span of some orthonormal vectors of its working space."""

    def __init__(self, whole: Pencil, basis: Array):
        images = whole.products(basis)
        matrices = basis.T @ images
        matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
        # Of the second product, as a share of its factors' size; the first is the operators' own business.
        rounding = 2.0 * UNIT * summation(len(basis)) * np.linalg.norm(images, axis=(1, 2))

        def errors_at(vectors: Array, sizes: Array) -> Array:
            return whole.errors_at(basis[:, : len(vectors)] @ vectors, sizes) + rounding

        super().__init__(matrices, whole.n_features, whole.allowances + rounding, errors_at)
        self._keep_traces(whole.traces())

    def _keep_traces(self, traces: Array) -> None:
        given = zip(self._matrices, self.allowances.tolist(), traces.tolist(), strict=True)
        self.operators = tuple(SeenThrough(*parts) for parts in given)

    def first(self, q: int) -> LeadingPencil:
        """The same on the first ``q`` vectors."""
        part: LeadingPencil = LeadingPencil.__new__(LeadingPencil)
        DensePencil.__init__(part, self._matrices[:, :q, :q].copy(), self.n_features, self.allowances, self._errors_at)
        part._keep_traces(self.traces())
        return part


def leading_vectors(pencil: Pencil, q: int) -> Array:
    """The ``q`` leading eigenvectors of the target, (size, q): exactly where it is in memory, else by a few passes.

    Where it is not, they are Ritz vectors of a subspace iteration (Halko, Martinsson & Tropp 2011). Those of eigenvalues
    close together are then mixtures of their neighbours, which matters little: the space they span is the restriction.
    """
    target = pencil.combine(np.eye(len(pencil.operators))[0])
    q = min(q, target.size)
    if pencil.own_eigenpairs and (own := target.own_eigenpairs(q)) is not None:
        return own.vectors
    if (matrix := target.dense()) is not None:
        return direct_eigenpairs(matrix, q).vectors
    vectors = np.random.default_rng(0).standard_normal((target.size, min(q + BESIDE, target.size)))
    for _ in range(PASSES):
        vectors = target @ np.linalg.qr(vectors)[0]
    basis = np.linalg.qr(vectors)[0]
    inside = basis.T @ (target @ basis)
    turned = np.linalg.eigh((inside + inside.T) / 2)[1]
    return basis @ turned[:, ::-1][:, :q]


def restrict(held: Representation, q: int) -> Representation:
    """The representation on the span of the target's ``q`` leading eigenvectors."""
    basis = leading_vectors(canonical(held.pencil)[0], q)  # in units of its own: the same digits in any units
    again = held.sharper
    return replace(
        held,
        pencil=LeadingPencil(held.pencil, basis),
        lift=lambda vectors: held.lift(basis @ vectors),
        sharper=None if again is None else lambda: restrict(again(), q),
    )
