"""Types that every layer shares: arrays, and what users hand over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike, NDArray

#: A numpy array; shapes are given in docstrings.
Array: TypeAlias = NDArray[Any]


class Shaped(Protocol):
    """A container of rows and columns: a sparse matrix, a table of pandas or polars, a dask array, a tensor, an AnnData."""

    @property
    def shape(self) -> Any:
        """Number of rows, number of features."""


#: Rows of a dataset, (n, p): an array, a list of lists, a table, a sparse matrix, a mapped file, a dask array, a tensor.
Rows: TypeAlias = ArrayLike | Shaped
#: One background, several in a list or tuple, or several by name; None is none.
Backgrounds: TypeAlias = Rows | Sequence[Rows] | Mapping[str, Rows] | None
#: One label, group or subject for each row: text, numbers or a column of a table; missing ones are allowed where it says so.
Labels: TypeAlias = ArrayLike | Sequence[Any] | Shaped
#: Which rows belong together: one sequence for each dataset (a list, target first, or a dict by name), or for all rows.
Groups: TypeAlias = Labels | Sequence[Labels | None] | Mapping[str, Labels | None] | None
