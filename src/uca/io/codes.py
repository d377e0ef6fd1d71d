"""Columns of numbers that may be codes: few different whole numbers, or numbers that count the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._readable import listed
from .._types import Array
from .advice import Advice, Hint
from .columns import looks_like_id

MOST_CODES = 10  # different whole numbers that may be codes
FEWEST_ROWS = 12  # below, few values say nothing
FIRST_ROWS = 1000  # looked at before whole columns are


def code_notes(values: Any, features: Sequence[str]) -> list[str]:
    """What is said of features that may be codes; nothing where most are whole numbers, as counts and grades are."""
    few, counting, named = find_codes(values, features)
    notes: list[str] = []
    for columns, told in ((few, "whole numbers with few different values"), (counting, "numbers that count the rows")):
        if columns:
            names = [features[i] for i in columns]
            one = len(names) == 1
            text = (
                f"column{'' if one else 's'} {listed([_described(values, i, features) for i in columns])} "
                f"{'holds' if one else 'hold'} {told} and {'is a feature' if one else 'are features'}; if "
                f"{'it is a code' if one else 'they are codes'}, add "
            )
            notes.append(Advice(text, Hint("drop", (names,))))
    notes += [
        Advice(f"column {features[i]!r} is used as a feature; if it identifies something, add ", _drop(features[i]))
        for i in named
    ]
    return notes


def _drop(name: str) -> Hint:
    return Hint("drop", ([name],))


def _described(values: Any, i: int, features: Sequence[str]) -> str:
    """The name of a column with its values, as in 'Cage' (1 to 6)."""
    column = values[:, i][np.isfinite(values[:, i])]
    return f"{features[i]!r} ({column.min():g} to {column.max():g})"


def find_codes(values: Any, features: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
    """Features with few whole numbers, features that count the rows, and features that are called like an identifier."""
    whole = _whole_columns(values)
    named = [i for i in whole if looks_like_id(features[i])]
    if len(whole) * 2 > len(features) or len(values) < FEWEST_ROWS:
        return [], [], named
    rest = [i for i in whole if i not in set(named)]
    counting = [i for i in rest if _counts(values[:, i])]
    few = [i for i in rest if i not in set(counting) and _is_few(values[:, i])]
    return few, counting, named


def _whole_columns(values: Any) -> list[int]:
    """Columns of which all that is known is whole; the first rows rule out most of the others."""
    likely = np.flatnonzero(_is_whole(values[:FIRST_ROWS]))
    return [int(i) for i in likely if _is_whole(values[:, [i]])[0]]


def _is_whole(values: Array) -> Array:
    with np.errstate(invalid="ignore"):
        whole = np.isnan(values) | (np.floor(values) == values)
    return np.asarray(whole.all(axis=0) & ~np.isnan(values).all(axis=0))


def _counts(column: Array) -> bool:
    """Each row one more than the row before."""
    return bool(np.all(np.diff(column) == 1))


def _is_few(column: Array) -> bool:
    """Few different values, each several times on average; a column that does not vary is no code."""
    different = np.unique(column[:FIRST_ROWS])
    if len(different) > MOST_CODES + 1:
        return False
    known = np.unique(column[np.isfinite(column)])
    return 1 < len(known) <= min(MOST_CODES, len(column) // 4)
