"""The operator contract: all that a solver may know about data.

A :class:`CovarianceOperator` is a symmetric matrix that can be multiplied with a block of vectors. A :class:`Pencil`
is one target operator and any number of background operators on the same space. Solvers ask a pencil for products
and for combinations such as ``A - sum_j lambda_j B_j``; they never ask what is inside. A new way to hold data is one
new file with a subclass of :class:`CovarianceOperator`, and of :class:`Pencil` where several products can share a pass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._types import Array


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues in descending order, shape (k,), and orthonormal eigenvectors, shape (size, k).

    ``error`` estimates how far the largest eigenvalue may lie above ``values[0]``: 0 where the method is direct.
    ``loose`` tells that less than full accuracy was asked for and given, ``unfinished`` which pairs did not reach full
    accuracy although it was asked for.
    """

    values: Array
    vectors: Array
    error: float = 0.0
    loose: bool = False
    unfinished: tuple[int, ...] = ()


class CovarianceOperator(ABC):
    """A symmetric matrix of order ``size``, known through its products."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Order of the matrix."""

    @property
    @abstractmethod
    def trace(self) -> float:
        """Sum of the diagonal."""

    @abstractmethod
    def __matmul__(self, vectors: Array) -> Array:
        """Product with a block of vectors, (size, k) -> (size, k)."""

    def dense(self) -> Array | None:
        """The matrix itself where it is held in memory, else None. Callers must not write to it."""
        return None

    @property
    def magnitude(self) -> float:
        """At least the norm of the matrix: what rounding errors are proportional to. 0 where it is not known."""
        return 0.0

    @property
    def allowance(self) -> float:
        """How far, in spectral norm, it may lie from the covariance of the numbers passed in (see ``rounding``)."""
        return 0.0

    def error_at(self, size: float) -> float:
        """How far ``v' S v`` may be off where it is ``size``; at most the allowance."""
        return self.allowance

    def own_eigenpairs(self, k: int, accuracy: float | None = None) -> Eigenpairs | None:
        """Top ``k`` eigenpairs, where the operator has a way of its own; else None.

        ``accuracy`` is the error that the largest eigenvalue may have; None asks for all pairs at full accuracy.
        """
        return None


@dataclass(frozen=True)
class LinearCombination(CovarianceOperator):
    """``sum_i weights[i] * operators[i]``, never formed."""

    operators: tuple[CovarianceOperator, ...]
    weights: tuple[float, ...]

    @property
    def size(self) -> int:
        return self.operators[0].size

    @property
    def trace(self) -> float:
        return float(sum(w * op.trace for op, w in zip(self.operators, self.weights, strict=True)))

    @property
    def magnitude(self) -> float:
        return float(sum(abs(w) * op.magnitude for op, w in zip(self.operators, self.weights, strict=True)))

    @property
    def allowance(self) -> float:
        return float(sum(abs(w) * op.allowance for op, w in zip(self.operators, self.weights, strict=True)))

    def __matmul__(self, vectors: Array) -> Array:
        out = np.zeros(vectors.shape)
        for operator, weight in zip(self.operators, self.weights, strict=True):
            if weight:
                out += weight * (operator @ vectors)
        return out


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
class Pencil:
    """Target and backgrounds as operators on one working space.

    Attributes
    ----------
    target : CovarianceOperator
        The target's covariance ``A``.
    backgrounds : tuple of CovarianceOperator
        The backgrounds' covariances ``B_1 ... B_m``, possibly none.
    n_features : int
        Number of features p of the data. The working space may be smaller (a reduced form); p is what turns a trace
        into the variance that a random direction explains.
    """

    target: CovarianceOperator
    backgrounds: tuple[CovarianceOperator, ...]
    n_features: int

    @property
    def direct(self) -> bool:
        """Whether eigenproblems of its combinations have a way of their own, not through products."""
        return False

    @property
    def size(self) -> int:
        """Dimension of the working space."""
        return self.target.size

    @property
    def n_backgrounds(self) -> int:
        """Number of backgrounds m."""
        return len(self.backgrounds)

    def combine(self, target_weight: float, background_weights: ArrayLike) -> CovarianceOperator:
        """``target_weight * A + sum_j background_weights[j] * B_j`` as one operator."""
        weights = (float(target_weight), *np.asarray(background_weights, dtype=float).tolist())
        return LinearCombination((self.target, *self.backgrounds), weights)

    def products(self, vectors: Array) -> Array:
        """``A V, B_1 V, ..., B_m V`` stacked, (m + 1, size, k): one pass over the data where passes are expensive."""
        return np.stack([operator @ vectors for operator in (self.target, *self.backgrounds)])

    def complement(self, vector: Array) -> tuple[Pencil, Array]:
        """The pencil on the orthogonal complement of a unit vector, and the reflector for :func:`embed`."""
        w = householder(vector)
        return ComplementPencil(self, w), w

    def minimising(self, j: int, bounded: Sequence[int]) -> Pencil:
        """The pencil whose target is ``-B_j`` and whose backgrounds are those listed: what is least attainable for j?"""
        target = LinearCombination((self.backgrounds[j],), (-1.0,))
        return Pencil(target, tuple(self.backgrounds[i] for i in bounded), self.n_features)

    @property
    def allowances(self) -> Array:
        """Allowances of A, B_1 ... B_m for what building them cost."""
        return np.array([operator.allowance for operator in (self.target, *self.backgrounds)])

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        """How far ``v' S v`` may be off for unit vectors v in the span of orthonormal ``vectors``; shape (m + 1,).

        ``sizes`` (m + 1,) are the largest ``v' S v`` there. At most the allowances; less where a representation knows its
        error better there.
        """
        operators = (self.target, *self.backgrounds)
        return np.array([operator.error_at(size) for operator, size in zip(operators, sizes.tolist(), strict=True)])

    def variances(self, vectors: Array) -> Array:
        """``v' S v`` for every column v and every operator S = A, B_1 ... B_m; shape (m + 1, k)."""
        return np.einsum("dk,sdk->sk", vectors, self.products(vectors))

    def traces(self) -> Array:
        """Traces of A, B_1 ... B_m."""
        return np.array([operator.trace for operator in (self.target, *self.backgrounds)])


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


class ComplementPencil(Pencil):
    """A pencil on the complement of one unit vector, whose products are one pass of the whole pencil."""

    def __init__(self, whole: Pencil, reflector: Array):
        operators = tuple(Complement(operator, reflector) for operator in (whole.target, *whole.backgrounds))
        super().__init__(operators[0], operators[1:], whole.n_features)
        object.__setattr__(self, "_whole", whole)  # the dataclass is frozen
        object.__setattr__(self, "_reflector", reflector)

    _whole: Pencil
    _reflector: Array

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        return self._whole.errors_at(embed(vectors, self._reflector), sizes)

    def products(self, vectors: Array) -> Array:
        images = self._whole.products(embed(vectors, self._reflector))
        return np.stack([reflect(image, self._reflector)[1:] for image in images])
