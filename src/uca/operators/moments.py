"""Means, deviations and scatter matrices, in blocks and without losing digits.

This module alone knows ``ddof``; nobody else divides by a number of rows. Promises: no centred copy of the data is
made, only blocks of a few megabytes; a mean of 1e8 with a spread of 1 costs no digits (blocks are centred by their own
mean, corrected once, and merged pairwise, Chan, Golub & LeVeque 1983); float32 input is widened to float64 a block at
a time, so its products lose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._threads import in_lanes
from .._types import Array
from .._validation import raise_not_finite

DDOF = 1
BLOCK_BYTES = 1_000_000  # stays in the second-level cache
PARALLEL_BYTES = 8_000_000  # inputs from this size on are shared out over the cores


def divisor(n: int) -> int:
    """What a sum of squares over ``n`` rows is divided by."""
    return n - DDOF


def center_block(block: Array, out: Array) -> tuple[Array, Array]:
    """Write the block minus its column means to ``out``; return the means (float64) and what rounding left in ``out``.

    The second result is the mean of ``out``: 0 but for rounding of the first, which matters where a column has a large
    mean and a small spread. The returned means include it; sums of squares of ``out`` must have it taken out.
    """
    averaging = np.full(len(block), 1.0 / len(block), dtype=out.dtype)
    np.copyto(out, block)  # then in place: twice as fast as subtracting from the strided view
    mean = averaging @ out
    out -= mean
    left = (averaging @ out).astype(float)
    return mean + left, left


def deviations(sums_of_squares: Array, mean: Array, n: int, dtype: np.dtype) -> Array:
    """Standard deviations; exactly 0 for columns that are constant up to rounding."""
    deviation = np.sqrt(np.maximum(sums_of_squares, 0.0) / divisor(n))
    rounding = 4.0 * np.finfo(dtype).eps * np.abs(mean)
    return np.where(deviation <= rounding, 0.0, deviation)


def inverse(deviation: Array) -> Array:
    """``1 / deviation``, and 0 for constant columns: they are scaled to 0, not to NaN."""
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)


@dataclass
class Moments:
    """Number of rows, mean and scatter matrix (sum of outer products about the mean) of a table; they can be merged."""

    n: int
    mean: Array
    scatter: Array

    @classmethod
    def empty(cls, p: int) -> Moments:
        """The moments of no rows."""
        return cls(0, np.zeros(p), np.zeros((p, p)))

    @classmethod
    def of(cls, X: Array, label: str) -> Moments:
        """The moments of a table, in row blocks; ``label`` names it in errors."""
        n, p = X.shape
        rows = int(np.clip(BLOCK_BYTES // (8 * p), 256, 1 << 16))
        starts = range(0, n, rows)

        def work(share: Sequence[int]) -> Moments:
            moments, buffer = cls.empty(p), np.empty((min(rows, n), p))
            for start in share:
                moments._add_block(X[start : start + rows], buffer)
            return moments

        with np.errstate(invalid="ignore", over="ignore"):
            total, *others = in_lanes(work, starts, parallel=X.nbytes >= PARALLEL_BYTES)
            for other in others:
                total.merge(other)
        if not (np.isfinite(total.mean).all() and np.isfinite(total.scatter.diagonal()).all()):
            raise_not_finite(X, label)
        return total

    def _add_block(self, block: Array, buffer: Array) -> None:
        centred = buffer[: len(block)]
        mean, left = center_block(block, centred)
        scatter = (centred.T @ centred).astype(float, copy=False)
        scatter -= np.multiply.outer(len(block) * left, left)
        self._merge(len(block), mean, scatter)

    def merge(self, other: Moments) -> None:
        """Add the rows behind ``other``."""
        self._merge(other.n, other.mean, other.scatter)

    def _merge(self, n: int, mean: Array, scatter: Array) -> None:
        if self.n == 0:
            self.scatter += scatter
            self.mean = self.mean + mean
        else:
            shift = mean - self.mean
            self.scatter += scatter
            self.scatter += np.multiply.outer(shift * (self.n * n / (self.n + n)), shift)
            self.mean = self.mean + shift * (n / (self.n + n))
        self.n += n

    def covariance(self, *, center: bool) -> Array:
        """Covariance matrix; with ``center=False`` the second moments about zero (same divisor)."""
        if center:
            return self.scatter / divisor(self.n)
        return (self.scatter + self.n * np.multiply.outer(self.mean, self.mean)) / divisor(self.n)
