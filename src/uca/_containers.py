"""Which kind of container a table came in. Optional packages are never imported here, only recognised."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn

from ._sklearn import get_namespace


def is_dask(value: Any) -> bool:
    """Whether a value is a dask array or dask dataframe."""
    return type(value).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(value, "dask")


def is_anndata(value: Any) -> bool:
    """Whether a value is an AnnData object: a matrix with groups of cells in it, not a table."""
    return any(kind.__name__ == "AnnData" and kind.__module__.startswith("anndata") for kind in type(value).__mro__)


def is_array_api(value: Any) -> bool:
    """Whether a value is an array of another namespace, and scikit-learn's array-API dispatch is on."""
    if isinstance(value, np.ndarray) or not sklearn.get_config()["array_api_dispatch"]:
        return False
    return hasattr(value, "__array_namespace__") or type(value).__module__.split(".")[0] == "torch"


def get_columns(X: Any) -> list[Any] | None:
    """Column labels of a table; None for an array."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("a polars LazyFrame holds no rows yet: pass frame.collect()")
    columns = getattr(X, "column_names", None) or getattr(X, "columns", None)  # the first is pyarrow's
    return None if columns is None or callable(columns) else list(columns)


def float_dtypes(value: Any) -> list[Any]:
    """The types that are taken as they are, in the namespace of a value; everything else becomes the first.

    Tables of polars and of pandas' nullable types have no numpy type; scikit-learn makes them the first.
    """
    if not is_array_api(value):
        all_single = {str(dtype).lower() for dtype in getattr(value, "dtypes", ())} == {"float32"}
        return [np.float32, np.float64] if all_single else [np.float64, np.float32]
    xp = get_namespace(value)
    return [xp.float64, xp.float32]


def float_dtype(dtype: Any) -> np.dtype:
    """The numpy type of results for input of a type of any namespace: float32 stays, everything else is float64."""
    return np.dtype(np.float32 if str(dtype).endswith("float32") else np.float64)
