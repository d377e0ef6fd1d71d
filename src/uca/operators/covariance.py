"""Representation ``covariance``: one p x p matrix a dataset, from one pass over its rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from .._types import Array
from .dense import DensePencil
from .memory import check_matrices_fit
from .moments import Moments, divisor, inverse, used_deviations
from .representation import Representation, as_rows
from .rounding import product_allowance
from .units import in_moderate_units


def from_rows(arrays: Sequence[Any], labels: Sequence[str], *, center: bool, scale: bool | str) -> Representation:
    """Covariances of the target (first) and the backgrounds; sparse rows become dense a block at a time."""
    check_matrices_fit(arrays[0].shape[1], len(arrays), "representation='covariance'")
    rows = [array.tocsr() if sparse.issparse(array) else array for array in arrays]
    moments = [Moments.of_checked(array, label) for array, label in zip(rows, labels, strict=True)]
    return _standardised(moments, center=center, scale=scale)


def from_moments(moments: Sequence[Moments], *, center: bool, scale: bool | str) -> Representation:
    """The same from moments that were gathered before."""
    return in_moderate_units(partial(_standardised, center=center, scale=scale), moments, scale)


def _standardised(moments: Sequence[Moments], *, center: bool, scale: bool | str) -> Representation:
    matrices = np.stack([m.covariance(center=center) for m in moments])
    squares = [matrix.diagonal() * divisor(m.n) for matrix, m in zip(matrices, moments, strict=True)]
    deviation = used_deviations(
        squares, [m.mean for m in moments], [m.n for m in moments], [m.dtype for m in moments], scale
    )
    n_constant = tuple(int(np.sum(d == 0)) if scale else 0 for d in deviation)
    if scale:
        for matrix, d in zip(matrices, deviation, strict=True):
            factor = inverse(d)
            matrix *= factor
            matrix *= factor[:, np.newaxis]
    allowances = [product_allowance(m.n, matrix) for m, matrix in zip(moments, matrices, strict=True)]
    target_scale = deviation[0] if scale else np.ones(matrices.shape[-1])
    mean = moments[0].mean if center else np.zeros(matrices.shape[-1])
    pencil = DensePencil(matrices, allowances=allowances)
    return Representation("covariance", pencil, as_rows, mean, target_scale, n_constant)


def from_matrices(matrices: Array) -> Representation:
    """Covariances as they are, (m + 1, p, p), target first."""
    p = matrices.shape[-1]
    n_constant = (0,) * len(matrices)
    return Representation("covariance", DensePencil(matrices), as_rows, np.zeros(p), np.ones(p), n_constant)
