"""The one entry to the solvers: choose, run, certify."""

from __future__ import annotations

from collections.abc import Sequence

from .._progress import Callback
from .._types import Array
from ..dual import Dual, DualResult
from ..operators.base import Pencil
from .bisection import solve_bisection
from .conclude import conclude
from .coordinate import solve_coordinate
from .infeasible import explain_infeasible
from .lbfgs import solve_lbfgs
from .root import solve_root
from .subspace import solve_subspace

SOLVERS = {
    "subspace": solve_subspace,
    "root": solve_root,
    "lbfgs": solve_lbfgs,
    "coordinate": solve_coordinate,
    "bisection": solve_bisection,
}


def choose_solver(n_backgrounds: int) -> str:
    """The solver for a number of backgrounds: ``subspace``, always.

    For one background it needs fewer eigen-solves than Brent's root finding (5-6 against 13-18 on the mouse data), for
    several it is the only one here that converges at a kink.
    """
    return "subspace"


def solve(
    pencil: Pencil,
    bounds: Array,
    *,
    k: int,
    names: Sequence[str],
    solver: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 100,
    floor: float = 0.0,
    seed: int = 0,
    unit: float = 0.0,
    powers: Array | None = None,
    callback: Callback | None = None,
) -> DualResult:
    """Solve the dual of a pencil and certify the result. Arguments are taken as valid.

    ``floor`` is a value that no feasible mixture falls below: 0 for a covariance, less for an indefinite target. Values
    below ``unit`` are rounding. ``powers`` of four lead from the units of the pencil to those of the user, for messages.
    """
    dual = Dual(pencil, bounds, floor=floor, seed=seed, unit=unit)
    name = choose_solver(dual.m) if solver == "auto" else solver
    found = SOLVERS[name](dual, tol=tol, max_iter=max_iter, callback=callback)
    if dual.proves_infeasible(found.point) and (error := explain_infeasible(dual, names, powers)) is not None:
        raise error
    return conclude(dual, found, solver=name, k=k, tol=tol, max_iter=max_iter)
