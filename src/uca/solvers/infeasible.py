"""What to tell the user when no mixture of directions respects the bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Array
from ..dual import Dual
from ..operators.eigen.solver import Eigensolver
from .subspace import solve_subspace

LOOKED_AT = 10  # backgrounds, those of the largest prices first, of which one may be raised
KNOWN = 2e-7  # how well, relatively, the smallest attainable bound is known


class InfeasibleBoundsError(ValueError):
    """No direction, and no mixture of directions, respects the bounds."""


def explain_infeasible(
    dual: Dual, prices: Array, names: Sequence[str], powers: Array | None = None, seed: int = 0
) -> InfeasibleBoundsError | None:
    """An error that names a background whose bound is too small, and the smallest bound that is attainable.

    ``prices`` are those at which the value proves that no mixture respects the bounds. Figures are in the units of the user,
    ``powers`` of four from those of the problem (target first). None where every bound turns out to be attainable: then a
    value that seemed to prove the contrary was rounding.
    """
    units = np.ones(dual.m) if powers is None else np.ldexp(1.0, 2 * np.asarray(powers)[1:])
    bounds = [f"{bound:.6g}" for bound in dual.bounds * units]
    alone = [smallest_attainable(dual, j, others=False, seed=seed) for j in range(dual.m)]
    too_small = [j for j in range(dual.m) if alone[j] > dual.bounds[j] * (1 + KNOWN)]
    if too_small:
        told = "; ".join(
            f"background {names[j]!r} has bound {bounds[j]}, the smallest attainable is {_round_up(alone[j] * units[j])}"
            for j in too_small
        )
        return InfeasibleBoundsError(
            f"no direction satisfies the bounds: {told}. Raise the bound, or use bound='mean'."
        )
    together = np.full(dual.m, np.inf)
    for j in _in_conflict(prices):
        together[j] = smallest_attainable(dual, int(j), others=True, seed=seed)
    j = int(np.argmin(together / dual.bounds))
    if together[j] <= dual.bounds[j] * (1 + KNOWN):
        return None
    if not np.isfinite(together[j]):
        told = ", ".join(f"{names[j]!r} ({bounds[j]})" for j in range(dual.m))
        return InfeasibleBoundsError(
            f"no direction satisfies all bounds together, and raising one alone does not help: {told}. "
            "Raise several, or use bound='mean'."
        )
    return InfeasibleBoundsError(
        f"no direction satisfies all bounds together: background {names[j]!r} has bound {bounds[j]}, the "
        f"smallest attainable with the other bounds kept is {_round_up(together[j] * units[j])}. Raise it (or the others), "
        "or use bound='mean'."
    )


def _in_conflict(prices: Array) -> Array:
    """The backgrounds whose bounds are worth raising: those with a price. The proof holds whatever the other bounds are."""
    order = np.argsort(-prices, kind="stable")
    return order[prices[order] > 0][:LOOKED_AT]


def smallest_attainable(dual: Dual, j: int, *, others: bool, seed: int = 0) -> float:
    """``min tr(B_j V)`` over mixtures V, with or without the bounds on the other backgrounds; inf where there is none.

    It is the UCA problem with target ``-B_j``; its lower bound belongs to a feasible V, so the figure is attainable.
    """
    rest = [i for i in range(dual.m) if i != j and others]
    magnitude = dual.pencil.backgrounds[j].magnitude
    floor = -2.0 * dual.pencil.size * magnitude if magnitude > 0 else -np.inf
    eigen = Eigensolver(dual.pencil.minimising(j, rest), seed)
    problem = Dual(eigen, dual.bounds[rest], floor=floor)
    return -solve_subspace(problem, tol=1e-7, max_iter=100).lower


def _round_up(value: float) -> str:
    """Six digits, rounded up, so that the figure itself is attainable when typed in."""
    if value <= 0:
        return "0"
    unit = 10.0 ** (np.floor(np.log10(value)) - 5)
    return f"{np.ceil(value / unit) * unit:.6g}"
