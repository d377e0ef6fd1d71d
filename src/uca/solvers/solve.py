"""The one entry to the solvers: choose, run, certify."""

from __future__ import annotations

from collections.abc import Sequence

from .._deadline import NEVER, Deadline
from .._progress import Callback
from .._types import Array
from ..dual import Dual, DualResult
from ..operators.eigen.solver import Eigensolver
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


SMALL = 64  # features up to which root finding is the faster one for one background, where a loose answer is enough
LOOSE_TOL = 1e-4  # tolerance from which it is


def choose_solver(n_backgrounds: int, n_features: int, tol: float) -> str:
    """The solver that "auto" stands for: ``subspace``, but for small and loose problems with one background.

    For one background it needs fewer eigen-solves than Brent's root finding (5-6 against 13-18 on the mouse data) to full
    accuracy, for several it is the only one here that converges at a kink. Where eigen-solves cost next to nothing and few
    digits are asked for, as in the refits of a test, root finding has less to do beside them.
    """
    return "root" if n_backgrounds == 1 and n_features <= SMALL and tol >= LOOSE_TOL else "subspace"


def solve(
    eigen: Eigensolver,
    bounds: Array,
    *,
    k: int,
    names: Sequence[str],
    solver: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 100,
    floor: float = 0.0,
    seed: int = 0,
    negligible: float = 0.0,
    powers: Array | None = None,
    callback: Callback | None = None,
    deadline: Deadline = NEVER,
) -> DualResult:
    """Solve the dual of the pencil behind ``eigen`` and certify the result. Arguments are taken as valid.

    ``floor`` is a value that no feasible mixture falls below: 0 for a covariance, less for an indefinite target. Values
    below ``negligible`` are rounding. ``powers`` of four lead from the units of the pencil to the user's, for messages.
    Past the ``deadline``, which is looked at between eigen-solves, what was found until then is certified.
    """
    dual = Dual(eigen, bounds, floor=floor, negligible=negligible, deadline=deadline)
    name = choose_solver(dual.m, dual.pencil.n_features, tol) if solver == "auto" else solver
    found = SOLVERS[name](dual, tol=tol, max_iter=max_iter, callback=callback)
    if (
        dual.proves_infeasible(found.point)
        and (error := explain_infeasible(dual, found.point.prices, names, powers, seed)) is not None
    ):
        raise error
    return conclude(dual, found, solver=name, k=k, tol=tol)
