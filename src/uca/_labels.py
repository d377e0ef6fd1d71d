"""What labels of rows are: one entry a row, which tell groups apart or are a scale.

One rule, for figures and for reports. An entry that is missing (see :mod:`uca._missing`) belongs to no group. Numbers are a
scale if they have more than 20 different values, or more than 8 where some of them are fractions; true and false are no
numbers. All else is groups, and groups stand in order: numbers by size, text by letter, several kinds by their text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._missing import entries, is_missing, where_missing
from ._types import Array

MOST_WHOLE, MOST_FRACTIONS = 20, 8  # different numbers that still are groups


@dataclass(frozen=True, eq=False)
class CheckedLabels:
    """Checked labels.

    Attributes
    ----------
    name : str or None
        What the labels are called, where they came with a name.
    levels : list of str
        Groups in order; none for a scale.
    codes : array of shape (n,)
        The place of each row's group in ``levels``; -1 where the label is missing, and for a scale.
    values : array of shape (n,), or None
        The numbers of a scale, NaN where they are missing or infinite; None for groups.
    """

    name: str | None
    levels: list[str]
    codes: Array
    values: Array | None = None


def check_labels(labels: Any, n: int) -> CheckedLabels:
    """CheckedLabels of ``n`` rows as groups or as a scale."""
    given = one_each("labels", labels, n)
    present = ~where_missing(given)
    name = getattr(labels, "name", None)
    name = None if name is None else str(name)
    if _is_scale(given[present]):
        values = np.full(n, np.nan)
        values[present] = given[present].astype(float)
        return CheckedLabels(name, [], np.full(n, -1), np.where(np.isfinite(values), values, np.nan))
    levels = _in_order(given[present])
    place = {level: i for i, level in enumerate(levels)}
    codes = [place[text] if ok else -1 for text, ok in zip(as_text(given), present, strict=True)]
    return CheckedLabels(name, levels, np.array(codes, dtype=np.intp))


def one_each(name: str, values: Any, n: int, of: str = "row") -> Array:
    """A one-dimensional sequence of ``n`` entries, as objects; ``name`` and ``of`` are what an error calls them."""
    array = entries(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}")
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries, but there are {n} {of}s: give one for each {of}")
    return array


def as_text(values: Any) -> Array:
    """Entries as text, one object each; missing ones are empty and whole numbers have no point."""
    return np.array(["" if is_missing(value) else _plain(value) for value in entries(values)], dtype=object)


def _plain(value: Any) -> str:
    return str(int(value)) if isinstance(value, (float, np.floating)) and float(value).is_integer() else str(value)


def _is_scale(present: Array) -> bool:
    if not all(isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in present):
        return False
    different = {float(value) for value in present if np.isfinite(value)}
    return len(different) > (MOST_WHOLE if all(value.is_integer() for value in different) else MOST_FRACTIONS)


def _in_order(present: Array) -> list[str]:
    """Different entries as text, sorted as what they are."""
    try:
        values = sorted(set(present))
    except TypeError:  # of several kinds
        values = sorted(set(present), key=str)
    return list(dict.fromkeys(as_text(values)))
