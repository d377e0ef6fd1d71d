"""What a source of rows promises: the contract between containers and representations.

A :class:`Source` holds all datasets of a problem, target first, in one kind of container. A representation asks it for one
of the things named in :class:`Offer`, and never looks at the container. Two of them are objects with protocols of their
own, :class:`RowPasses` and :class:`ColumnPasses`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from ..._types import Array
from ..contract.operator import CovarianceOperator
from ..contract.pencil import OperatorPencil, Pencil
from ..statistics.column_moments import ColumnMoments
from ..statistics.moments import Moments
from ..statistics.standard import Standard, is_finite


class Offer(StrEnum):
    """What a source may offer, and a representation may need."""

    MOMENTS = "moments"
    COLUMNS = "columns"
    ROWS = "rows"
    ARRAYS = "arrays"


class RowPasses(Protocol):
    """The rows of one dataset, for products with a few vectors.

    ``n`` is their number, ``longest`` the number of terms of the longest sum that no block divides (it says what rounding
    may cost). ``origin`` (p,) is subtracted from every row before a product; None is 0.
    """

    n: int
    longest: int
    origin: Array | None

    def product(self, vectors: Array, shift: Array) -> tuple[Array, Array]:
        """``X' (X V - shift)``, (p, k), and the column sums of ``X V - shift``, (k,); X stands for ``X - origin``."""


class ColumnPasses(Protocol):
    """The standardised rows Z (N, p) of all datasets, stacked, a few columns at a time.

    ``rows`` says where each dataset stands in the stack, ``width`` is the number of columns of the widest block.
    ``standards`` is known after :meth:`gram`, which must be called first; the others need it.
    """

    n_features: int
    rows: list[slice]
    width: int
    standards: tuple[Standard, ...]

    def gram(self) -> Array:
        """``Z Z'`` in float64."""

    def product(self, vectors: Array) -> Array:
        """``Z V`` for V of shape (p, k)."""

    def transposed_product(self, weights: Array) -> Array:
        """``(Z' W)'``, of shape (k, p), for W of shape (N, k)."""


class Source(ABC):
    """All datasets of a problem, target first."""

    #: What it can do; the methods behind the others raise.
    offers: ClassVar[frozenset[Offer]]
    #: How messages call what it holds.
    containers: ClassVar[str]
    #: A pass over the data, as a multiple of one over memory.
    pass_cost: ClassVar[float] = 1.0

    def __init__(self, arrays: Sequence[Any], labels: Sequence[str]):
        self.arrays, self.labels = list(arrays), labels
        self.n_rows: list[int] = [array.shape[0] for array in arrays]
        self.n_features: int = arrays[0].shape[1]

    @classmethod
    @abstractmethod
    def takes(cls, array: Any) -> bool:
        """Whether a dataset must be held this way."""

    @abstractmethod
    def raise_not_finite(self, i: int) -> None:
        """Raise the error that counts what is not finite in dataset ``i`` and says where the first is."""

    @property
    def n_stored(self) -> float | None:
        """Stored values of all datasets where one is sparse, else None."""
        return None

    def moments(self) -> list[Moments]:
        """Moments of each dataset, checked to be finite (``Offer.MOMENTS``)."""
        raise self._no(Offer.MOMENTS)

    def columns(self, *, center: bool, scale: bool | str) -> ColumnPasses:
        """Passes over blocks of columns (``Offer.COLUMNS``)."""
        raise self._no(Offer.COLUMNS)

    def rows(self) -> tuple[list[Any], list[ColumnMoments]]:
        """Passes over rows and column moments of each dataset, checked to be finite (``Offer.ROWS``)."""
        raise self._no(Offer.ROWS)

    def _no(self, offer: Offer) -> TypeError:
        """For a caller that did not look at ``offers``."""
        return TypeError(f"{self.containers} offer {', '.join(sorted(self.offers))}, but no {offer}")

    def pencil(self, operators: Sequence[CovarianceOperator]) -> Pencil:
        """Operators that were made of :meth:`rows`, with products that share a pass where that helps."""
        return OperatorPencil(operators, self.n_features)

    def checked(self, found: list[Any]) -> list[Any]:
        """Moments of each dataset, if all are finite."""
        for i, moments in enumerate(found):
            if not is_finite(moments):
                self.raise_not_finite(i)
        return found
