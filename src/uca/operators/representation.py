"""What a representation hands to the layers above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Array
from .base import Pencil


def stacked(n_rows: Sequence[int]) -> list[slice]:
    """Where the rows of each dataset stand in a stack of all, target first."""
    stops = np.cumsum(n_rows).tolist()
    return [slice(stop - n, stop) for stop, n in zip(stops, n_rows, strict=True)]


def as_rows(vectors: Array) -> Array:
    """The lift of representations whose working space is feature space: components are the vectors themselves."""
    return np.ascontiguousarray(vectors.T)


@dataclass(frozen=True)
class Representation:
    """Data as a pencil on a working space, and the way back to features.

    Attributes
    ----------
    name : str
        As :func:`uca.operators.build.build` calls it.
    pencil : Pencil
        Standardised covariances on the working space.
    lift : callable
        Vectors of the working space, (size, k), to components, (k, p); linear, and it keeps lengths and angles.
    mean, scale : array of shape (p,)
        What the target was centred and scaled by; scale is 0 for a feature that is constant in it.
    n_constant : tuple of int
        For the target and each background: how many features were constant and therefore set to 0.
    sharper : callable or None
        Makes a representation of the same data that loses less to rounding and costs more; None where there is none.
    """

    name: str
    pencil: Pencil
    lift: Callable[[Array], Array]
    mean: Array
    scale: Array
    n_constant: tuple[int, ...]
    sharper: Callable[[], Representation] | None = None
