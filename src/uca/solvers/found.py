"""What a solver hands over: the prices it found and the best primal matrix it can prove feasible."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .._types import Array
from ..dual import DualPoint


class Stop(Enum):
    """Why a solver stopped."""

    DONE = "its own criterion is met"
    LIMIT = "the iteration limit is reached"
    TIME = "the time limit is reached"
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
