"""Which columns of a table are features, which one is the id, and what is said of the rest.

Promises: a column is a feature only if its type is a number; text that looks like numbers is reported with the value that
spoils it and is not converted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .._readable import listed
from .advice import Advice, Hint

ID_NAMES = {"index", "barcode", "sample", "name", "rowname", "rownames", "sampleid", "cellid"}
_ENDS_IN_ID = re.compile(r"(?:^|[_\W])(?i:ids?)$|[a-z]I[Dd]$")
_UNNAMED = re.compile(r"^(Unnamed: 0|)$")


def find_id(frame: Any) -> str | None:
    """The column that identifies rows: one without a name, one that is called so, or the first that is text; all unique."""
    for name in frame.columns[:1]:
        if _UNNAMED.match(str(name)) and _is_unique(frame[name]):
            return str(name)
    for name in frame.columns:
        if looks_like_id(str(name)) and _is_unique(frame[name]) and frame[name].dtype.kind != "f":
            return str(name)
    for name in frame.columns:
        if not is_number(frame[name]) and len(frame) > 1 and _is_unique(frame[name]):
            return str(name)
    return None


def looks_like_id(name: str) -> bool:
    """Whether people call an identifier so."""
    return name.lower().replace("_", "").replace(" ", "") in ID_NAMES or bool(_ENDS_IN_ID.search(name))


def is_number(column: Any) -> bool:
    """Whether the type of a pandas column is a real number; true and false are not."""
    from pandas.api import types

    return bool(
        types.is_numeric_dtype(column.dtype)
        and not types.is_bool_dtype(column.dtype)
        and not types.is_complex_dtype(column.dtype)
    )


def describe(frame: Any, features: Sequence[str], aside: Sequence[str]) -> list[str]:
    """What the user should know about the columns that were taken and those that were not."""
    notes: list[str] = []
    plain = []
    for name in aside:
        spoiled = _almost_numbers(frame[name])
        if spoiled is None:
            plain.append(repr(name))
        else:
            count, row, value = spoiled
            told = (
                f"column {name!r} is set aside: {count} of {len(frame)} values are not numbers, the first {value!r} in row "
                f"{row + 1}; correct them, or call them missing with "
            )
            notes.append(Advice(told, Hint("na", ([value],))))
    if plain:
        notes.append(f"column{'s' if len(plain) > 1 else ''} without numbers set aside: {listed(plain)}")
    notes += [
        Advice(f"column {name!r} is used as a feature; if it identifies something, add ", Hint("drop", ([name],)))
        for name in features
        if looks_like_id(name) and frame[name].dtype.kind in "iu"
    ]
    return notes


def _almost_numbers(column: Any) -> tuple[int, int, str] | None:
    """For text that is mostly numbers: how many values are not, and the first with its row."""
    import pandas

    if is_number(column) or column.dtype.kind in "bMm" or isinstance(column.dtype, pandas.CategoricalDtype):
        return None
    present = column.notna().to_numpy()
    bad = pandas.to_numeric(column.astype(object), errors="coerce").isna().to_numpy() & present
    if bad.sum() * 2 >= present.sum():
        return None
    if not bad.any():  # all are numbers, held as text
        bad = present
    row = int(bad.argmax())
    return int(bad.sum()), row, str(column.iloc[row])


def _is_unique(column: Any) -> bool:
    return bool(column.is_unique and column.notna().all())
