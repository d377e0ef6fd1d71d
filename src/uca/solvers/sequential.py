"""Every component within every bound: solve, remove the direction, solve again in the orthogonal complement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._deadline import NEVER, Deadline
from .._types import Array
from ..dual import DualResult
from ..operators.contract.pencil import embed
from ..operators.eigen.solver import Eigensolver
from .infeasible import InfeasibleBoundsError
from .solve import solve

ROUNDING = 1e-12  # of later values, relative to the first


def solve_sequential(
    eigen: Eigensolver,
    bounds: Array,
    *,
    k: int,
    each: Callable[..., DualResult] = solve,
    deadline: Deadline = NEVER,
    **options: Any,
) -> list[DualResult]:
    """``k`` results, each with one vector (in the coordinates of the pencil) that respects the bounds where one can.

    ``each`` solves one problem, as :func:`~.solve.solve` does. What is left of the time is shared by those still to come.
    """
    results: list[DualResult] = []
    reflectors: list[Array] = []
    space = eigen
    for i in range(k):
        try:
            result = each(space, bounds, k=1, deadline=deadline.shared(k - i), **options)
        except InfeasibleBoundsError as error:
            if i == 0:
                raise
            raise InfeasibleBoundsError(
                f"component {i + 1} cannot respect the bounds orthogonally to the first {i}: {error} "
                f"Or lower n_components to {i}, or use components='joint'."
            ) from None
        options["negligible"] = max(options.get("negligible", 0.0), ROUNDING * abs(result.value))
        vector = result.vectors[:, :1]
        if i + 1 < k:
            complement, reflector = space.pencil.complement(vector[:, 0])
            space = Eigensolver(complement, options.get("seed", 0))
        for earlier in reversed(reflectors):
            vector = embed(vector, earlier)
        if i + 1 < k:
            reflectors.append(reflector)
        results.append(replace(result, vectors=np.ascontiguousarray(vector)))
    return results
