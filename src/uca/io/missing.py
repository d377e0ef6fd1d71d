"""Missing values: an error that counts them, or what the caller chose instead.

Promises: after :func:`handle_missing` every value is finite (or missing, with "em"), all tables have the same features, and
``notes`` say what was filled or dropped. A table is filled from its own values, as it is standardised by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._parameters import check_choice
from .._readable import listed, some
from .._types import Array
from .._validation import surely_finite
from .advice import Hint, TableError
from .table import Table
from .words import MISSING

WORST = 5


def handle_missing(tables: Mapping[str, Table], how: str = "error", *, fill: Array | None = None) -> dict[str, Table]:
    """Deal with missing values in tables that have the same features.

    Parameters
    ----------
    tables : dict of name -> Table
    how : {"error", "mean", "median", "zero", "drop-rows", "drop-columns", "em"}
        "drop-columns" drops a feature from all tables if it is incomplete in any. "em" leaves values missing, for a model
        with ``missing="em"``.
    fill : array of shape (p,), optional
        What "mean" fills in, instead of each table's own means.

    Returns
    -------
    tables : dict of name -> Table
    """
    check_choice("how", how, MISSING)
    counts = {name: _count(table) for name, table in tables.items()}
    if not any(count.any() for count in counts.values()):
        return dict(tables)
    if how == "error":
        raise complaint(tables, counts, filled=fill is not None)
    if how == "em" and fill is None and (empty := _empty(tables, counts)) is not None:
        raise empty
    if how == "drop-columns":
        return _drop_columns(tables, sum(counts.values()))
    return {
        name: table if not counts[name].any() else _ways(fill)[how](table, counts[name])
        for name, table in tables.items()
    }


def _ways(fill: Array | None) -> dict[str, Callable[[Table, Array], Table]]:
    return {
        "em": _kept,
        "drop-rows": _drop_rows,
        "zero": lambda table, count: _filled(table, count, np.zeros(len(count)), "0"),
        "mean": lambda table, count: _filled(
            table,
            count,
            _summary(table, count, np.nanmean) if fill is None else fill,
            "the mean of the column" if fill is None else "the mean of the model's target",
        ),
        "median": lambda table, count: _filled(
            table, count, _summary(table, count, np.nanmedian), "the median of the column"
        ),
    }


def _count(table: Table) -> Array:
    """Missing values in each column; infinite ones are refused."""
    stored = table.values.data if table.is_sparse else table.values
    if stored.dtype.kind != "f" or surely_finite(stored):
        return np.zeros(table.values.shape[1], dtype=int)
    infinite = int(np.isinf(stored).sum())
    if infinite:
        raise not_finite(table, infinite)
    if table.is_sparse:
        return np.bincount(table.values.indices[np.isnan(stored)], minlength=table.values.shape[1])
    return np.asarray(np.isnan(table.values).sum(axis=0))


def not_finite(table: Table, infinite: int) -> ValueError:
    """The error that counts infinite values."""
    return ValueError(f"{table.source} has {infinite} infinite values: correct the file, or leave the columns out")


def _name(table: Table, column: int) -> str:
    return f"column {column}" if table.features is None else repr(table.features[column])


def _values(n: int) -> str:
    return f"{n} missing value{'' if n == 1 else 's'}"


def complaint(tables: Mapping[str, Table], counts: Mapping[str, Array], *, filled: bool = False) -> TableError:
    """The error that counts missing values and says what to choose."""
    empty = None if filled else _empty(tables, counts)
    if empty is not None:
        return empty
    parts = []
    for name, table in tables.items():
        count = counts[name]
        if count.any():
            worst = [int(i) for i in np.argsort(-count, kind="stable")[:WORST] if count[i]]
            told = ", ".join(f"{_name(table, i)} {count[i]}" for i in worst)
            columns = int((count > 0).sum())
            most = f", most in {told}" if columns > WORST else f": {told}"
            parts.append(
                f"{table.source} ({name}) has {_values(int(count.sum()))} in {columns} of {len(count)} columns{most}"
            )
    way = "zero" if any(table.is_sparse for table in tables.values()) else "mean" if filled else "median"
    told = f"{'; '.join(parts)}. Choose what to do: "
    return TableError(told, Hint("how", MISSING[1:]), remedy=(Hint("how", (way,)),))


def _empty(tables: Mapping[str, Table], counts: Mapping[str, Array]) -> TableError | None:
    """What is said of columns that have no value at all in one table, and numbers in another."""
    for name, table in tables.items():
        columns = np.flatnonzero(counts[name] == len(table))
        if len(columns) and table.features is not None:
            names = [table.features[i] for i in columns]
            there = next((other.source for key, other in tables.items() if counts[key][columns[0]] < len(other)), None)
            other = "" if there in (None, table.source) else f", with numbers in {there}"
            drop = Hint("drop", (names,)) if len(names) <= WORST else Hint("how", ("drop-columns",))
            told = f"{some(names)} of {table.source} ({name}) {'is' if len(names) == 1 else 'are'} empty{other}: "
            return TableError(told, "fill in values, or leave columns out with ", drop, remedy=(drop,))
    return None


def _summary(table: Table, count: Array, function: Callable[..., Any]) -> Array:
    if table.is_sparse:
        raise TableError(f"{table.source} is sparse: choose ", Hint("how", ("zero", "drop-rows", "drop-columns")))
    empty = np.flatnonzero(count == len(table))
    if len(empty):
        raise TableError(
            f"{_name(table, int(empty[0]))} of {table.source} has no values at all: choose ",
            Hint("how", ("drop-columns",)),
            remedy=(Hint("how", ("drop-columns",)),),
        )
    out = np.zeros(len(count))
    some = np.flatnonzero(count)
    out[some] = function(table.values[:, some], axis=0)
    return out


def _filled(table: Table, count: Array, values: Array, what: str) -> Table:
    n = int(count.sum())
    note = f"{table.source}: {n} missing {'value was' if n == 1 else 'values were'} replaced by {what}"
    filled = table.values.copy()
    if table.is_sparse:
        filled.data = np.nan_to_num(filled.data, nan=0.0)
        filled.eliminate_zeros()
    else:
        rows, columns = np.nonzero(np.isnan(filled))
        filled[rows, columns] = values[columns]
    return replace(table, values=filled, notes=(*table.notes, note))


def _kept(table: Table, count: Array) -> Table:
    share = 100 * int(count.sum()) / (len(table) * len(count))
    note = f"{table.source}: {_values(int(count.sum()))} ({share:.1f} %) left out of the estimates (em)"
    return replace(table, notes=(*table.notes, note))


def _drop_rows(table: Table, count: Array) -> Table:
    if table.is_sparse:
        bad = np.isnan(table.values.data)
        incomplete = np.zeros(len(table), dtype=bool)
        incomplete[np.repeat(np.arange(len(table)), np.diff(table.values.indptr))[bad]] = True
    else:
        incomplete = np.isnan(table.values).any(axis=1)
    left = len(table) - int(incomplete.sum())
    if left < 2:
        raise TableError(f"{table.source} has {left} complete rows: choose another ", Hint("how"), " than drop-rows")
    note = f"{table.source}: {int(incomplete.sum())} of {len(table)} rows have missing values and were dropped"
    return replace(table.rows(~incomplete), notes=(*table.notes, note))


def _drop_columns(tables: Mapping[str, Table], counts: Any) -> dict[str, Table]:
    first = next(iter(tables.values()))
    kept = np.flatnonzero(counts == 0).tolist()
    if not kept:
        raise TableError(
            "every column has missing values in some table: choose another ", Hint("how"), " than drop-columns"
        )
    names = [_name(first, int(i)) for i in np.flatnonzero(counts)]
    note = f"columns dropped from every table for missing values: {listed(names)}"
    dropped = {name: table.take(kept) for name, table in tables.items()}
    name = next(iter(dropped))
    return {**dropped, name: replace(dropped[name], notes=(*dropped[name].notes, note))}
