"""Tables with features as rows: turned, and recognised by names that other tables have as columns.

Target and backgrounds are different samples of the same features, so names that tables share are those of features.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._labels import as_text
from .._readable import check_unique, listed
from .._types import Array
from .advice import Hint, TableError, joined
from .cells import KINDS, NotNumbers
from .columns import are_numbers
from .formats import Raw

TRANSPOSE = Hint("transpose", (True,))


def turn(raw: Raw) -> Raw:
    """Rows become columns: the first column holds the names of the features, names of columns are ids."""
    if raw.frame is None:
        ids = None if raw.features is None else np.array(raw.features, dtype=object)
        features = None if raw.ids is None else tuple(map(str, raw.ids))
        turned = Raw(raw.source, values=raw.values.T, features=features, ids=ids, notes=raw.notes)
    else:
        turned = replace(raw, frame=_turned(raw.frame, raw.decimal), lines=None, line_word="column")
    note = f"features are its rows: it was transposed, {_shape(turned)}"
    return replace(turned, notes=(*turned.notes, note))


def _shape(raw: Raw) -> str:
    rows, columns = raw.values.shape if raw.frame is None else (len(raw.frame), len(raw.frame.columns) - 1)
    return f"and has {rows} rows and {columns} columns"


def _turned(frame: Any, decimal: str) -> Any:
    import pandas

    frame = _with_plain_index(frame)
    names = as_text(frame.iloc[:, 0]).tolist()
    check_unique(names, "the first column, which names the features,")
    body = frame.iloc[:, 1:]
    out = pandas.DataFrame(body.to_numpy().T, columns=names)
    if not all(are_numbers(out)):
        out = out.apply(_as_numbers, decimal=decimal)
    out.insert(0, "id" if "id" not in names else "", list(map(str, body.columns)))
    return out


def _with_plain_index(frame: Any) -> Any:
    return frame if type(frame.index).__name__ == "RangeIndex" else frame.reset_index()


def _as_numbers(column: Any, decimal: str) -> Any:
    """A column as numbers, to the last digit, where all that is known of it is one: rows of text had made text of all."""
    import pandas

    known = column.notna()
    texts = column[known].map(lambda cell: cell.strip().replace(decimal, ".") if isinstance(cell, str) else repr(cell))
    if not texts.map(lambda text: KINDS["number"].match(text) is not None).all():
        return column
    numbers = np.full(len(column), np.nan)
    numbers[known.to_numpy()] = [float(text) for text in texts]
    return pandas.Series(numbers, index=column.index)


def turn_where_needed(raws: Sequence[Raw], features: Collection[str] | None = None) -> list[Raw]:
    """Turn the tables whose rows are features: those whose first column, not their columns, has names that others have.

    ``features`` are names that are known, those of a model. Where names decide nothing, every table is turned.
    """
    rows, columns = [row_names(raw) for raw in raws], [_column_names(raw) for raw in raws]
    out = []
    for i, raw in enumerate(raws):
        known = set(features or ())
        for j in range(len(raws)):
            known |= (rows[j] | columns[j]) if j != i else set()
        as_rows, as_columns = len(rows[i] & known), len(columns[i] & known)
        out.append(raw if as_columns > as_rows else turn(raw))
    return out


def row_names(raw: Raw) -> set[str]:
    """What may be the names of rows: the first column of a table, or the ids."""
    if raw.frame is None:
        return set() if raw.ids is None else set(map(str, raw.ids))
    return set(as_text(_with_plain_index(raw.frame).iloc[:, 0]).tolist())


def _column_names(raw: Raw) -> set[str]:
    return set(raw.features or ()) if raw.frame is None else set(map(str, raw.frame.columns[1:]))


def looks_turned(features: Collection[str], ids: Array | None, like: Collection[str], like_ids: Array | None) -> bool:
    """Whether names say that one of two tables, or both, have features as rows.

    The names of one table's columns are ids of the other, or both have the same ids; and columns have little in common.
    """
    columns, others = set(features), set(like)
    rows = set() if ids is None else set(map(str, ids))
    other_rows = set() if like_ids is None else set(map(str, like_ids))
    shared = max(len(rows & others), len(columns & other_rows), len(rows & other_rows))
    return shared >= 2 and shared > len(columns & others)


def no_numbers(source: str, notes: Sequence[str], spoiled: Mapping[str, NotNumbers]) -> TableError:
    """What is said of a table without a column of numbers: words in the same rows of all columns hint at turned tables."""
    told = f"{source} has no column of numbers: "
    hints = joined(hint for found in spoiled.values() for hint in found.remedy)
    places = {tuple(sorted(line for lines in found.rows.values() for line in lines)) for found in spoiled.values()}
    if len(spoiled) < 2 or len(places) > 1 or any(set(found.kinds) != {"word"} for found in spoiled.values()):
        reason = [part for note in notes for part in ("; ", note)][1:] or ["it has no columns"]
        return TableError(told, *reason, remedy=() if any(hint.parameter == "drop" for hint in hints) else hints)
    (rows,) = places
    words = list(dict.fromkeys(value for found in spoiled.values() for value in found.rows))
    line = next(iter(spoiled.values())).line_word
    text = (
        f"{len(spoiled)} columns have text in {line}{'s' if len(rows) > 1 else ''} {listed(list(map(str, rows)), 5)} "
        f"({listed(list(map(repr, words)), 3)}). If features are rows and not columns, add "
    )
    if len(words) > 1 or not hints:
        return TableError(told, text, TRANSPOSE, remedy=(TRANSPOSE,))
    return TableError(told, text, TRANSPOSE, "; if the word means missing, add ", *hints, remedy=hints)
