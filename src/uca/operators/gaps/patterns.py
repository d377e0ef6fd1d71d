"""Rows with gaps, dealt into batches whose gaps are equally large: what is solved for all rows of a batch in one call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._types import Array

CELLS = 4_000_000  # numbers in the small matrices of one batch


@dataclass(frozen=True)
class Batch:
    """Patterns of one size.

    Attributes
    ----------
    features : integer array of shape (u, g)
        What is missing in each pattern.
    counts : integer array of shape (u,)
        How many rows have it.
    rows, pattern : integer arrays of shape (r,)
        Positions of all these rows, and the pattern of each.
    """

    features: Array
    counts: Array
    rows: Array
    pattern: Array

    def scatter(self, matrices: Array, p: int) -> Array:
        """Sum over rows of matrices (u, g, g), one a pattern, each laid where its features are in a p x p matrix."""
        flat = self.features[:, :, np.newaxis] * p + self.features[:, np.newaxis, :]
        weighted = matrices * self.counts[:, np.newaxis, np.newaxis]
        return np.bincount(flat.ravel(), weights=weighted.ravel(), minlength=p * p).reshape(p, p)

    def block(self, matrix: Array) -> Array:
        """The part of a p x p matrix that belongs to the features of each pattern, (u, g, g)."""
        return matrix[self.features[:, :, np.newaxis], self.features[:, np.newaxis, :]]


@dataclass(frozen=True)
class Patterns:
    """Which values are missing, (n, p) booleans; rows that lack the same features are told once."""

    missing: Array

    @cached_property
    def batches(self) -> list[Batch]:
        """All rows with gaps."""
        incomplete = np.flatnonzero(self.missing.any(axis=1))
        if not len(incomplete):
            return []
        packed = np.packbits(self.missing[incomplete], axis=1)
        _, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        place = place.reshape(-1)  # numpy 2.0 gave it another shape
        kinds = self.missing[incomplete[first]]
        return list(_batches(kinds, incomplete, place))


def _batches(kinds: Array, rows: Array, place: Array) -> Iterator[Batch]:
    sizes = kinds.sum(axis=1)
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        most = max(1, CELLS // int(size) ** 2)
        for start in range(0, len(same), most):
            chosen = same[start : start + most]
            number = np.full(len(kinds), -1)
            number[chosen] = np.arange(len(chosen))
            own = np.flatnonzero(number[place] >= 0)
            pattern = number[place[own]]
            features = np.nonzero(kinds[chosen])[1].reshape(len(chosen), int(size))
            yield Batch(features, np.bincount(pattern, minlength=len(chosen)), rows[own], pattern)
