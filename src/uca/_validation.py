"""Target and backgrounds, checked, named and with the same features.

Promises: what leaves this module is two-dimensional, float32 or float64 (a numpy array, a CSR or CSC matrix, an array of
another namespace; a mapped file and a dask array keep their type), has at least two rows, one number of features and one
order of features; backgrounds have names. Nothing is copied that need not be. Values are *not* scanned for NaN here: the
pass that computes means sees every value anyway, and calls :func:`raise_not_finite` (which says where).
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ._containers import float_dtypes, is_dask
from ._containers import get_columns as get_columns  # which others know from here
from ._readable import check_shape, check_unique, raise_text_columns, readable, refuse_anndata, some
from ._types import Array


@dataclass(frozen=True)
class Datasets:
    """Checked tables by name, target first; the target's key is None."""

    tables: dict[str | None, Any]
    n_features: int
    columns: list[Any] | None  # labels of the first table, by which the others are aligned

    @property
    def feature_names(self) -> Array | None:
        """The labels where all are strings, as in scikit-learn."""
        return string_names(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the backgrounds."""
        return tuple(name for name in self.tables if name is not None)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Target first, then the backgrounds."""
        return tuple(self.tables.values())

    @property
    def n_rows(self) -> tuple[int, ...]:
        """Rows of each array."""
        return tuple(int(array.shape[0]) for array in self.arrays)

    @property
    def labels(self) -> tuple[str, ...]:
        """How error messages call each array."""
        return tuple(label_of(name) for name in self.tables)

    def check_finite(self, *, gaps: bool = False, advice: str = "") -> None:
        """Refuse NaN and infinity, for those who use rows before any pass over them has looked; ``gaps`` lets NaN pass.

        Dask arrays are not looked at here: passes over their chunks do it.
        """
        for array, label in zip(self.arrays, self.labels, strict=True):
            check_finite_rows(array, label, gaps=gaps, advice=advice)


def label_of(name: str | None) -> str:
    """How error messages call a dataset."""
    return "target X" if name is None else f"background {name!r}"


def check_datasets(
    estimator: Any,
    X: Any,
    backgrounds: Any,
    *,
    min_rows: int = 2,
    like: Datasets | None = None,
    ready: type | None = None,
    refused: type | None = None,
    need_target: bool = True,
    gaps: bool = False,
) -> Datasets:
    """Check a target and its backgrounds.

    ``like`` gives the features that all tables must have; without it, the first table (the target) does. Without
    ``need_target``, X may be None: chunks of backgrounds arrive by themselves. Objects of type ``ready`` stand for rows
    and pass as they are. ``gaps`` lets masked values pass as NaN.
    """
    refuse_anndata(X, label_of(None))
    if X is None and need_target:
        raise ValueError("target X is None: pass the rows of the target as X")
    given: dict[str | None, Any] = {} if X is None else {None: X}
    given.update(name_backgrounds(backgrounds))
    if not given:
        raise ValueError("nothing to fit: pass X, backgrounds, or both")
    known = None if like is None else like.columns
    columns = known or next((names for names in map(get_columns, given.values()) if names is not None), None)
    n_features = None if like is None else like.n_features
    tables: dict[str | None, Any] = {}
    for name, value in given.items():
        label = label_of(name)
        if refused is not None and isinstance(value, refused):
            raise TypeError(
                f"{label} is a {refused.__name__} object: pass it to partial_fit, which takes it in place of rows"
            )
        passes = ready is not None and isinstance(value, ready)
        if passes:
            check_same_columns(value, columns, label)
        rows = (
            value if passes else check_rows(estimator, align_columns(value, columns, label), label, min_rows, gaps=gaps)
        )
        width = len(rows.mean) if passes else rows.shape[1]
        n_features = width if n_features is None else n_features
        if width != n_features:
            raise FeaturesDifferError(
                f"{label} has {width} features, but {type(estimator).__name__} is expecting {n_features} "
                "features as input: all datasets must have the same features in the same order."
            )
        tables[name] = rows
    assert n_features is not None
    return Datasets(tables, n_features, columns)


def check_rows(estimator: Any, value: Any, label: str, min_rows: int, *, gaps: bool = False) -> Any:
    """One table as a float array, as a CSR or CSC matrix without duplicates, or as a dask array."""
    if is_dask(value):
        return check_dask(value, label, min_rows)
    value = read_rows(value, label, min_rows, gaps=gaps)
    try:
        array = check_array(
            value,
            accept_sparse=("csr", "csc"),
            # A mapped file of integers is widened a block at a time; here it would become a copy.
            dtype="numeric" if isinstance(value, np.memmap) else float_dtypes(value),
            ensure_all_finite=False,
            ensure_min_samples=min_rows,
            estimator=estimator,
            input_name=label,
        )
    except (TypeError, ValueError) as error:
        raise_text_columns(value, label)
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{label} cannot be read as a table of numbers: {error}") from error
    if sparse.issparse(array) and not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    return array


def check_finite_rows(array: Any, label: str, *, gaps: bool = False, advice: str = "") -> None:
    """Refuse NaN and infinity in one checked array; ``gaps`` lets NaN pass. Dask arrays are not looked at."""
    if is_dask(array):
        return
    n_nan, n_inf, first = count_not_finite(array)
    if gaps and n_inf:
        raise_counts(0, n_inf, first_infinite(array), label)
    elif first is not None and not gaps:
        raise_counts(n_nan, n_inf, first, label, advice=advice or ADVICE)


def read_rows(value: Any, label: str, min_rows: int, *, gaps: bool = False) -> Any:
    """Rows in memory that can be converted to floats faithfully; masked values are refused as NaN is, unless ``gaps``."""
    rows = readable(value, label)
    check_shape(rows, label, min_rows)
    if np.ma.is_masked(value) and not gaps:
        raise_counts(*count_not_finite(rows), label, masked=True)
    return rows


def read_dask(value: Any, label: str, *, lengths: bool | None) -> Any:
    """A dask array of numbers with two dimensions; ``lengths`` asks for the number of rows of a dataframe."""
    value = readable(value, label)
    if hasattr(value, "to_dask_array"):
        types = list(value.dtypes)
        if all(dtype.kind in "fiub" for dtype in types) and not all(isinstance(dtype, np.dtype) for dtype in types):
            value = value.astype(float)  # pandas' nullable types would be an array of objects
        value = value.to_dask_array(lengths=lengths)
    if value.ndim != 2:
        raise ValueError(f"{label} must be two-dimensional; got a dask array of shape {value.shape}")
    if value.dtype.kind not in "fiub":
        raise ValueError(
            f"{label} must hold numbers; got a dask array of dtype {value.dtype}: drop what is not a number, and convert "
            "the rest with .astype(float)"
        )
    return value


def check_dask(value: Any, label: str, min_rows: int) -> Any:
    """A dask array of numbers with two dimensions and known chunks; nothing but missing chunk sizes is computed."""
    array = read_dask(value, label, lengths=True)
    if np.isnan(array.shape).any():
        array = array.copy().compute_chunk_sizes()
    if array.shape[0] < min_rows or array.shape[1] < 1:
        raise ValueError(f"{label} has shape {array.shape}; a minimum of {min_rows} rows and 1 feature is required")
    return array


def name_backgrounds(backgrounds: Any) -> dict[str, Any]:
    """Backgrounds as an ordered mapping of names to tables; unnamed ones are called ``background1`` and so on."""
    if backgrounds is None:
        return {}
    if isinstance(backgrounds, Mapping):
        named = {str(name): value for name, value in backgrounds.items()}
        if len(named) < len(backgrounds):
            raise ValueError(f"background names must differ as text, got {list(backgrounds)}")
    elif isinstance(backgrounds, (list, tuple)):
        if _is_table_of_numbers(backgrounds):
            backgrounds = [backgrounds]
        named = {f"background{i}": value for i, value in enumerate(backgrounds, start=1)}
    elif isinstance(backgrounds, str) or not any(
        hasattr(backgrounds, name) for name in ("shape", "__array__", "scatter")
    ):
        raise TypeError(
            "backgrounds must be an array or table, a list or tuple of them, or a dict of name -> array; "
            f"got {type(backgrounds).__name__}"
        )
    else:
        named = {"background1": backgrounds}
    if not named:
        raise ValueError("backgrounds is empty: pass at least one dataset, or backgrounds=None for plain PCA")
    return named


def _is_table_of_numbers(value: Sequence[Any]) -> bool:
    """Whether a list is itself one table (rows of numbers) and not a list of tables."""
    rows = [row for row in value if isinstance(row, (list, tuple))]
    return bool(rows) and len(rows) == len(value) and all(isinstance(x, numbers.Number) for row in rows for x in row)


def string_names(columns: list[Any] | None) -> Array | None:
    """Labels as an array of names where all are strings; else None."""
    if not columns or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def align_columns(X: Any, columns: Sequence[Any] | None, label: str) -> Any:
    """The table with its columns in the order of ``columns``; arrays pass unchanged."""
    own = get_columns(X)
    if own is not None:
        check_unique(own, label)
    if own is None or columns is None or own == list(columns):
        return X
    wanted, present, known = list(columns), set(own), set(columns)
    missing = [name for name in wanted if name not in present]
    extra = [name for name in own if name not in known]
    if missing or extra:
        parts = [f"{word} {some(names)}" for word, names in (("lacks", missing), ("has unknown", extra)) if names]
        raise FeaturesDifferError(
            f"{label} {' and '.join(parts)}: its columns must be those of the target (any order). "
            "Select or rename the columns first."
        )
    return X.select(wanted) if hasattr(X, "column_names") else X[wanted]  # the first is pyarrow's


def check_same_columns(X: Any, columns: Sequence[Any] | None, label: str) -> None:
    """Refuse what has columns of another name or order and cannot be reordered."""
    own = get_columns(X)
    if own is not None and columns is not None and own != list(columns):
        raise ValueError(
            f"{label} was collected with other columns, or in another order: {some(own)}; collect it again"
        )


DROP = "Correct or drop those rows or features first."
ADVICE = (
    "Impute or drop those rows or features first, for instance with sklearn.impute.SimpleImputer; or fit rows in memory "
    "(numpy, pandas, scipy.sparse) with missing='em', which estimates covariances from the values that are there."
)


class FeaturesDifferError(ValueError):
    """Datasets that do not have the same features, by number or by name."""


class OutOfRangeError(ValueError):
    """Values so large or so small that their squares overflow or vanish; in other units the problem has an answer."""


def raise_not_finite(array: Any, label: str, *, advice: str = ADVICE) -> None:
    """Raise the error that says how many values are NaN or infinite, and where the first one is."""
    raise_counts(*count_not_finite(array), label, advice=advice)


def count_not_finite(array: Any) -> tuple[int, int, tuple[int, int] | None]:
    """How many values are NaN, how many infinite, and the row and column of the first of either."""
    return _count_sparse(array) if sparse.issparse(array) else _count_dense(array)


def raise_counts(
    n_nan: int,
    n_inf: int,
    first: tuple[int, int] | None,
    label: str,
    *,
    masked: bool = False,
    advice: str = ADVICE,
) -> None:
    """The same where the values have been counted; ``masked`` tells that masked ones are among them."""
    if first is None:
        raise OutOfRangeError(f"{label} has values so large that their sum overflows; rescale the features")
    nan = "NaN (masked values count as NaN)" if masked else "NaN"
    kinds = " and ".join(f"{n} {kind}" for n, kind in ((n_nan, nan), (n_inf, "infinity (inf)")) if n)
    raise ValueError(
        f"{label} contains {kinds}, the first at row {first[0]}, column {first[1]}. {advice if n_nan else DROP}"
    )


def first_infinite(array: Any) -> tuple[int, int] | None:
    """Row and column of the first infinite value."""
    entries = array.tocoo() if sparse.issparse(array) else None
    if entries is None:
        places = np.argwhere(np.isinf(array))
        return (int(places[0][0]), int(places[0][1])) if len(places) else None
    bad = np.flatnonzero(np.isinf(entries.data))
    return min(zip(entries.row[bad].tolist(), entries.col[bad].tolist(), strict=True), default=None)


def surely_finite(array: Array) -> bool:
    """Whether the sum of all values is finite, so that all of them are: sooner known than of each value by itself."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum()))


def _count_dense(array: Array) -> tuple[int, int, tuple[int, int] | None]:
    """NaN, infinities, and the place of the first of either, in blocks of rows."""
    n_nan, n_inf, first = 0, 0, None
    if surely_finite(array):
        return n_nan, n_inf, first
    step = max(1, 10_000_000 // max(array.shape[1], 1))
    for start in range(0, len(array), step):
        block = array[start : start + step]
        bad = ~np.isfinite(block)
        if not bad.any():
            continue
        nan = int(np.isnan(block).sum())
        n_nan, n_inf = n_nan + nan, n_inf + int(bad.sum()) - nan
        if first is None:
            row, column = np.unravel_index(int(bad.argmax()), bad.shape)
            first = (start + int(row), int(column))
    return n_nan, n_inf, first


def _count_sparse(matrix: Any) -> tuple[int, int, tuple[int, int] | None]:
    entries = matrix.tocoo()
    bad = np.flatnonzero(~np.isfinite(entries.data))
    if len(bad) == 0:
        return 0, 0, None
    n_nan = int(np.isnan(entries.data[bad]).sum())
    row, column = min(zip(entries.row[bad].tolist(), entries.col[bad].tolist(), strict=True))
    return n_nan, len(bad) - n_nan, (row, column)
