"""What counts as missing, in one place: None, NaN, NaT of numpy and pandas, pandas' NA, and masked entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._types import Array


def is_missing(value: Any) -> bool:
    """Whether one entry stands for no value."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)  # NaN and NaT do not equal themselves
    except TypeError:  # neither does pandas' NA, which refuses to say so
        return type(value).__name__ == "NAType"
    except ValueError:  # an array
        return False


def where_missing(values: Any) -> Array:
    """Which entries of a sequence are missing."""
    return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def entries(values: Any) -> Array:
    """A sequence as an array of objects; masked entries are None, and dates stay dates."""
    if isinstance(values, np.ma.MaskedArray):
        out = entries(values.data)
        out[np.ma.getmaskarray(values)] = None
        return out
    if not isinstance(values, np.ndarray):
        values = values.to_list() if hasattr(values, "to_list") else values
        return np.array(values if hasattr(values, "__array__") else list(values), dtype=object)
    if values.ndim == 1 and values.dtype.kind in "mM":  # numpy would make whole numbers of nanoseconds
        return np.fromiter(values, dtype=object, count=len(values))
    return values.astype(object)


def with_nan(array: Any) -> Any:
    """A masked array as a plain one, NaN where it is masked; every other array as it is."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if not np.ma.is_masked(array):
        return array.data
    kind = array.dtype.kind
    dtype = array.dtype if kind == "f" else float if kind in "iub" else object
    return np.ma.filled(array.astype(dtype), np.nan)
