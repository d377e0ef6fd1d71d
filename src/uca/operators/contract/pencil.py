"""One target operator and any number of background operators on the same space.

Solvers ask a pencil for products and for combinations such as ``A - sum_j lambda_j B_j``; they never ask what is inside. A
new way to hold data is a subclass of :class:`~.operator.CovarianceOperator`, and of :class:`Pencil` where several products
can share a pass or combinations can be formed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..._types import Array
from .operator import CovarianceOperator, LinearCombination


class Pencil(ABC):
    """Target and backgrounds as operators on one working space; nothing in it changes once it is made.

    Parameters
    ----------
    operators : sequence of CovarianceOperator
        The target's covariance ``A``, then the backgrounds' ``B_1 ... B_m``, possibly none.
    n_features : int
        Number of features p of the data. The working space may be smaller (a reduced form); p is what turns a trace
        into the variance that a random direction explains.
    """

    #: Whether combinations are matrices in memory.
    in_memory: bool = False
    #: Whether combinations have a way of their own to find eigenpairs.
    own_eigenpairs: bool = False
    #: Vectors that a pass should carry at least: more than 1 where further ones cost little.
    block: int = 1

    def __init__(self, operators: Sequence[CovarianceOperator], n_features: int):
        self.operators = tuple(operators)
        self.n_features = n_features

    @abstractmethod
    def combine(self, weights: ArrayLike) -> CovarianceOperator:
        """``weights[0] * A + sum_j weights[j] * B_j`` as one operator."""

    @abstractmethod
    def products(self, vectors: Array) -> Array:
        """``A V, B_1 V, ..., B_m V`` stacked, (m + 1, size, k): one pass over the data where passes are expensive."""

    @property
    def target(self) -> CovarianceOperator:
        """``A``."""
        return self.operators[0]

    @property
    def backgrounds(self) -> tuple[CovarianceOperator, ...]:
        """``B_1 ... B_m``."""
        return self.operators[1:]

    @property
    def size(self) -> int:
        """Dimension of the working space."""
        return self.target.size

    @property
    def n_backgrounds(self) -> int:
        """Number of backgrounds m."""
        return len(self.backgrounds)

    @property
    def allowances(self) -> Array:
        """Allowances of A, B_1 ... B_m for what building them cost."""
        return np.array([operator.allowance for operator in self.operators])

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        """How far ``v' S v`` may be off for unit vectors v in the span of orthonormal ``vectors``; shape (m + 1,).

        ``sizes`` (m + 1,) are the largest ``v' S v`` there. At most the allowances; less where a representation knows its
        error better there.
        """
        return np.array([op.error_at(size) for op, size in zip(self.operators, sizes.tolist(), strict=True)])

    def variances(self, vectors: Array) -> Array:
        """``v' S v`` for every column v and every operator S = A, B_1 ... B_m; shape (m + 1, k)."""
        return variances_of(vectors, self.products(vectors))

    def factor(self, i: int) -> Array | None:
        """F, (size, r), with ``F F'`` operator i (0 is the target), where it is held: rows of data. Else None."""
        return None

    def traces(self) -> Array:
        """Traces of A, B_1 ... B_m."""
        return np.array([operator.trace for operator in self.operators])

    def complement(self, vector: Array) -> tuple[Pencil, Array]:
        """The pencil on the orthogonal complement of a unit vector, and the reflector for :func:`embed`."""
        w = householder(vector)
        return ComplementPencil(self, w), w

    def minimising(self, j: int, bounded: Sequence[int]) -> Pencil:
        """The pencil whose target is ``-B_j`` and whose backgrounds are those listed: what is least attainable for j?"""
        target = LinearCombination((self.backgrounds[j],), (-1.0,))
        return OperatorPencil((target, *(self.backgrounds[i] for i in bounded)), self.n_features)


def variances_of(vectors: Array, products: Array) -> Array:
    """``v' S v`` from vectors (size, k) and their products (m + 1, size, k)."""
    return np.einsum("dk,sdk->sk", vectors, products)


class OperatorPencil(Pencil):
    """Operators side by side, each with products of its own."""

    def combine(self, weights: ArrayLike) -> CovarianceOperator:
        return LinearCombination(self.operators, tuple(np.asarray(weights, dtype=float).tolist()))

    def products(self, vectors: Array) -> Array:
        return np.stack([operator @ vectors for operator in self.operators])


# --- the complement of a direction --------------------------------------------------------------------------------------


def householder(vector: Array) -> Array:
    """Unit vector w such that ``(I - 2 w w') vector`` lies along the first axis."""
    reflector = np.array(vector, dtype=float)
    reflector[0] += np.copysign(np.linalg.norm(vector), vector[0])
    return reflector / np.linalg.norm(reflector)


def reflect(vectors: Array, reflector: Array) -> Array:
    """``(I - 2 w w') vectors``."""
    return vectors - np.multiply.outer(2.0 * reflector, reflector @ vectors)


def embed(vectors: Array, reflector: Array, first: float = 0.0) -> Array:
    """Coordinates in the complement, (size - 1, k), to coordinates in the whole space, (size, k)."""
    padded = np.vstack([np.full((1, vectors.shape[1]), first), vectors])
    return reflect(padded, reflector)


@dataclass(frozen=True)
class Complement(CovarianceOperator):
    """``Q' S Q``, where the columns of Q are an orthonormal basis of the complement of one unit vector.

    Q consists of all columns but the first of the Householder reflection that sends the vector to an axis, so products
    with Q cost one dot product a vector.
    """

    operator: CovarianceOperator
    reflector: Array

    @property
    def allowance(self) -> float:
        return self.operator.allowance

    @property
    def size(self) -> int:
        return self.operator.size - 1

    @property
    def trace(self) -> float:
        removed = embed(np.zeros((self.size, 1)), self.reflector, first=1.0)
        return self.operator.trace - float((removed.T @ (self.operator @ removed)).item())

    @property
    def magnitude(self) -> float:
        return self.operator.magnitude

    def __matmul__(self, vectors: Array) -> Array:
        return reflect(self.operator @ embed(vectors, self.reflector), self.reflector)[1:]


class ComplementPencil(OperatorPencil):
    """A pencil on the complement of one unit vector, whose products are one pass of the whole pencil."""

    def __init__(self, whole: Pencil, reflector: Array):
        super().__init__([Complement(operator, reflector) for operator in whole.operators], whole.n_features)
        self._whole, self._reflector, self.block = whole, reflector, whole.block

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        return self._whole.errors_at(embed(vectors, self._reflector), sizes)

    def products(self, vectors: Array) -> Array:
        images = self._whole.products(embed(vectors, self._reflector))
        return np.stack([reflect(image, self._reflector)[1:] for image in images])
