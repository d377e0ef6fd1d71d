"""Representation ``covariance``: one p x p matrix a dataset, from one pass over its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Array
from .dense import DensePencil
from .moments import Moments, deviations, divisor, inverse
from .representation import Representation, as_rows


def from_rows(arrays: Sequence[Array], labels: Sequence[str], *, center: bool, scale: bool | str) -> Representation:
    """Covariances of the target (first) and the backgrounds."""
    moments = [Moments.of(array, label) for array, label in zip(arrays, labels, strict=True)]
    dtypes = [array.dtype for array in arrays]
    return from_moments(moments, dtypes, center=center, scale=scale)


def from_moments(
    moments: Sequence[Moments], dtypes: Sequence[np.dtype], *, center: bool, scale: bool | str
) -> Representation:
    """The same from moments that were gathered before."""
    matrices = np.stack([m.covariance(center=center) for m in moments])
    deviation = [
        deviations(matrix.diagonal() * divisor(m.n), m.mean, m.n, dtype)
        for matrix, m, dtype in zip(matrices, moments, dtypes, strict=True)
    ]
    if scale == "target":
        deviation = [deviation[0]] * len(deviation)
    n_constant = tuple(int(np.sum(d == 0)) if scale else 0 for d in deviation)
    if scale:
        for matrix, d in zip(matrices, deviation, strict=True):
            factor = inverse(d)
            matrix *= factor
            matrix *= factor[:, np.newaxis]
    target_scale = deviation[0] if scale else np.ones(matrices.shape[-1])
    mean = moments[0].mean if center else np.zeros(matrices.shape[-1])
    return Representation("covariance", DensePencil(matrices), as_rows, mean, target_scale, n_constant)


def from_matrices(matrices: Array) -> Representation:
    """Covariances as they are, (m + 1, p, p), target first."""
    p = matrices.shape[-1]
    n_constant = (0,) * len(matrices)
    return Representation("covariance", DensePencil(matrices), as_rows, np.zeros(p), np.ones(p), n_constant)
