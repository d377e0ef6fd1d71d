"""Data whose squares overflow or vanish, in moderate units.

Where they do (values below 1e-60 or above 1e60 or so, told by :class:`~uca._validation.OutOfRangeError`), the data itself is
divided by powers of two before it is represented, which changes no digit; that takes a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ..._types import Array
from ..._validation import OutOfRangeError
from ..contract.units import NO_FLOAT, ScaledPencil
from ..statistics.moments import Moments
from .representation import Representation

LOST = 1e-303  # squares below have lost digits that matter: the smallest float64 with all of them is 2e-308

LEAST, MOST = 1e-60, 1e60  # sizes between which squares of squares keep their digits
NOTHING = -5000  # the power of a column of zeros
LARGEST_POWER = 1018  # of two, for variances: float64 goes from -1022 to 1023


@dataclass(frozen=True)
class Moderate:
    """Tables whose columns were divided by ``2 ** columns`` (one array a table).

    Standardising takes the powers of single columns out again. What is left are the powers of whole datasets: a
    covariance in the units of the user is ``4 ** datasets[s]`` times that of the table here.
    """

    tables: tuple[Any, ...]
    columns: tuple[Array, ...]
    datasets: tuple[int, ...]

    def restore(self, held: Representation, scale: bool | str) -> Representation:
        """The representation of the tables in the user's units."""
        standards = [s.in_units(columns) for s, columns in zip(held.standards, self.columns, strict=True)]
        if scale == "target":
            standards = [replace(standard, deviation=standards[0].deviation) for standard in standards]
        powers = 2 * np.array(self.datasets)
        if np.any(np.abs(powers) > LARGEST_POWER):
            raise OverflowError(NO_FLOAT)
        pencil = ScaledPencil(held.pencil, np.ldexp(1.0, powers))
        again = held.sharper
        restored = None if again is None else lambda: self.restore(again(), scale)
        return replace(held, pencil=pencil, standards=tuple(standards), sharper=restored)


def in_moderate_units(
    make: Callable[[Sequence[Any]], Representation], tables: Sequence[Any], scale: bool | str
) -> Representation:
    """``make(tables)``; where their units are out of range, the same by way of moderate ones."""
    try:
        return make(tables)
    except OutOfRangeError:
        moderate = to_moderate(tables, scale)
        if moderate is None:
            raise
    return moderate.restore(make(moderate.tables), scale)


def to_moderate(tables: Sequence[Any], scale: bool | str) -> Moderate | None:
    """Tables (target first) in moderate units; None for containers that this module does not rescale."""
    sizes = [size for table in tables if (size := _largest(table)) is not None and np.isfinite(size).all()]
    if len(sizes) < len(tables):
        return None
    powers = [np.frexp(size)[1].astype(int) for size in sizes]
    datasets = [0] * len(tables)
    if scale is not True:
        own = powers[0] if scale == "target" else np.zeros_like(powers[0])
        # The rest of the power of each dataset: that of its largest column.
        left = [power - own for power in powers]
        datasets = [int(np.max(part, where=size > 0, initial=NOTHING)) for part, size in zip(left, sizes, strict=True)]
        datasets = [0 if power == NOTHING or (scale and i == 0) else power for i, power in enumerate(datasets)]
        powers = [own + power for power in datasets]
    scaled = tuple(divided(table, power) for table, power in zip(tables, powers, strict=True))
    return Moderate(scaled, tuple(powers), tuple(datasets))


def like_powers(tables: Sequence[Any], *, each_dataset: bool, each_feature: bool) -> list[Array] | None:
    """Powers of two that bring rows in memory to moderate units, an array a table; None where they are in such units.

    One power serves all tables, or all features, unless each is to have its own.
    """
    sizes = np.stack([size for table in tables if (size := _largest(table)) is not None])
    there = sizes > 0
    if not np.any(there & ((sizes < LEAST) | (sizes > MOST))):
        return None
    powers = np.where(there, np.frexp(sizes)[1], NOTHING)
    for axis, own in enumerate((each_dataset, each_feature)):
        if not own:
            powers = np.broadcast_to(powers.max(axis=axis, keepdims=True), powers.shape)
    return list(np.where(powers == NOTHING, 0, powers))


def _largest(table: Any) -> Array | None:
    """Largest absolute value of each column, or what bounds it."""
    if isinstance(table, Moments):
        squares = table.scatter.diagonal()
        if np.any((squares > 0) & (squares < LOST)):  # digits are gone, and the rows with them
            return None
        return np.sqrt(np.maximum(table.scatter.diagonal(), 0.0)) + np.abs(table.mean)
    if sparse.issparse(table):
        return np.asarray(abs(table).max(axis=0).toarray()).ravel().astype(float)
    if isinstance(table, np.ndarray):
        return np.maximum(table.max(axis=0), -table.min(axis=0)).astype(float)
    return None


def divided(table: Any, powers: Array) -> Any:
    """The table with its columns divided by powers of two."""
    if isinstance(table, Moments):
        return table.in_units(np.ldexp(1.0, -powers))
    if sparse.issparse(table):
        table = table.tocsc().astype(float)
        table.data = np.ldexp(table.data, -np.repeat(powers, np.diff(table.indptr)))
        return table
    return np.ldexp(np.asarray(table, dtype=float), -powers)
