"""What a solver hands over: the prices it found and the best primal matrix it can prove feasible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .._types import Array
from ..dual import Dual, DualPoint
from .bundle import Bundle


class Stop(Enum):
    """Why a solver stopped."""

    DONE = "its own criterion is met"
    LIMIT = "the iteration limit is reached"
    NO_PROGRESS = "steps bring nothing more"


@dataclass(frozen=True)
class Found:
    """Outcome of a solver, before it is certified.

    ``factor`` (size, r) has ``V = factor @ factor.T`` feasible with target variance ``lower``, or is None.
    """

    point: DualPoint
    lower: float
    factor: Array | None
    n_iter: int
    stop: Stop


def found_among(dual: Dual, visited: Sequence[DualPoint], stop: Stop, n_iter: int | None = None) -> Found:
    """The best of the visited points, with a feasible matrix from the eigenvectors at the best few of them."""
    ranked = sorted(visited, key=lambda point: (point.value, point.kkt))
    best = ranked[0]
    bundle = Bundle(dual)
    bundle.extend(np.hstack([point.vectors for point in ranked[: dual.m + 4]]))
    box = 1e3 * max(float(best.prices.max(initial=0.0)), abs(best.value))
    small = bundle.solve(best.prices, probe=box, box=box)
    factor = None if small.factor is None else bundle.basis @ small.factor
    return Found(best, small.lower, factor, len(visited) if n_iter is None else n_iter, stop)
