"""A normal law of some features, and what it says about gaps in rows: their conditional means and covariances.

Values are standardised by ``origin`` and ``unit`` first, so that laws do not depend on units and large means cost no digits.
A feature that does not vary has unit 0 and takes no part: its gaps are filled with its one value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._types import Array
from ..statistics.standard import inverse


class Gaps(ABC):
    """What a law says about rows with gaps, all in standardised values (n, q)."""

    completed: Array

    @abstractmethod
    def along(self, directions: Array) -> Array:
        """Conditional variance of each row along directions, (q, k); (n, k), and 0 for rows without gaps."""

    @abstractmethod
    def entries(self) -> Array:
        """Conditional variance of every entry, (n, q); 0 where a value is there."""

    @abstractmethod
    def scatter(self) -> Array:
        """Sum of the conditional covariances of all rows, (q, q)."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> Array:
        """The rows with their gaps drawn at random from the law, given the values that are there."""


@dataclass(frozen=True, eq=False)
class NormalLaw(ABC):
    """A normal law that was estimated from rows with missing values.

    Attributes
    ----------
    origin, unit : array of shape (p,)
        Mean and standard deviation of the values that are there; a unit of 0 is a feature that does not vary.
    n_rows : int
        Rows that it was estimated from: those with at least one value.
    n_values : array of shape (p,)
        How many of them have each feature.
    n_iter : int
        Steps of EM.
    converged : bool
        Whether it came to rest.
    shift : array of shape (q,)
        Means of the standardised features that vary.
    """

    origin: Array
    unit: Array
    n_rows: int
    n_values: Array
    n_iter: int
    converged: bool
    shift: Array

    @property
    def varies(self) -> Array:
        """Positions of the features that vary."""
        return np.flatnonzero(self.unit > 0)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.origin)

    @property
    def mean(self) -> Array:
        """Means of the law, (p,), in the user's units."""
        out = self.origin.copy()
        out[self.varies] += self.unit[self.varies] * self.shift
        return out

    @property
    @abstractmethod
    def covariance(self) -> Array:
        """Covariance of the law, (p, p), in the user's units: what gaps are filled by."""

    @abstractmethod
    def gaps(self, values: Array) -> Gaps:
        """What the law says about standardised values (n, q) of the features that vary, NaN where they are missing."""

    def complete(self, rows: Any) -> Completed:
        """Rows (n, p) with NaN in their gaps, completed by conditional means; values that are there stay as they are."""
        rows = np.asarray(rows, dtype=float)
        known = self.varies
        values = (rows[:, known] - self.origin[known]) * inverse(self.unit[known])
        found = self.gaps(values)
        out = np.where(np.isnan(rows), self.origin, rows)
        filled = self.origin[known] + self.unit[known] * found.completed
        out[:, known] = np.where(np.isnan(values), filled, rows[:, known])
        return Completed(out, np.isnan(rows), self, found)

    def spread_out(self, matrix: Array) -> Array:
        """A matrix (q, q) of standardised features in the user's units, (p, p), with 0 for features that do not vary."""
        out = np.zeros((self.n_features, self.n_features))
        unit = self.unit[self.varies]
        out[np.ix_(self.varies, self.varies)] = matrix * unit * unit[:, np.newaxis]
        return out


@dataclass(frozen=True, eq=False)
class Completed:
    """Rows without gaps, and how uncertain what fills them is.

    Attributes
    ----------
    rows : array of shape (n, p)
        Conditional means where values were missing.
    missing : boolean array of shape (n, p)
    """

    rows: Array
    missing: Array
    law: NormalLaw
    gaps: Gaps

    def along(self, directions: Array) -> Array:
        """Conditional variance of each row along directions, (p, k); (n, k)."""
        law = self.law
        return self.gaps.along(directions[law.varies] * law.unit[law.varies, np.newaxis])

    @cached_property
    def variances(self) -> Array:
        """Conditional variance of every entry, (n, p); 0 where a value is there."""
        law, out = self.law, np.zeros(self.rows.shape)
        out[:, law.varies] = self.gaps.entries() * law.unit[law.varies] ** 2
        return out

    def scatter(self) -> Array:
        """Sum of the conditional covariances, (p, p)."""
        return self.law.spread_out(self.gaps.scatter())

    def drawn(self, rng: np.random.Generator) -> Array:
        """The rows with gaps drawn from the law in place of conditional means."""
        known, out = self.law.varies, self.rows.copy()
        values = self.law.origin[known] + self.law.unit[known] * self.gaps.drawn(rng)
        out[:, known] = np.where(self.missing[:, known], values, out[:, known])
        return out
