"""Which columns of a table are features, which one is the id, and what is said of the rest.

Promises: a column is a feature only if its type is a number; text that looks like numbers is reported with the values that
spoil it and is not converted. The time is linear in the number of columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .._readable import listed
from .advice import Advice
from .cells import NotNumbers, find_not_numbers

ID_NAMES = {"index", "barcode", "sample", "name", "rowname", "rownames", "sampleid", "cellid"}
MOST_EXAMINED = 200  # columns of text that are examined for numbers
MOST_TOLD = 5  # of them that have a note of their own
_ENDS_IN_ID = re.compile(r"(?:^|[_\W])(?i:ids?)$|[a-z]I[Dd]$")
_FRACTION = r"\s*[+-]?\d*[.,]\d+(?:[eE][+-]?\d+)?\s*"
_UNNAMED = re.compile(r"^(Unnamed: 0|)$")


def find_id(frame: Any) -> str | None:
    """The column that identifies rows: one without a name, one that is called so, or the first of text; all unique."""
    for name in frame.columns[:1]:
        if _UNNAMED.match(str(name)) and _is_unique(frame[name]):
            return str(name)
    for name in frame.columns:
        if looks_like_id(str(name)) and _is_unique(frame[name]) and frame[name].dtype.kind != "f":
            return str(name)
    for name, number in zip(frame.columns, are_numbers(frame), strict=True):
        if not number and len(frame) > 1 and _is_unique(frame[name]) and not _is_spoiled(frame[name]):
            return str(name)
    return None


def _is_spoiled(column: Any) -> bool:
    """Whether text is a measurement with values that are not numbers, which may all differ as ids do."""
    found = find_not_numbers(column, "", range(len(column)))
    return found is not None and (set(found.kinds) != {"number"} or _are_fractions(column))


def _are_fractions(column: Any) -> bool:
    """Whether most entries are decimal fractions, which nobody takes for names of rows."""
    return bool(column.astype(str).str.fullmatch(_FRACTION).mean() > 0.5)


def looks_like_id(name: str) -> bool:
    """Whether people call an identifier so."""
    return name.lower().replace("_", "").replace(" ", "") in ID_NAMES or bool(_ENDS_IN_ID.search(name))


def are_numbers(frame: Any) -> list[bool]:
    """Whether each column of a pandas table is of a type of real numbers; true and false are not."""
    from pandas.api import types

    known: dict[Any, bool] = {}
    for dtype in frame.dtypes:
        if dtype not in known:
            known[dtype] = bool(
                types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype) and not types.is_complex_dtype(dtype)
            )
    return [known[dtype] for dtype in frame.dtypes]


def examine(
    frame: Any, aside: Sequence[str], lines: Sequence[int], line_word: str = "row", decimal: str = "."
) -> tuple[dict[str, NotNumbers], list[str]]:
    """Columns of text that are almost numbers, and the names of those that are plain text."""
    spoiled: dict[str, NotNumbers] = {}
    for name in aside[:MOST_EXAMINED]:
        found = find_not_numbers(frame[name], name, lines, line_word, decimal)
        if found is not None:
            spoiled[name] = found
    return spoiled, [name for name in aside if name not in spoiled]


def describe(spoiled: dict[str, NotNumbers], plain: Sequence[str]) -> list[str]:
    """What the user should know about the columns that were not taken."""
    notes: list[str] = [
        Advice(f"column {name!r} is set aside: {found.told}. ", found.advice)
        for name, found in list(spoiled.items())[:MOST_TOLD]
    ]
    more = list(spoiled)[MOST_TOLD:]
    if more:
        notes.append(f"also set aside, for values that are not numbers: {listed(list(map(repr, more)))}")
    if plain:
        word = "column" if len(plain) == 1 else "columns"
        notes.append(f"{word} without numbers set aside: {listed(list(map(repr, plain)))}")
    return notes


def _is_unique(column: Any) -> bool:
    try:
        return bool(column.is_unique and column.notna().all())
    except TypeError:  # lists and the like, which are no ids
        return False
