"""What a representation hands to the layers above, and how it says what it is.

A representation is one file: a function ``build`` and a :class:`Kind`, which one line in :mod:`~.build` registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._types import Array
from ..contract.pencil import Pencil
from ..eigen.direct import DIRECT_MAX
from ..gaps.law import NormalLaw
from ..sources.source import Offer, Source
from ..statistics.standard import Standard


def as_rows(vectors: Array) -> Array:
    """The lift of representations whose working space is feature space: components are the vectors themselves."""
    return np.ascontiguousarray(vectors.T)


def fix_signs(components: Array) -> Array:
    """Flip rows so that the largest absolute entry of each is positive."""
    flipped = -components.min(axis=1) > components.max(axis=1)
    out = components.copy()
    out[flipped] *= -1
    return out


@dataclass(frozen=True)
class Representation:
    """Data as a pencil on a working space, and the way back to features.

    Attributes
    ----------
    name : str
        As the registry calls it.
    pencil : Pencil
        Standardised covariances on the working space.
    standards : tuple of Standard
        What the target and each background were centred and scaled by.
    lift : callable
        Vectors of the working space, (size, k), to components, (k, p); linear, and it keeps lengths and angles.
    sharper : callable or None
        Makes a representation of the same data that loses less to rounding and costs more; None where there is none.
    estimated : bool
        Whether a covariance was estimated, because values are missing.
    law : NormalLaw or None
        By which the target's gaps are filled; None where it has none.
    """

    name: str
    pencil: Pencil
    standards: tuple[Standard, ...]
    lift: Callable[[Array], Array] = as_rows
    sharper: Callable[[], Representation] | None = None
    estimated: bool = False
    law: NormalLaw | None = None

    def components(self, vectors: Array) -> Array:
        """Vectors of the working space as components, (k, p), with the largest absolute entry of each positive."""
        return fix_signs(self.lift(vectors))


@dataclass(frozen=True)
class How:
    """What is asked of a representation: centring, scaling, and coordinates for directions without variance."""

    center: bool
    scale: bool | str
    n_empty: int = 0


@dataclass(frozen=True)
class Size:
    """What costs depend on: rows of each dataset (target first), features, stored values if sparse, speed of passes."""

    n_rows: tuple[int, ...]
    p: int
    n_stored: float | None = None
    pass_cost: float = 1.0
    memory_bound: float = 8.0  # one multiplication in a product with a few vectors, in those of a large product

    @property
    def total(self) -> int:
        """Rows of all datasets."""
        return sum(self.n_rows)

    def eigen_cost(self, order: int) -> float:
        """The eigen-solves of a fit with one matrix of this order for each dataset."""
        if order <= DIRECT_MAX:
            return DIRECT_SOLVES * DIRECT * 4 / 3 * order**3
        return self.memory_bound * PRODUCTS * len(self.n_rows) * order**2 + order**3 / 3


DIRECT_SOLVES = 3  # eigen-solves of a fit where they are direct: two, and linear solves that cost as much as one
DIRECT = 1.4  # one multiplication in a direct eigen-solve, in those of a large product
PRODUCTS = 160  # vectors that are multiplied in a fit where eigen-solves are not direct: 40 passes with 4


@dataclass(frozen=True)
class Kind:
    """A way to hold data: how to build it, what it needs of a source, what it costs.

    Attributes
    ----------
    name : str
    build : callable
        ``(source, how) -> Representation``.
    needs : Offer
        What a source must offer.
    cost : callable or None
        Multiplications of a large dense product that a fit takes; None for a form that "auto" never takes.
    proven : bool
        Whether upper bounds are proven.
    square : bool
        Whether a p x p matrix for each dataset must fit in memory.
    """

    name: str
    build: Callable[[Source, How], Representation]
    needs: Offer
    cost: Callable[[Size], float] | None
    proven: bool = True
    square: bool = False
