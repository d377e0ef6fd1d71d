"""From rows with gaps to a law and to moments: standardise, choose the kind of law, estimate, and lead back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ..._containers import float_dtype
from ..._memory import matrices_fit
from ..._readable import listed
from ..._types import Array
from ..statistics.blocks import two_sum
from ..statistics.moments import Moments
from ..statistics.standard import inverse
from .factors import FactorFit, FactorLaw, choose_rank, fit_factors
from .law import NormalLaw
from .normal import PULL, FullLaw, NormalFit, fit_normal


@dataclass(frozen=True, eq=False)
class Estimate:
    """A law, and the moments that rows without gaps would be expected to have: the sample's where nothing is missing."""

    law: NormalLaw
    moments: Moments


def has_gaps(array: Any) -> bool:
    """Whether rows in memory, dense or sparse, have NaN among their values."""
    values = array.data if sparse.issparse(array) else array
    if getattr(values, "dtype", np.dtype(float)).kind != "f":
        return False
    step = max(1, 1_000_000 // max(int(np.prod(values.shape[1:])), 1))
    return any(bool(np.isnan(values[i : i + step]).any()) for i in range(0, len(values), step))


def estimate(rows: Array, label: str, names: Sequence[Any] | None = None) -> Estimate:
    """Maximum likelihood from rows (n, p), NaN where values are missing; rows without any value tell nothing.

    Where rows are more than features, a covariance of all of them, with a light pull towards its diagonal; else a factor
    model.
    """
    check_columns(rows, label, names)
    rows, dtype = rows[~np.isnan(rows).all(axis=1)], float_dtype(rows.dtype)
    values, parts = _standardised(rows.astype(float), dtype)
    n, q = values.shape
    found: NormalFit | FactorFit
    if n > q:
        found = fit_normal(values)
        law: NormalLaw = FullLaw(*parts, found.n_iter, found.converged, found.mean, found.sigma)
        mean, scatter = found.mean, found.scatter
    else:
        found = fit_factors(values, choose_rank(values))
        law = FactorLaw(*parts, found.n_iter, found.converged, found.mean, found.loadings, found.noise)
        gaps = law.gaps(values)
        mean = gaps.completed.mean(axis=0)
        centred = gaps.completed - mean
        scatter = centred.T @ centred + gaps.scatter()
    if not found.converged:
        warnings.warn(
            f"EM has not converged for {label} after {found.n_iter} steps: too many values are missing; "
            "leave out features with many gaps",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Estimate(law, _moments(law, mean, scatter, dtype))


def law_of_complete(rows: Any, label: str) -> NormalLaw | None:
    """The law of rows (n, p) without gaps, dense or CSR, by which others can be completed; None where memory is short."""
    n, p = rows.shape
    if n <= p:
        if not matrices_fit(int(np.sqrt(n * p)), 3):
            return None
        dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        values, parts = _standardised(dense.astype(float), float_dtype(rows.dtype))
        found = fit_factors(values, choose_rank(values))
        return FactorLaw(*parts, found.n_iter, found.converged, found.mean, found.loadings, found.noise)
    if not matrices_fit(p, 2):
        return None
    moments = Moments.of_checked(rows, label)
    unit = np.sqrt(np.maximum(moments.squares, 0.0) / n)
    varies = np.flatnonzero(unit > np.spacing(np.abs(moments.mean)))
    unit = np.where(np.isin(np.arange(p), varies), unit, 0.0)
    factor = inverse(unit[varies])
    sigma = moments.scatter[np.ix_(varies, varies)] * factor * factor[:, np.newaxis] / n
    sigma = (sigma + PULL * np.eye(len(varies))) / (1.0 + PULL)
    return FullLaw(moments.mean, unit, n, np.full(p, n), 0, True, np.zeros(len(varies)), sigma)


def check_columns(rows: Array, label: str, names: Sequence[Any] | None) -> None:
    """Refuse features without any value."""
    empty = np.flatnonzero(np.isnan(rows).all(axis=0)).tolist()
    if empty:
        told = listed([repr(names[i]) if names is not None else f"{i}" for i in empty], 5)
        many = len(empty) > 1
        raise ValueError(
            f"{label} has no value in column{'s' if many else ''} {told}: nothing can be estimated there. Leave "
            f"{'them' if many else 'it'} out of all datasets"
        )


def _standardised(rows: Array, dtype: np.dtype) -> tuple[Array, tuple[Array, Array, int, Array]]:
    """Values of the features that vary, (n, q), by mean and deviation of what is there; and what a law keeps of that."""
    there = ~np.isnan(rows)
    n_values = there.sum(axis=0)
    largest = np.maximum(np.where(there, np.abs(rows), 0.0).max(axis=0), np.finfo(float).tiny)
    power = np.ldexp(1.0, np.frexp(largest)[1] - 1)  # squares neither overflow nor vanish
    small = np.where(there, rows / power, 0.0)
    mean = small.sum(axis=0) / n_values
    mean = mean + np.where(there, small - mean, 0.0).sum(axis=0) / n_values
    deviation = np.sqrt(np.where(there, (small - mean) ** 2, 0.0).sum(axis=0) / n_values)
    rounding = np.spacing(np.abs(mean).astype(dtype)).astype(float)
    unit = np.where(deviation <= rounding, 0.0, deviation)
    varies = unit > 0
    values = np.where(there, small - mean, np.nan)[:, varies] / unit[varies]
    return values, (mean * power, unit * power, len(rows), n_values)


def _moments(law: NormalLaw, mean: Array, scatter: Array, dtype: np.dtype) -> Moments:
    """In the user's units; the mean is a sum of two floats, as one would lose digits where it is large."""
    shift = np.zeros(law.n_features)
    shift[law.varies] = law.unit[law.varies] * mean
    total, rest = two_sum(law.origin, shift)
    return Moments(law.n_rows, total, law.spread_out(scatter), dtype, None, rest)
