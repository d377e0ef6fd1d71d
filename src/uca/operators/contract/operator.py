"""One symmetric matrix, known through its products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..._types import Array


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
        """Sum of the diagonal; a ValueError says so where it is not known."""

    @abstractmethod
    def __matmul__(self, vectors: Array) -> Array:
        """Product with a block of vectors, (size, k) -> (size, k)."""

    def dense(self) -> Array | None:
        """The matrix itself where it is held in memory, else None. Callers must not write to it."""
        return None

    def to_matrix(self) -> Array:
        """The matrix itself, made from products where it is not held."""
        held = self.dense()
        return self @ np.eye(self.size) if held is None else held

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

    def own_eigenpairs(self, k: int) -> Eigenpairs | None:
        """Top ``k`` eigenpairs, where the operator has a way of its own; else None."""
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
        return self._sum([op.trace for op in self.operators])

    @property
    def magnitude(self) -> float:
        return self._sum([op.magnitude for op in self.operators], size=True)

    @property
    def allowance(self) -> float:
        return self._sum([op.allowance for op in self.operators], size=True)

    def _sum(self, values: list[float], *, size: bool = False) -> float:
        return float(sum((abs(w) if size else w) * v for w, v in zip(self.weights, values, strict=True)))

    def __matmul__(self, vectors: Array) -> Array:
        out = np.zeros(vectors.shape)
        for operator, weight in zip(self.operators, self.weights, strict=True):
            if weight:
                out += weight * (operator @ vectors)
        return out
