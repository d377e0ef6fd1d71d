"""Target and backgrounds as matrices, and the problem on one support, solved exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Array
from ..solvers.projected import contrast, solve_projected

PROBE, BOX = 1e3, 1e4  # prices beyond which a support has no feasible mixture, in units of the target


@dataclass(frozen=True)
class Leaf:
    """The problem on one support.

    Attributes
    ----------
    support : integer array of shape (k,)
        In ascending order.
    value : float
        Target variance of a feasible mixture on the support; minus infinity where there is none.
    prices : array of shape (m,)
        Multipliers times bounds.
    """

    support: Array
    value: float
    prices: Array


@dataclass(frozen=True)
class SparseProblem:
    """At most ``k`` features.

    Attributes
    ----------
    target : array of shape (p, p)
    backgrounds : array of shape (m, p, p)
        Divided by their bounds.
    k : int
        From 1 to p.
    """

    target: Array
    backgrounds: Array
    k: int

    @property
    def p(self) -> int:
        """Number of features."""
        return len(self.target)

    @property
    def m(self) -> int:
        """Number of backgrounds."""
        return len(self.backgrounds)

    @cached_property
    def size(self) -> float:
        """The largest entry of the target: what rounding is compared with."""
        return max(float(np.abs(self.target).max()), np.finfo(float).tiny)

    def contrast(self, prices: Array) -> Array:
        """``A - sum_j w_j B_j``."""
        return contrast(self.target, self.backgrounds, prices)

    def leaf(self, support: Sequence[int] | Array, start: Array | None = None) -> Leaf:
        """The problem on a support; ``start`` are prices to begin with."""
        chosen = np.sort(np.asarray(support, dtype=np.intp))
        found = solve_projected(
            self.target[np.ix_(chosen, chosen)],
            self.backgrounds[:, chosen[:, np.newaxis], chosen],
            np.zeros(self.m) if start is None else start,
            probe=PROBE * self.size,
            box=BOX * self.size,
        )
        return Leaf(chosen, float(found.lower), found.prices)

    def one_feature(self) -> Leaf:
        """The best single feature that keeps the bounds."""
        spent = np.diagonal(self.backgrounds, axis1=1, axis2=2).max(axis=0, initial=0.0)
        variances = np.where(spent <= 1.0, self.target.diagonal(), -np.inf)
        best = int(variances.argmax())
        return Leaf(np.array([best]), float(variances[best]), np.zeros(self.m))
