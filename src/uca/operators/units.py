"""Units: covariances in units of their own for the solver, and data whose squares overflow or vanish.

Multiplying by a power of two changes no digit. Every problem is solved in units in which the mean variance of each dataset
lies between 1 and 4 (:func:`canonical`), so the same data in other units, a power of two apart, gives the same answer, bit
for bit, but for the units. Where squares of the data overflow or vanish (values below 1e-60 or above 1e60 or so, told by
:class:`~uca._validation.OutOfRangeError`), the data itself is divided by powers of two first; that takes a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._types import Array
from .._validation import OutOfRangeError
from .base import CovarianceOperator, LinearCombination, Pencil
from .moments import Moments
from .representation import Representation

LOST = 1e-303  # squares below have lost digits that matter: the smallest float64 with all of them is 2e-308

LARGEST_POWER = 1018  # of two, for variances: float64 goes from -1022 to 1023
NO_FLOAT = (
    "variances or multipliers in these units are outside the range of float64: rescale the features, or use scale=True"
)


class ScaledPencil(Pencil):
    """A pencil whose operators are those of another, each times a factor."""

    def __init__(self, inner: Pencil, factors: Array):
        operators = [
            LinearCombination((operator,), (float(factor),))
            for operator, factor in zip((inner.target, *inner.backgrounds), factors, strict=True)
        ]
        super().__init__(operators[0], tuple(operators[1:]), inner.n_features)
        object.__setattr__(self, "inner", inner)  # the dataclass is frozen
        object.__setattr__(self, "factors", factors)

    inner: Pencil
    factors: Array

    @property
    def direct(self) -> bool:
        return self.inner.direct

    def combine(self, target_weight: float, background_weights: ArrayLike) -> CovarianceOperator:
        weights = np.asarray(background_weights, dtype=float) * self.factors[1:]
        return self.inner.combine(target_weight * float(self.factors[0]), weights)

    def products(self, vectors: Array) -> Array:
        return self.inner.products(vectors) * self.factors[:, np.newaxis, np.newaxis]

    def variances(self, vectors: Array) -> Array:
        return self.inner.variances(vectors) * self.factors[:, np.newaxis]

    def errors_at(self, vectors: Array, sizes: Array) -> Array:
        return self.inner.errors_at(vectors, sizes / self.factors) * self.factors

    def complement(self, vector: Array) -> tuple[Pencil, Array]:
        pencil, reflector = self.inner.complement(vector)
        return ScaledPencil(pencil, self.factors), reflector

    def minimising(self, j: int, bounded: Sequence[int]) -> Pencil:
        return ScaledPencil(self.inner.minimising(j, bounded), self.factors[[1 + j, *(1 + i for i in bounded)]])


def canonical(pencil: Pencil) -> tuple[Pencil, Array]:
    """The pencil in units of its own, and the powers of four that lead back: S = 4 ** power S'."""
    operators = (pencil.target, *pencil.backgrounds)
    powers = np.array([_power(operator, pencil.n_features) for operator in operators])
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


@dataclass(frozen=True)
class Moderate:
    """Tables whose columns were divided by ``2 ** columns`` (one array a table).

    Standardising takes the powers of single columns out again. What is left are the powers of whole datasets: a
    covariance in the units of the user is ``4 ** datasets[s]`` times that of the table here.
    """

    tables: tuple[Any, ...]
    columns: tuple[Array, ...]
    datasets: tuple[int, ...]

    def restore(self, held: Representation, scale: bool | str) -> Representation:
        """The representation of the tables in the user's units."""
        mean = np.ldexp(held.mean, self.columns[0])
        deviation = np.ldexp(held.scale, self.columns[0]) if scale else held.scale
        powers = 2 * np.array(self.datasets)
        if np.any(np.abs(powers) > LARGEST_POWER):
            raise OverflowError(NO_FLOAT)
        pencil = ScaledPencil(held.pencil, np.ldexp(1.0, powers))
        again = held.sharper
        restored = None if again is None else lambda: self.restore(again(), scale)
        return replace(held, pencil=pencil, mean=mean, scale=deviation, sharper=restored)


def in_moderate_units(
    make: Callable[[Sequence[Any]], Representation], tables: Sequence[Any], scale: bool | str
) -> Representation:
    """``make(tables)``; where their units are out of range, the same by way of moderate ones."""
    try:
        return make(tables)
    except OutOfRangeError:
        moderate = to_moderate(tables, scale)
        if moderate is None:
            raise
    return moderate.restore(make(moderate.tables), scale)


def to_moderate(tables: Sequence[Any], scale: bool | str) -> Moderate | None:
    """Tables (target first) in moderate units; None for containers that this module does not rescale."""
    sizes = [size for table in tables if (size := _largest(table)) is not None and np.isfinite(size).all()]
    if len(sizes) < len(tables):
        return None
    powers = [np.frexp(size)[1].astype(int) for size in sizes]
    datasets = [0] * len(tables)
    if scale is not True:
        own = powers[0] if scale == "target" else np.zeros_like(powers[0])
        # The rest of the power of each dataset: that of its largest column.
        left = [power - own for power in powers]
        datasets = [int(np.max(part, where=size > 0, initial=-5000)) for part, size in zip(left, sizes, strict=True)]
        datasets = [0 if power == -5000 or (scale and i == 0) else power for i, power in enumerate(datasets)]
        powers = [own + power for power in datasets]
    scaled = tuple(_divided(table, power) for table, power in zip(tables, powers, strict=True))
    return Moderate(scaled, tuple(powers), tuple(datasets))


def _largest(table: Any) -> Array | None:
    """Largest absolute value of each column, or what bounds it."""
    if isinstance(table, Moments):
        squares = table.scatter.diagonal()
        if np.any((squares > 0) & (squares < LOST)):  # digits are gone, and the rows with them
            return None
        return np.sqrt(np.maximum(table.scatter.diagonal(), 0.0)) + np.abs(table.mean)
    if sparse.issparse(table):
        return np.asarray(abs(table).max(axis=0).toarray()).ravel().astype(float)
    if isinstance(table, np.ndarray):
        return np.maximum(table.max(axis=0), -table.min(axis=0)).astype(float)
    return None


def _divided(table: Any, powers: Array) -> Any:
    """The table with its columns divided by powers of two."""
    if isinstance(table, Moments):
        return table.in_units(np.ldexp(1.0, -powers))
    if sparse.issparse(table):
        table = table.tocsc().astype(float)
        table.data = np.ldexp(table.data, -np.repeat(powers, np.diff(table.indptr)))
        return table
    return np.ldexp(np.asarray(table, dtype=float), -powers)


def in_user_units(values: Any, power: Any) -> Any:
    """Variances in the units of the user: times ``4 ** power``."""
    with np.errstate(over="raise"):
        try:
            return np.ldexp(values, 2 * np.asarray(power))
        except FloatingPointError:
            raise OverflowError(NO_FLOAT) from None
