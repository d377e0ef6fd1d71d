"""The lower bound that a certificate prints: the target variance of a matrix that respects every bound, come what may.

A solver's matrix V respects the bounds as computed, up to rounding. Here it is mixed with a matrix that spends less,
just enough that no bound is exceeded even if every background variance is off by as much as building the covariances may
have cost. The value of the mixture, less what the target variance may be off by, is a lower bound on the optimum of the
numbers passed in. No use is made of how good the multipliers are. Where no matrix with room to spare is found (bounds at
the edge of what can be met), there is no lower bound.

Matrices that were given as they are cost nothing to build, and may leave no room at all: a background ``c I`` spends its
bound in every direction. There the solver's matrix counts if the bounds have met, less what larger bounds could have
brought: an optimum grows by at most ``sum_j w_j e_j`` if bound j grows by a share e_j, at optimal prices w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Array
from ..dual import Dual, DualPoint
from ..eigen import top_eigenpairs
from .bundle import Bundle

WHOLE = 1e-14  # part of a vector outside a space that is rounding: the factor is represented as a whole
EVEN_STEPS = 100
EVEN_RATE = 1.0


def certified_lower(dual: Dual, point: DualPoint, factor: Array | None, tol: float) -> float:
    """The bound from ``V = factor @ factor.T``, trace 1, with help from the top eigenvectors at ``point``."""
    if factor is None:
        return -np.inf
    space = Bundle(dual)
    space.extend(np.hstack([factor, point.vectors]), independent=WHOLE)
    lower = _within(space, factor)
    if dual.m and not np.isfinite(lower):
        # Nothing here has room to spare: the least expensive direction of all has, if any does.
        for weights in (dual.per_bound, *(dual.per_bound * row for row in np.eye(dual.m))):
            space.extend(top_eigenpairs(dual.pencil.combine(0.0, -weights), 1).vectors)
        lower = _within(space, factor)
    if dual.relative_gap(point.value, lower) > tol and not dual.pencil.allowances.any():
        lower = max(lower, _by_prices(space, factor, point, tol))
    return lower


def _by_prices(space: Bundle, factor: Array, point: DualPoint, tol: float) -> float:
    """The value of the solver's matrix less what its excess over the bounds may be worth; the prices count fourfold."""
    off_target, *off_backgrounds = space.dual.errors_at(space.basis)
    own = _Spending.of(space, space.basis.T @ factor)
    if space.dual.relative_gap(point.value, own.value) > tol:
        return -np.inf
    excess = np.maximum(own.spent + np.array(off_backgrounds) * space.dual.per_bound - 1.0, 0.0)
    return own.value - off_target - 4.0 * float(point.prices @ excess)


@dataclass(frozen=True)
class _Spending:
    """Target variance and shares of the bounds that a matrix of trace 1 has, as computed."""

    value: float
    spent: Array

    @classmethod
    def of(cls, space: Bundle, factor: Array) -> _Spending:
        return cls(float(np.sum(factor * (space.a @ factor))), np.einsum("qr,jqr->j", factor, space.b @ factor))


def _within(space: Bundle, factor: Array) -> float:
    """The bound from what is at hand in a small space, which holds the factor."""
    off_target, *off_backgrounds = space.dual.errors_at(space.basis)
    room = np.array(off_backgrounds) * space.dual.per_bound
    own = _Spending.of(space, space.basis.T @ factor)
    over = own.spent + room > 1.0
    if not over.any():
        return own.value - off_target
    lower = max(_mixed(own, cheap, room) for cheap in _least_expensive(space, over))
    return (lower if np.isfinite(lower) else _mixed(own, _even(space), room)) - off_target


def _least_expensive(space: Bundle, over: Array) -> list[_Spending]:
    """Directions that spend little of the bounds in question: of their sum, and a mixture of the best for each."""
    of_sum = np.linalg.eigh(space.b[over].sum(axis=0))[1][:, :1]
    of_each = np.linalg.eigh(space.b[over])[1][:, :, 0].T / np.sqrt(over.sum())
    return [_Spending.of(space, of_sum), _Spending.of(space, of_each)]


def _even(space: Bundle) -> _Spending:
    """A mixture whose largest share of a bound is small: what is dear so far gets more weight in the next direction."""
    values, costs = [], []
    total = np.zeros(space.dual.m)
    for step in range(1, EVEN_STEPS + 1):
        weights = np.exp(EVEN_RATE * (total - total.max()))
        direction = np.linalg.eigh(np.tensordot(weights, space.b, axes=1))[1][:, :1]
        spending = _Spending.of(space, direction)
        values.append(spending.value)
        costs.append(spending.spent)
        total += spending.spent / np.sqrt(step)
    return _Spending(float(np.mean(values)), np.mean(costs, axis=0))


def _mixed(own: _Spending, cheap: _Spending, room: Array) -> float:
    """Target variance of the mixture that respects every bound with ``room``, or minus infinity."""
    over, slack = own.spent + room - 1.0, 1.0 - room - cheap.spent
    if np.any(slack[over > 0] <= 0):
        return -np.inf
    share = float(np.max(over / (over + slack), where=over > 0, initial=0.0)) * (1 + 1e-12)
    mixed = (1 - share) * own.spent + share * cheap.spent
    if share > 1 or np.any(mixed + room > 1.0 + 1e-15):
        return -np.inf
    return (1 - share) * own.value + share * cheap.value
