"""Several tables with the same features: matched by name, with errors that say what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._readable import listed, some
from .._types import Array
from .advice import Hint, TableError, joined
from .cells import NotNumbers
from .table import Table, check_features
from .turning import TRANSPOSE, looks_turned

MOST_TOLD = 3  # columns of which values are named


def set_empty_aside(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables without features that are empty and nowhere numbers; one that is empty in some tables only stays."""
    empty = {name: _empty_features(table) for name, table in tables.items()}
    if not any(empty.values()):
        return dict(tables)
    numbers = {
        feature for name, table in tables.items() for feature in table.features or () if feature not in empty[name]
    }
    return {name: _without(table, empty[name] - numbers) for name, table in tables.items()}


def _empty_features(table: Table) -> set[str]:
    if table.features is None or table.is_sparse or table.values.dtype.kind != "f" or len(table) == 0:
        return set()
    likely = np.flatnonzero(np.isnan(table.values[0]))  # the first row rules out most
    return {table.features[i] for i in likely if np.isnan(table.values[:, i]).all()}


def _without(table: Table, names: set[str]) -> Table:
    if not names or table.features is None:
        return table
    kept = [i for i, name in enumerate(table.features) if name not in names]
    if not kept:
        raise TableError(f"{table.source} has no column of numbers: {some(sorted(names))} without any value")
    left = [repr(name) for name in table.features if name in names]
    note = f"column{'s' if len(left) > 1 else ''} without any value left out: {listed(left)}"
    blank = {name: np.full(len(table), "", dtype=object) for name in names}
    return replace(table.take(kept), columns={**table.columns, **blank}, notes=(*table.notes, note))


def match_features(table: Table, like: Table, *, extra: bool = False) -> Table:
    """The table with the features of another, in its order.

    A feature that is missing, or one too many, is an error that names it; with ``extra``, those too many are left out.
    Without names on both sides, features are matched by position.
    """
    if like.features is None or table.features is None:
        _check_width(table, like)
        return replace(table, features=like.features or table.features)
    if table.features == like.features:
        return table
    for each in (table, like):
        check_features(each)
    place, known = {name: i for i, name in enumerate(table.features)}, set(like.features)
    missing = [name for name in like.features if name not in place]
    unknown = [] if extra else [name for name in table.features if name not in known]
    if missing or unknown:
        raise _mismatch(table, like, missing, unknown)
    left = [repr(name) for name in table.features if name not in known]
    note = (
        (f"column{'s' if len(left) > 1 else ''} that the model does not know left out: {listed(left)}",) if left else ()
    )
    return replace(table.take([place[name] for name in like.features]), notes=(*table.notes, *note))


def _check_width(table: Table, like: Table) -> None:
    if table.values.shape[1] == like.values.shape[1]:
        return
    told = (
        f"{table.source} has {table.values.shape[1]} columns of numbers, {like.source} has {like.values.shape[1]}: "
        "all must have the same features in the same order"
    )
    if table.values.shape[0] == like.values.shape[1] or len(table) == len(like):
        raise TableError(told, ". If features are rows, add ", TRANSPOSE, remedy=(TRANSPOSE,))
    raise TableError(told)


def _mismatch(table: Table, like: Table, missing: Sequence[str], unknown: Sequence[str]) -> TableError:
    for names, here, there in ((missing, table, like), (unknown, like, table)):
        text = [name for name in names if name in here.columns]
        if text:
            return _not_numbers(text, here, there)
    features, others = table.features or (), like.features or ()
    common = len(others) - len(missing)
    if looks_turned(features, table.ids, others, like.ids) or not common:
        return _turned(table, like, common)
    parts = []
    if missing:
        parts.append(f"lacks {some(missing)}")
    if unknown:
        parts.append(f"has unknown {some(unknown)}")
    told = f"{table.source} {' and '.join(parts)}: it must have the columns of numbers of {like.source}, in any order. "
    return TableError(told, "Rename them, or leave columns out with ", Hint("drop"), remedy=_drops(table, like))


def _drops(table: Table, like: Table) -> tuple[Hint, ...]:
    """The columns that only one table has, where they are few enough to be typed."""
    odd = [
        *(set(like.features or ()) - set(table.features or ())),
        *(set(table.features or ()) - set(like.features or ())),
    ]
    return (Hint("drop", (sorted(odd),)),) if 0 < len(odd) <= 3 and len(like) else ()


def _not_numbers(names: Sequence[str], here: Table, there: Table) -> TableError:
    """Features of one table that another holds as text."""
    spoiled = [here.spoiled[name] for name in names if name in here.spoiled]
    told = (
        f"{some(names)} {'holds' if len(names) == 1 else 'hold'} numbers in {there.source} but not in {here.source}: "
    )
    if len(spoiled) == len(names):
        parts = [part for found in spoiled[:MOST_TOLD] for part in ("; ", *_about(found, len(names)))]
        return TableError(told, *parts[1:], remedy=joined(hint for found in spoiled for hint in found.remedy))
    drop = Hint("drop", (list(names),))
    return TableError(
        told, "correct the values, name those that mean missing with ", Hint("na"), ", or add ", drop, remedy=(drop,)
    )


def _about(found: NotNumbers, among: int) -> tuple[str | Hint, ...]:
    name = f"{found.column!r}: " if among > 1 else ""
    return (f"{name}{found.told}. ", *found.advice.parts)


def _turned(table: Table, like: Table, common: int) -> TableError:
    names = list(map(repr, (table.features or ())[:3]))
    return TableError(
        f"{table.source} has {len(table.features or ())} columns of numbers ({', '.join(names)}, …), {like.source} has "
        f"{len(like.features or ())}, and {common or 'none'} in common. {_guess(table, like)}",
        TRANSPOSE,
        remedy=(TRANSPOSE,),
    )


def _guess(table: Table, like: Table) -> str:
    ids, other_ids = _names(table.ids), _names(like.ids)
    for one, rows, other, columns in (
        (table, ids, like, set(like.features or ())),
        (like, other_ids, table, set(table.features or ())),
    ):
        shared = sorted(rows & columns)
        if shared:
            return (
                f"But {shared[0]!r} and {len(shared) - 1} more columns of {other.source} are rows of {one.source}: "
                "to transpose it, add "
            )
    shared = sorted(ids & other_ids)
    if shared:
        return f"But both have a row {shared[0]!r}, and {len(shared) - 1} more in common: if features are rows, add "
    return "Rename them; or if features are rows and not columns, add "


def _names(ids: Array | None) -> set[Any]:
    return set() if ids is None else set(map(str, ids))
