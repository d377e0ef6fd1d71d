"""Missing values in a fit: what is let in with ``missing="em"``, and how rows with gaps get scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._containers import is_array_api, is_dask
from .._memory import matrices_fit
from .._parameters import check_choice
from .._types import Array
from .._validation import Datasets, count_not_finite, first_infinite, raise_counts, raise_not_finite
from ..dual import Certificate
from ..operators.gaps.estimate import has_gaps, law_of_complete
from ..operators.gaps.law import NormalLaw
from ..operators.representations.estimated import in_memory
from ..operators.representations.representation import Representation

MISSING = ("error", "em")
TOGETHER = 3  # rows with both of two features: through two points there is always a line
SPEAKS_OF = (
    "This refers to estimated covariances (missing='em'): values are missing, and how far the estimates are from "
    "the covariances of complete rows is not part of it."
)


def check_missing(missing: Any, representation: str) -> None:
    """Raise unless ``missing`` is known and goes with a representation."""
    check_choice("missing", missing, MISSING)
    if missing == "em" and representation not in ("auto", "covariance"):
        raise ValueError(
            f"missing='em' estimates covariances, so representation={representation!r} has no rows to hold: choose "
            "representation='auto' or 'covariance', or fill the gaps first"
        )


def incomplete(data: Datasets) -> bool:
    """Whether datasets in memory have gaps; dask collections and arrays of other namespaces are not looked at."""
    return any(_looked_at(array) and has_gaps(array) for array in data.arrays)


def _looked_at(array: Any) -> bool:
    return not (is_dask(array) or is_array_api(array))


def without_empty_rows(data: Datasets) -> Datasets:
    """Checked datasets without rows that have no value at all, which tell nothing; a warning says how many there were.

    Where values are missing, all datasets have to be in memory. Pairs of features that hardly ever have values together are
    told of.
    """
    tables = dict(data.tables)
    if incomplete(data):
        _refuse_elsewhere(data)
    for (name, array), label in zip(data.tables.items(), data.labels, strict=True):
        if not (_looked_at(array) and has_gaps(array)):
            continue
        refuse_infinite(array, label)
        rows = in_memory(array)
        empty = np.isnan(rows).all(axis=1)
        tables[name] = rows[~empty] if empty.any() else rows
        if empty.any():
            told = f"{int(empty.sum())} row{'s' if empty.sum() > 1 else ''} of {label}"
            warnings.warn(f"{told} without any value: left out of the fit", UserWarning, stacklevel=4)
        if len(tables[name]) < 2:
            raise ValueError(f"{label} has {len(tables[name])} rows with a value, a minimum of 2 is required")
        pairs = seldom_together(tables[name], data.columns)
        if pairs is not None:
            warnings.warn(f"{label} has {pairs}", UserWarning, stacklevel=4)
    return replace(data, tables=tables)


def _refuse_elsewhere(data: Datasets) -> None:
    """Raise where a dataset has gaps and another is not in memory, where gaps and infinite values are not looked for."""
    for array, label in zip(data.arrays, data.labels, strict=True):
        if not _looked_at(array):
            kind = "a dask collection" if is_dask(array) else "an array of another library"
            raise ValueError(
                f"values are missing, and {label} is {kind}: missing='em' takes rows in memory. Pass all datasets as numpy "
                "arrays or tables (.compute() for dask), or fill the gaps first"
            )


def seldom_together(rows: Array, names: Sequence[Any] | None) -> str | None:
    """Pairs of features whose values are together in too few rows to show how they vary together; None without any."""
    there = ~np.isnan(rows)
    if not matrices_fit(rows.shape[1], 1):
        return None  # nor will the fit
    some = np.flatnonzero(~there.all(axis=0) & there.any(axis=0))  # one of a pair has gaps
    counts = there.astype(np.float32).T[some] @ there.astype(np.float32)
    counts[np.arange(len(some)), some] = np.inf
    counts[:, ~there.any(axis=0)] = np.inf  # refused with an error of its own
    if not counts.size or counts.min() >= TOGETHER:
        return None
    both = {tuple(sorted((int(some[i]), int(j)))) for i, j in np.argwhere(counts < TOGETHER)}
    first = min(both)
    called = " and ".join(repr(names[i]) if names is not None else str(i) for i in first)
    pairs = "1 pair" if len(both) == 1 else f"{len(both)} pairs"
    return (
        f"{pairs} of features with values in fewer than {TOGETHER} rows together, the first {called}: how they vary "
        "together is not in the data, and is inferred from other features alone. Leave one of such features out"
    )


def refuse_infinite(array: Any, label: str) -> None:
    """Raise where a value is infinite: that is not missing."""
    n_inf = count_not_finite(array)[1]
    if n_inf:
        raise_counts(0, n_inf, first_infinite(array), label)


def target_law(held: Representation, target: Any, label: str) -> NormalLaw | None:
    """The law by which a model fills gaps of new rows; None where the target is not in memory, or would not fit there."""
    if held.law is not None or not _looked_at(target):
        return held.law
    return law_of_complete(target.tocsr() if sparse.issparse(target) else target, label)


def completed_scores(rows: Any, scores: Array, law: NormalLaw | None, score: Callable[[Array], Array]) -> Array:
    """Scores (n, k) in which rows with gaps have those of their conditional means; all others stay as they are."""
    if law is None:
        raise_not_finite(rows, "X")
    refuse_infinite(rows, "X")
    bad = ~np.isfinite(scores).all(axis=1)
    some = rows.tocsr()[bad].toarray() if sparse.issparse(rows) else rows[bad]
    if not np.isnan(some).any(axis=1).all():
        raise_counts(0, 0, None, "X")  # values that overflow
    assert law is not None
    empty = int(np.isnan(some).all(axis=1).sum())
    if empty:
        told = f"{empty} row{'s' if empty > 1 else ''} of X without any value"
        warnings.warn(f"{told}: scored as the mean of the target", UserWarning, stacklevel=4)
    out = scores.copy()
    out[bad] = score(law.complete(some).rows)
    return out


def as_estimated(certificate: Certificate) -> Certificate:
    """The certificate of a problem whose covariances were estimated."""
    return replace(certificate, estimated=True, message=f"{certificate.message} {SPEAKS_OF}")
