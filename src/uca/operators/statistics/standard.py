"""What each dataset is centred and scaled by, in one place.

A :class:`Standard` is made from moments, of whatever kind: those of complete rows, or those that were estimated for rows
with missing entries, whose ``n`` may differ from feature to feature. Promises: a feature that is constant up to rounding
has deviation exactly 0 and becomes 0, never NaN; with ``scale="target"`` every dataset has the target's deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..._types import Array
from .blocks import check_range, divisor


class ColumnStatistics(Protocol):
    """What is known of the columns of a dataset: all that a standard is made from."""

    @property
    def n(self) -> Any:
        """Rows: a number, or one number a feature where entries are missing."""

    @property
    def mean(self) -> Array:
        """Means, rounded to one float."""

    @property
    def rest(self) -> Array | None:
        """What the means lost to rounding."""

    @property
    def squares(self) -> Array:
        """Sums of squares about the mean."""

    @property
    def dtype(self) -> np.dtype:
        """Type of the data: tells how large rounding errors of its values are."""


@dataclass(frozen=True)
class Observed:
    """Rows, means and standard deviations that a dataset has, whatever it is scaled by.

    Attributes
    ----------
    n : int, or array of shape (p,)
    mean, rest, deviation : array of shape (p,)
        The mean is the sum of the first two; a constant feature has deviation 0.
    """

    n: Any
    mean: Array
    rest: Array
    deviation: Array


@dataclass(frozen=True)
class Standard:
    """What one dataset is centred and scaled by: its columns become ``(x - mean - rest) * factor``.

    Attributes
    ----------
    center : bool
    mean, rest : array of shape (p,)
        The mean is the sum of the two; 0 where data is not centred.
    deviation : array of shape (p,), or None
        What columns are divided by, 0 for constant ones; None where data is not scaled.
    n : int, array of shape (p,), or None
        Rows; None where they are not known.
    spread : array of shape (p,), or None
        The dataset's own deviations; None where they are ``deviation``, or not known.
    """

    center: bool
    mean: Array
    rest: Array
    deviation: Array | None
    n: Any = None
    spread: Array | None = None

    @cached_property
    def factor(self) -> Array:
        """What columns are multiplied with: one over the deviation, 0 for constant columns, 1 without scaling."""
        if self.deviation is None:
            return np.ones(len(self.mean))
        return inverse(self.deviation)

    @property
    def scale(self) -> Array:
        """What columns are divided by, as a fitted ``scale_`` says it: 1 without scaling."""
        return np.ones(len(self.mean)) if self.deviation is None else self.deviation

    @property
    def observed(self) -> Observed | None:
        """What the rows themselves have; None where data is not centred, or known as matrices only."""
        own = self.deviation if self.spread is None else self.spread
        if not self.center or self.n is None or own is None:
            return None
        return Observed(self.n, self.mean, self.rest, own)

    @property
    def n_constant(self) -> int:
        """How many features are constant and therefore become 0."""
        return 0 if self.deviation is None else int(np.sum(self.deviation == 0))

    def part(self, columns: slice) -> Standard:
        """The standard of some columns."""
        deviation = None if self.deviation is None else self.deviation[columns]
        return Standard(self.center, self.mean[columns], self.rest[columns], deviation)

    def apply(self, block: Array) -> None:
        """Centre and scale a block of floats in place."""
        if self.center:
            block -= self.mean
            block -= self.rest
        self.rescale(block)

    def rescale(self, block: Array) -> None:
        """Scale a block that is centred already, in place."""
        if self.deviation is not None:
            block *= self.factor

    def in_units(self, powers: Array) -> Standard:
        """The standard of columns that are ``2 ** powers`` times as large."""
        deviation = None if self.deviation is None else np.ldexp(self.deviation, powers)
        spread = None if self.spread is None else np.ldexp(self.spread, powers)
        mean, rest = np.ldexp(self.mean, powers), np.ldexp(self.rest, powers)
        return Standard(self.center, mean, rest, deviation, self.n, spread)

    @staticmethod
    def beside(parts: Sequence[Standard]) -> Standard:
        """The standard of columns that stand side by side."""
        deviations = [part.deviation for part in parts if part.deviation is not None]
        spreads = [part.spread for part in parts if part.spread is not None]
        n = parts[0].n
        return Standard(
            parts[0].center,
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.rest for part in parts]),
            np.concatenate(deviations) if deviations else None,
            np.concatenate([part.n for part in parts]) if np.ndim(n) else n,
            np.concatenate(spreads) if spreads else None,
        )

    @classmethod
    def none(cls, p: int) -> Standard:
        """For data that is used as it is."""
        return cls(False, np.zeros(p), np.zeros(p), None)


def standards(moments: Sequence[ColumnStatistics], *, center: bool, scale: bool | str) -> tuple[Standard, ...]:
    """The standard of each dataset, target first.

    Columns that are divided by their own deviations are checked to be in range; others are checked by the total of their
    dataset, see :func:`check_totals`.
    """
    out: list[Standard] = []
    for m in moments:
        deviation = None
        if scale == "target" and out:
            deviation = out[0].deviation
        elif scale:
            squares = sums_about(m, center=center)
            check_range(squares, m.mean)
            deviation = deviations(squares, m.mean, m.n, m.dtype)
        zero = np.zeros(len(m.mean))
        mean, rest = (m.mean, zero if m.rest is None else m.rest) if center else (zero, zero)
        by_own = scale is True or (scale and not out)
        spread = deviations(m.squares, m.mean, m.n, m.dtype) if center and not by_own else None
        out.append(Standard(center, mean, rest, deviation, m.n, spread))
    return tuple(out)


def check_totals(moments: Sequence[ColumnStatistics], given: Sequence[Standard], scale: bool | str) -> None:
    """Check the range of datasets that are not scaled by themselves."""
    for i, (m, standard) in enumerate(zip(moments, given, strict=True)):
        if not scale or (scale == "target" and i):
            with np.errstate(over="ignore"):
                check_range(np.sum(sums_about(m, center=standard.center) * standard.factor**2), m.mean)


def sums_about(m: ColumnStatistics, *, center: bool) -> Array:
    """Sums of squares of the columns, about the mean or about 0."""
    return m.squares if center else m.squares + m.n * m.mean**2


def is_finite(m: ColumnStatistics) -> bool:
    """Whether no value behind the moments was NaN or infinite, and no sum overflowed."""
    return bool(np.isfinite(m.mean).all() and np.isfinite(m.squares).all())


def deviations(sums_of_squares: Array, mean: Array, n: Any, dtype: np.dtype) -> Array:
    """Standard deviations; exactly 0 for columns that are constant up to rounding.

    That is: the deviation is at most the distance of the mean to the next number that the type of the data has.
    """
    deviation = np.sqrt(np.maximum(sums_of_squares, 0.0) / divisor(n))
    with np.errstate(invalid="ignore", over="ignore"):
        rounding = np.spacing(np.abs(mean).astype(dtype)).astype(float)
    return np.where(deviation <= rounding, 0.0, deviation)


def inverse(deviation: Array) -> Array:
    """``1 / deviation``, and 0 for constant columns: they are scaled to 0, not to NaN."""
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
