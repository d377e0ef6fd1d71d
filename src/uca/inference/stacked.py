"""Rows of two datasets, one below the other, known through products.

Promises: the products of :class:`~.rows.ScaledRows` for all rows together, first dataset first. Dense rows that are few
are held as one array, centred and scaled, so that each product is one; others, and sparse ones, stay where they are and
each dataset is multiplied by itself. Both give the same numbers up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Array
from .rows import ScaledRows

CELLS = 2**22  # numbers in an array that is copied


class StackedRows:
    """Two datasets after their factors are set: later changes of these are not seen."""

    def __init__(self, rows: Sequence[ScaledRows]):
        self._parts = tuple(rows)
        self.n, self.n_features = sum(part.n for part in rows), len(rows[0].mean)
        self.centred = rows[0].centred
        together = all(part.dense for part in rows) and self.n * self.n_features <= CELLS
        self._rows = np.concatenate([part.standardised() for part in rows]) if together else None
        self._squares = None if self._rows is None else self._rows**2

    def scores(self, filters: Array) -> Array:
        """``x f`` for every row x and column f, (N, n)."""
        if self._rows is not None:
            return np.asarray(self._rows @ filters)
        return np.concatenate([part.scores(filters) for part in self._parts])

    def back(self, values: Array) -> Array:
        """``sum_i x_i z_i`` over all rows for columns z, (p, n)."""
        if self._rows is not None:
            return np.asarray(self._rows.T @ values)
        return np.add(*(part.back(side) for part, side in zip(self._parts, self._sides(values), strict=True)))

    def squares(self, weights: Array) -> Array:
        """``sum_f w_f x_f^2`` for every row x and column w, (N, n)."""
        if self._squares is not None:
            return np.asarray(self._squares @ weights)
        return np.concatenate([part.squares(weights) for part in self._parts])

    def sums_of_squares(self, weights: Array) -> Array:
        """``sum_i w_i x_if^2`` for every feature f and column w, (p, n)."""
        if self._squares is not None:
            return np.asarray(self._squares.T @ weights)
        sides = zip(self._parts, self._sides(weights), strict=True)
        return np.add(*(part.sums_of_squares(side) for part, side in sides))

    def _sides(self, values: Array) -> tuple[Array, Array]:
        """Values of all rows, (N, n), by the dataset that the rows came from."""
        return values[: self._parts[0].n], values[self._parts[0].n :]
