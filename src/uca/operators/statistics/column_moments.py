"""Means and sums of squares of columns: what is known of data that is too wide for a scatter matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._types import Array
from .blocks import divisor, two_sum

FAR = 4.0  # a mean this many deviations from 0 is taken out before products: rounding grows with its square


@dataclass(frozen=True)
class ColumnMoments:
    """Rows, stored values, means and sums of squares about the mean of some columns; they can be merged.

    The mean is ``mean + rest``: one float does not hold the digits of a mean that is large beside the spread. ``dtype`` is
    that of the data.
    """

    n: int
    stored: Array
    mean: Array
    rest: Array
    squares: Array
    dtype: np.dtype

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        """The moments of both sets of rows together (Chan, Golub & LeVeque 1983)."""
        if self.n == 0 or other.n == 0:
            return self if other.n == 0 else other
        n = self.n + other.n
        shift = (other.mean - self.mean) + (other.rest - self.rest)
        mean, lost = two_sum(self.mean, shift * (other.n / n))
        return replace(
            self,
            n=n,
            stored=self.stored + other.stored,
            mean=mean,
            rest=self.rest + lost,
            squares=self.squares + other.squares + shift**2 * (self.n * other.n / n),
        )

    def far_origin(self) -> Array | None:
        """What to subtract from columns whose mean is far from 0; None where there is none."""
        deviation = np.sqrt(self.squares / max(divisor(self.n), 1))
        far = (np.abs(self.mean) > FAR * deviation) & (self.stored == self.n)
        return np.where(far, self.mean, 0.0) if far.any() else None


def beside(parts: Sequence[ColumnMoments]) -> ColumnMoments:
    """Moments of columns that stand side by side."""
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(m, name) for m in parts]) for name in ("stored", "mean", "rest", "squares")
    }
    return replace(parts[0], **joined)
