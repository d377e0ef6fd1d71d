"""The lower bound that a certificate prints: the target variance of a matrix that respects every bound, come what may.

A solver's matrix V respects the bounds as computed, up to rounding. Here it is mixed with a matrix that spends less,
just enough that no bound is exceeded even if every background variance is off by as much as building the covariances may
have cost. The value of the mixture, less what the target variance may be off by, is a lower bound on the optimum of the
numbers passed in. No use is made of how good the multipliers are.

Some bounds leave no room at all: a background ``c I`` spends its bound in every direction. Where the solver's bounds have
met, its matrix then counts less what larger bounds could have brought (an optimum grows by at most ``sum_j w_j e_j`` if
bound j grows by a share e_j, at optimal prices w, and ours count fourfold); such a bound is not called proven.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Array
from ..dual import Dual, DualPoint, mean_bounds
from .bundle import Bundle

WHOLE = 1e-14  # part of a vector outside a space that is rounding: the factor is represented as a whole
HEAVY = 1e-4  # root of the weight of a direction in the matrix; the error of lighter ones is that of any direction
EVEN_STEPS = 100
EVEN_RATE = 1.0


@dataclass(frozen=True)
class LowerBound:
    """The bound, and whether it is proven."""

    value: float
    proven: bool = True


def certified_lower(dual: Dual, point: DualPoint, factor: Array | None, tol: float) -> LowerBound:
    """The bound from ``V = factor @ factor.T``, trace 1, with help from the top eigenvectors at ``point``."""
    if factor is None:
        return LowerBound(-np.inf)
    space = Bundle(dual)
    space.extend(np.hstack([factor, point.vectors]), independent=WHOLE)
    own = _Spending.of(space, space.basis.T @ factor, _errors(dual, factor))
    lower = _within(space, own)
    if dual.m and not np.isfinite(lower):
        # Nothing here has room to spare: the least expensive direction of all has, if any does.
        for weights in (dual.per_bound, *(dual.per_bound * row for row in np.eye(dual.m))):
            space.extend(dual.eigen.top(np.concatenate([[0.0], -weights]), 1).vectors)
        lower = _within(space, own)
    lower = max(lower, _isotropic(dual))
    met = dual.relative_gap(point.value, own.value) <= tol
    if met and dual.relative_gap(point.value, lower) > tol:
        excess = np.maximum(own.spent + own.off[1:] * dual.per_bound - 1.0, 0.0)
        by_prices = own.value - own.off[0] - 4.0 * float(point.prices @ excess)
        if by_prices > lower and dual.relative_gap(point.value, by_prices) <= tol:
            return LowerBound(by_prices, proven=False)
    return LowerBound(lower)


def _isotropic(dual: Dual) -> float:
    """The value of ``I / p``, which respects mean bounds exactly, whatever rounding did."""
    try:
        if dual.pencil.size < dual.pencil.n_features or not np.array_equal(dual.bounds, mean_bounds(dual.pencil)):
            return -np.inf
        trace = dual.pencil.target.trace
    except ValueError:  # known through products alone
        return -np.inf
    return trace / dual.pencil.n_features - float(dual.errors_of_any()[0])


def _errors(dual: Dual, factor: Array) -> Array:
    """How far ``tr(S V)`` may be off for A, B_1 ... B_m."""
    directions, sizes, _ = np.linalg.svd(factor, full_matrices=False)
    heavy = sizes > HEAVY
    light = float(np.sum(sizes[~heavy] ** 2))
    return dual.errors_at(directions[:, heavy]) + light * dual.errors_of_any()


@dataclass(frozen=True)
class _Spending:
    """Target variance and shares of the bounds of a matrix of trace 1, as computed, and how far variances may be off."""

    value: float
    spent: Array
    off: Array

    @classmethod
    def of(cls, space: Bundle, factor: Array, off: Array) -> _Spending:
        spent = np.einsum("qr,jqr->j", factor, space.b @ factor)
        return cls(float(np.sum(factor * (space.a @ factor))), spent, off)


def _within(space: Bundle, own: _Spending) -> float:
    """The bound from what is at hand in a small space."""
    room = own.off[1:] * space.dual.per_bound
    over = own.spent + room > 1.0
    if not over.any():
        return own.value - float(own.off[0])
    lower = max(_mixed(own, cheap, space.dual.per_bound) for cheap in _least_expensive(space, over))
    return lower if np.isfinite(lower) else _mixed(own, _even(space), space.dual.per_bound)


def _least_expensive(space: Bundle, over: Array) -> list[_Spending]:
    """Directions that spend little of the bounds in question: of their sum, and a mixture of the best for each."""
    of_sum = np.linalg.eigh(space.b[over].sum(axis=0))[1][:, :1]
    of_each = np.linalg.eigh(space.b[over])[1][:, :, 0].T / np.sqrt(over.sum())
    return [_Spending.of(space, factor, space.dual.errors_of_any()) for factor in (of_sum, of_each)]


def _even(space: Bundle) -> _Spending:
    """A mixture whose largest share of a bound is small: what is dear so far gets more weight in the next direction."""
    values, costs = [], []
    total = np.zeros(space.dual.m)
    for step in range(1, EVEN_STEPS + 1):
        weights = np.exp(EVEN_RATE * (total - total.max()))
        direction = np.linalg.eigh(np.tensordot(weights, space.b, axes=1))[1][:, :1]
        spending = _Spending.of(space, direction, np.zeros(0))
        values.append(spending.value)
        costs.append(spending.spent)
        total += spending.spent / np.sqrt(step)
    return _Spending(float(np.mean(values)), np.mean(costs, axis=0), space.dual.errors_of_any())


def _mixed(own: _Spending, cheap: _Spending, per_bound: Array) -> float:
    """What the mixture that respects every bound has in the target at least, or minus infinity."""
    most, least = (part.spent + part.off[1:] * per_bound for part in (own, cheap))
    over = most > 1.0
    if np.any(least[over] >= 1.0):
        return -np.inf
    share = float(np.max((most[over] - 1.0) / (most[over] - least[over]), initial=0.0)) * (1 + 1e-12)
    if share > 1 or np.any((1 - share) * most + share * least > 1.0 + 1e-15):
        return -np.inf
    return (1 - share) * (own.value - float(own.off[0])) + share * (cheap.value - float(cheap.off[0]))
