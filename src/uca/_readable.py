"""What a user hands over as rows: readable as real numbers, or refused with what to do about it.

Promises: what leaves this module is two-dimensional and can be converted to floats without changing its meaning. Dates,
complex numbers, records and masked values are refused, not cast. Missing values among objects have become NaN, which is
counted where all values are seen.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from scipy import sparse

from ._containers import get_columns, is_anndata, is_array_api, is_dask
from ._missing import is_missing, where_missing, with_nan
from ._types import Array

TIMES = (np.datetime64, np.timedelta64, date, time, timedelta)  # pandas' kinds are among them
COMPLEX = (complex, np.complexfloating)


def readable(value: Any, label: str) -> Any:
    """Rows in a form that ``check_array`` converts faithfully; ``label`` names them in errors."""
    if value is None:
        raise ValueError(f"{label} is None: pass rows, a table or array of shape (rows, features)")
    refuse_anndata(value, label)
    columns = get_columns(value)
    if columns is not None:
        check_unique(columns, label)
        value = _with_plain_columns(value, columns, label)
    elif isinstance(value, (list, tuple)):
        value = _from_list(value, label)
    elif not (sparse.issparse(value) or is_dask(value) or is_array_api(value) or isinstance(value, np.ndarray)):
        value = _from_other(value, label)
    if columns is None and isinstance(value, np.ndarray):
        check_kind(value.dtype, label)
        value = as_numbers(value, label) if value.dtype.kind in "OSU" else value
        value = with_nan(value)
    elif hasattr(value, "dtype"):
        check_kind(value.dtype, label)
    return value


def refuse_anndata(value: Any, label: str) -> None:
    """Raise the error that says where AnnData objects go, if a value is one."""
    if is_anndata(value):
        raise TypeError(
            f"{label} is an AnnData object. uca.scverse takes those: uca.scverse.uca(adata, groupby=..., target=..., "
            "backgrounds=...) fits, uca.scverse.test, .donors, .rank_genes and .report go on from there (pip install "
            "'unique-component-analysis[scverse]'). For an array of its values pass adata.X, rows of one group only"
        )


def check_shape(value: Any, label: str, min_rows: int) -> None:
    """Refuse what is not rows by features, has no feature, or fewer rows than needed."""
    shape = tuple(np.shape(value))
    if len(shape) == 1 or not shape:
        raise ValueError(
            f"{label} must be two-dimensional, rows by features; got shape {shape}. Reshape your data: "
            "x.reshape(-1, 1) is one feature, x.reshape(1, -1) is one row (of a pandas table, frame[['name']])"
        )
    if len(shape) > 2:
        raise ValueError(
            f"{label} must be two-dimensional, rows by features; got {len(shape)} dimensions, shape {shape}. "
            "Flatten each row, for instance with x.reshape(len(x), -1)"
        )
    if shape[1] == 0:
        raise ValueError(
            f"{label} has 0 feature(s) (shape={shape}) while a minimum of 1 is required. Select at least one column"
        )
    if shape[0] < min_rows:
        raise ValueError(
            f"{label} has {shape[0]} sample(s) (shape={shape}) while a minimum of {min_rows} is required: pass more rows"
        )


def check_kind(dtype: Any, label: str) -> None:
    """Refuse types that convert to floats and mean something else."""
    kind = getattr(dtype, "kind", "f")
    if kind in "mM":
        raise ValueError(
            f"{label} holds dates or times (dtype {dtype}), not numbers: choose a unit and convert them, for instance "
            "(x - x.min()) / np.timedelta64(1, 's')"
        )
    if kind == "c":
        raise ValueError(
            f"{label} holds complex numbers. Complex data not supported: pass real features, for instance "
            "np.hstack([x.real, x.imag])"
        )
    if kind == "V":
        raise ValueError(
            f"{label} is an array of records (dtype {dtype}): pass a table, for instance pandas.DataFrame(x), or "
            "numpy.lib.recfunctions.structured_to_unstructured(x)"
        )


def check_unique(columns: Sequence[Any], label: str) -> None:
    """Refuse a table in which two columns have one name."""
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise ValueError(f"{label} has {some(repeated)} more than once: rename or drop the duplicated columns")


def as_numbers(values: Array, label: str) -> Array:
    """Objects or text as floats, NaN where they are missing; the first that is no number is told with its place."""
    with suppress(TypeError, ValueError, OverflowError):  # then one by one, to tell which
        return to_floats(values)
    flat = values.ravel()
    for i in range(len(flat)):
        try:
            to_floats(flat[i : i + 1])
        except (TypeError, ValueError, OverflowError) as error:
            place = np.unravel_index(i, values.shape)
            where = f" at row {place[0]}, column {place[1]}" if len(place) == 2 else ""
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"{label} has {reprlib.repr(flat[i : i + 1].tolist()[0])}{where}, which is not a number: drop or encode "
                f"such features ({error})"
            ) from None
    raise ValueError(f"{label} cannot be read as numbers; got an array of dtype {values.dtype}")


def to_floats(values: Any) -> Array:
    """Objects or text as floats; raises where that is not what they mean."""
    values = with_nan(np.asanyarray(values))
    if values.dtype.kind == "O":
        flat = values.ravel()
        missing = where_missing(flat)
        if missing.any():
            flat = np.where(missing, np.nan, flat)
        if any(isinstance(value, TIMES) for value in flat):
            raise ValueError("it is a date or time")
        if any(isinstance(value, COMPLEX) for value in flat):
            raise ValueError("it is complex")
        values = flat.reshape(values.shape)
    elif values.dtype.kind in "mMcV":
        raise ValueError(f"dtype {values.dtype}")
    return values.astype(float)


def some(names: Sequence[Any], limit: int = 5) -> str:
    """A few names of columns, for an error."""
    return f"column{'s' if len(names) > 1 else ''} {listed(list(map(repr, names)), limit)}"


def listed(texts: Sequence[str], limit: int = 8) -> str:
    """The first few of many texts, and how many more there are."""
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


def raise_text_columns(X: Any, label: str) -> None:
    """Raise the error that names the columns of a table which cannot be read as numbers, where there are any."""
    _refuse_columns([name for name in get_columns(X) or [] if not _is_numeric(X[name])], label)


def _refuse_columns(names: Sequence[Any], label: str) -> None:
    if names:
        raise ValueError(
            f"{label} has {some(names)} that {'are' if len(names) > 1 else 'is'} not numeric: drop or encode such columns"
        ) from None


def _is_numeric(column: Any) -> bool:
    try:
        to_floats(np.asarray(column))
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _with_plain_columns(table: Any, columns: Sequence[Any], label: str) -> Any:
    """The table with numbers in place of objects; columns of dates, and of what is no number, are refused by name."""
    types = dict(zip(columns, getattr(table, "dtypes", ()), strict=False))
    if any(getattr(dtype, "fill_value", 0) != 0 for dtype in types.values()):  # of pandas: its zeros are not zeros
        table = table.sparse.to_dense() if all(hasattr(dtype, "fill_value") for dtype in types.values()) else table
    times = [name for name, dtype in types.items() if _is_time(dtype)]
    if is_dask(table):  # values are not at hand
        _refuse_columns(times, label)
        return table
    objects = [name for name, dtype in types.items() if str(dtype) == "object"]
    if times or not all(_is_numeric(table[name]) for name in objects):
        raise_text_columns(table, label)
    if not objects:
        return table
    table = table.copy(deep=False)
    for name in objects:
        table[name] = to_floats(table[name].to_numpy())
    return table


def _is_time(dtype: Any) -> bool:
    """Whether a type of numpy, pandas or polars is that of dates, times or durations."""
    temporal = getattr(dtype, "is_temporal", None)
    return bool(temporal()) if callable(temporal) else getattr(dtype, "kind", "f") in "mM"


def _from_list(rows: Sequence[Any], label: str) -> Array:
    """An array of a list of rows; masked entries are NaN."""
    filled = [
        with_nan(row)
        if isinstance(row, np.ma.MaskedArray)
        else [np.nan if is_missing(value) else value for value in row]
        if isinstance(row, (list, tuple))
        else row
        for row in rows
    ]
    try:
        return np.asarray(filled)
    except ValueError:  # of numpy, for rows that differ in length
        lengths = sorted({len(row) for row in filled if hasattr(row, "__len__")})
        raise ValueError(
            f"{label} is a list of rows of different lengths ({', '.join(map(str, lengths[:5]))}): every row needs one "
            "value for each feature"
        ) from None


def _from_other(value: Any, label: str) -> Array:
    """What is no array but can be made one; a single object cannot."""
    array = np.asarray(value)
    if array.ndim == 0 and array.dtype.kind in "OSU":
        raise TypeError(
            f"{label} must be a table or array of shape (rows, features); got {type(value).__name__}"
            f"{': read the file first, for instance with uca.io.read_table' if _is_path(value) else ''}"
        )
    return array


def _is_path(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")
