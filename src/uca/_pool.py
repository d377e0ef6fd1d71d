"""Several backgrounds as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ._containers import float_dtype, is_dask
from ._readable import readable
from ._types import Backgrounds
from ._validation import align_columns, get_columns


def pool(*backgrounds: Backgrounds, center: bool = False) -> Any:
    """Stack backgrounds into one, to be standardised together.

    ``UCA().fit(X, backgrounds=pool(a, b))`` is the pooled analysis, ``UCA().fit(X, backgrounds=[a, b])`` the split one.

    Parameters
    ----------
    *backgrounds : arrays or tables with the same features; or one list, tuple or dict of them
        Columns of tables are matched by name.
    center : bool, default=False
        Centre each background on its own mean before stacking. Otherwise differences in means between the backgrounds
        are part of the pooled variation, and components avoid them; with it, only what varies *within* backgrounds is
        compared with the target. Centre if those differences say nothing about the target (backgrounds from speakers,
        batches or sites other than the target's); leave them in if they are a nuisance that the target has too. It
        can help or hurt: try both on labels that you trust. The result is float and dense, so sparse matrices
        are refused.

    Returns
    -------
    pooled : array or table of shape (sum of rows, p)
        A pandas or polars table where all are of that kind, a dask array or a sparse matrix where one is, else an array.
        Masked values become NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from uca import pool
    >>> pool(np.zeros((2, 3)), np.ones((4, 3))).shape
    (6, 3)
    >>> bool(pool(np.zeros((2, 3)), np.ones((4, 3)), center=True).any())
    False
    """
    if len(backgrounds) == 1:
        only = backgrounds[0]
        backgrounds = tuple(
            only.values() if isinstance(only, Mapping) else only if isinstance(only, (list, tuple)) else [only]
        )
    if not backgrounds:
        raise ValueError("nothing to pool: pass at least one background")
    names = get_columns(backgrounds[0])
    labels = [f"background {i}" for i in range(1, len(backgrounds) + 1)]
    tables = [align_columns(table, names, label) for table, label in zip(backgrounds, labels, strict=True)]
    tables = [
        readable(table, label) if get_columns(table) is None else table
        for table, label in zip(tables, labels, strict=True)
    ]
    widths = sorted({np.shape(table)[1] if np.ndim(table) == 2 else -1 for table in tables})
    if len(widths) > 1 or widths[0] < 0:
        raise ValueError(f"backgrounds must be two-dimensional with the same number of features; got {widths}")
    if center:
        tables = [_centred(table, label) for table, label in zip(tables, labels, strict=True)]
    if any(is_dask(table) for table in tables):
        import dask.array as da

        return da.concatenate(
            [table.to_dask_array(lengths=True) if hasattr(table, "to_dask_array") else table for table in tables]
        )
    if any(sparse.issparse(table) for table in tables):
        return sparse.vstack([table if sparse.issparse(table) else np.asarray(table) for table in tables], format="csr")
    kinds = {type(table).__module__.split(".")[0] for table in tables}
    if names is None:  # nothing to match by: rows are stacked as they are
        kinds = set()
    if kinds == {"pandas"}:
        import pandas

        return pandas.concat(tables, ignore_index=True)
    if kinds == {"polars"}:
        import polars

        return polars.concat(tables)
    return np.vstack([np.asarray(table) for table in tables])


def _centred(table: Any, label: str) -> Any:
    """A table about its own column means, of the same kind; missing values are left out of the means and stay."""
    if sparse.issparse(table) or sparse.issparse(getattr(table, "_meta", None)):
        raise TypeError(
            f"{label} is sparse, and centred rows would not be: pass center=False, or dense rows if they fit in memory"
        )
    kind = type(table).__module__.split(".")[0]
    if kind == "polars":
        import polars

        return table.select(polars.all() - polars.all().mean())
    if kind == "pandas" or is_dask(table):
        return table - table.mean(axis=0)
    rows = np.asarray(table)
    return (rows - np.nanmean(rows, axis=0, dtype=float)).astype(float_dtype(rows.dtype), copy=False)
