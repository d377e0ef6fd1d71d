"""Representation ``covariance`` from rows with gaps: covariances that were estimated, each dataset by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..._memory import check_dense_fits, matrices_fit
from ..._types import Array
from ..gaps.estimate import Estimate, estimate, has_gaps
from ..statistics.moments import Moments
from ..statistics.standard import Standard
from .covariance import from_moments
from .representation import Representation


def build_estimated(
    arrays: Sequence[Any],
    labels: Sequence[str],
    *,
    center: bool,
    scale: bool | str,
    names: Sequence[Any] | None = None,
) -> Representation:
    """Standardise the target (first) and the backgrounds and hold their covariances; those without gaps are plain ones.

    ``names`` are those of the features, for errors. Rows have at least one value each, none of them infinite.
    """
    if not matrices_fit(arrays[0].shape[1], len(arrays)):
        raise MemoryError(
            f"missing='em' holds a {arrays[0].shape[1]:,} x {arrays[0].shape[1]:,} matrix for each of {len(arrays)} "
            "datasets, which do not fit in memory: select features, or fill the gaps and fit without it"
        )
    found = [
        estimate(in_memory(array), label, names) if has_gaps(array) else _complete(array, label)
        for array, label in zip(arrays, labels, strict=True)
    ]
    moments = [part.moments if isinstance(part, Estimate) else part for part in found]
    held = from_moments(moments, center=center, scale=scale)
    standards = tuple(_with_counts(s, part) for s, part in zip(held.standards, found, strict=True))
    law = found[0].law if isinstance(found[0], Estimate) else None
    return replace(held, standards=standards, estimated=True, law=law)


def in_memory(array: Any) -> Array:
    """Rows as a dense array: gaps of sparse rows are filled with what is seldom 0."""
    if not sparse.issparse(array):
        return np.asarray(array)
    check_dense_fits(array, "missing='em' makes sparse rows with missing values dense")
    return np.asarray(array.toarray())


def _complete(array: Any, label: str) -> Moments:
    return Moments.of_checked(array.tocsr() if sparse.issparse(array) else np.asarray(array), label)


def _with_counts(standard: Standard, part: Estimate | Moments) -> Standard:
    """A standard that knows how many values each feature has."""
    return replace(standard, n=part.law.n_values) if isinstance(part, Estimate) else standard
