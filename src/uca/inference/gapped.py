"""Held-out rows with missing values: expected squares in place of squares, and errors that know what is missing.

The law of the held-out rows is estimated from these rows alone, each dataset by itself, as the fit does it. A gap is filled
with its conditional mean, and its conditional variance is added wherever a square is taken: the variance along a direction
is then that of the estimated covariance. Without the added part it would be too small, and more so in the dataset with more
gaps: a target with few gaps would look unique.

Rows with gaps tell less. For one direction with variance s, of which c_i is unknown in row i, the row has the share
``(1 - c_i / s)^2`` of the information that a complete row has about log s; w is the mean over rows. The influences of
expected squares are smaller than those of squares by w, whereas the error of the estimate is larger: dividing the influences
by w sets both right (the share of information that is there, as in Louis 1982, for one parameter).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Array
from ..operators.gaps.estimate import estimate, has_gaps
from ..operators.gaps.law import Completed
from ..operators.representations.estimated import in_memory
from .rows import ScaledRows

LEAST = 0.05  # share of the information below which nothing is believed


class GappedRows(ScaledRows):
    """Rows that were completed, with the conditional variances of what filled them."""

    def __init__(self, completed: Completed, *, center: bool, pull: bool):
        self._completed = completed
        super().__init__(completed.rows, center=center, pull=pull)

    def _squared(self) -> Array:
        return np.asarray(self._rows**2 + self._completed.variances)

    def squared_scores(self, directions: Array) -> Array:
        return self.scores(directions) ** 2 + self._unknown(directions)

    def image(self, scores: Array, directions: Array) -> Array:
        weights = directions * self.factor[:, np.newaxis]
        return self.back(scores) + self.factor[:, np.newaxis] * (self._scatter @ weights)

    def information(self, directions: Array, variance: Array) -> Array:
        there = 1.0 - self._unknown(directions) / variance
        return np.maximum((np.clip(there, 0.0, 1.0) ** 2).mean(axis=0), LEAST)

    def _unknown(self, directions: Array) -> Array:
        """Conditional variance of every row along directions, (n, k)."""
        return self._pull**2 * self._completed.along(directions * self.factor[:, np.newaxis])

    @property
    def _scatter(self) -> Array:
        return self._completed.scatter()


def completed_rows(rows: Any, label: str) -> Completed | None:
    """Rows completed by a law of their own; None where nothing is missing."""
    return estimate(in_memory(rows), label).law.complete(in_memory(rows)) if has_gaps(rows) else None


def scaled(rows: Any, completed: Completed | None, *, center: bool, pull: bool) -> ScaledRows:
    """Rows, with their gaps completed where there are any."""
    if completed is None:
        return ScaledRows(rows, center=center, pull=pull)
    return GappedRows(completed, center=center, pull=pull)


def without_gaps(rows: Any, label: str = "rows") -> Any:
    """Rows as they are, or with conditional means in their gaps: to look at, not to take variances of."""
    completed = completed_rows(rows, label)
    return rows if completed is None else completed.rows
