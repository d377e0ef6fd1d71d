"""A pencil in units of its own.

Multiplying by a power of two changes no digit. Every problem is solved in units in which the mean variance of each dataset
lies between 1 and 4 (:func:`canonical`), so the same data in other units, a power of two apart, gives the same answer, bit
for bit, but for the units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._types import Array
from .operator import CovarianceOperator, LinearCombination
from .pencil import Pencil

NO_FLOAT = (
    "variances or multipliers in these units are outside the range of float64: rescale the features, or use scale=True"
)


class ScaledPencil(Pencil):
    """A pencil whose operators are those of another, each times a factor."""

    def __init__(self, inner: Pencil, factors: Array):
        scaled = [LinearCombination((op,), (float(f),)) for op, f in zip(inner.operators, factors, strict=True)]
        super().__init__(scaled, inner.n_features)
        self.inner, self.factors = inner, factors
        self.in_memory, self.own_eigenpairs = inner.in_memory, inner.own_eigenpairs

    def combine(self, weights: ArrayLike) -> CovarianceOperator:
        return self.inner.combine(np.asarray(weights, dtype=float) * self.factors)

    def products(self, vectors: Array) -> Array:
        return self.inner.products(vectors) * self.factors[:, np.newaxis, np.newaxis]

    def variances(self, vectors: Array) -> Array:
        return self.inner.variances(vectors) * self.factors[:, np.newaxis]

    def factor(self, i: int) -> Array | None:
        inner = self.inner.factor(i)
        return None if inner is None else inner * np.sqrt(self.factors[i])

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        return self.inner.errors_at(vectors, sizes / self.factors) * self.factors

    def complement(self, vector: Array) -> tuple[Pencil, Array]:
        pencil, reflector = self.inner.complement(vector)
        return ScaledPencil(pencil, self.factors), reflector

    def minimising(self, j: int, bounded: Sequence[int]) -> Pencil:
        return ScaledPencil(self.inner.minimising(j, bounded), self.factors[[1 + j, *(1 + i for i in bounded)]])


def canonical(pencil: Pencil) -> tuple[Pencil, Array]:
    """The pencil in units of its own, and the powers of four that lead back: S = 4 ** power S'."""
    powers = np.array([_power(operator, pencil.n_features) for operator in pencil.operators])
    if not powers.any():
        return pencil, powers
    inner, factors = (pencil.inner, pencil.factors) if isinstance(pencil, ScaledPencil) else (pencil, 1.0)
    return ScaledPencil(inner, factors * np.ldexp(1.0, -2 * powers)), powers


def _power(operator: CovarianceOperator, n_features: int) -> int:
    """The power of four next below the mean variance."""
    try:
        size = operator.trace / n_features
    except ValueError:  # known through products alone
        return 0
    if not size > 0:  # an indefinite matrix
        size = operator.magnitude
    return (int(np.frexp(size)[1]) - 1) // 2 if size > 0 else 0


def in_user_units(values: Any, power: Any) -> Any:
    """Variances in the units of the user: times ``4 ** power``."""
    with np.errstate(over="raise"):
        try:
            return np.ldexp(values, 2 * np.asarray(power))
        except FloatingPointError:
            raise OverflowError(NO_FLOAT) from None
