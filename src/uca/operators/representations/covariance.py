"""Representation ``covariance``: one p x p matrix a dataset, from one pass over its rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ..._memory import check_matrices_fit
from ..._types import Array
from ..contract.dense import DensePencil
from ..sources.source import Offer, Source
from ..statistics.moments import Moments
from ..statistics.rounding import product_allowance
from ..statistics.standard import Standard, check_totals, standards
from .representation import How, Kind, Representation, Size
from .units import in_moderate_units


def build(source: Source, how: How) -> Representation:
    """Covariances of the target (first) and the backgrounds; sparse rows become dense a block at a time."""
    check_matrices_fit(source.n_features, len(source.arrays), "representation='covariance'")
    moments = source.moments()
    if Offer.ARRAYS in source.offers:  # squares that vanished are found again in the rows, in moderate units
        return _standardised(moments, how)
    return from_moments(moments, center=how.center, scale=how.scale)


def from_moments(moments: Sequence[Moments], *, center: bool, scale: bool | str) -> Representation:
    """The same from moments that were gathered before."""
    return in_moderate_units(partial(_standardised, how=How(center, scale)), moments, scale)


def _standardised(moments: Sequence[Moments], how: How) -> Representation:
    given = standards(moments, center=how.center, scale=how.scale)
    check_totals(moments, given, how.scale)
    matrices = np.stack([m.covariance(center=how.center) for m in moments])
    for matrix, standard in zip(matrices, given, strict=True):
        standard.rescale(matrix)
        standard.rescale(matrix.T)
    allowances = [product_allowance(m.n, matrix) for m, matrix in zip(moments, matrices, strict=True)]
    return Representation("covariance", DensePencil(matrices, allowances=allowances), given)


def from_matrices(matrices: Array) -> Representation:
    """Covariances as they are, (m + 1, p, p), target first."""
    unchanged = Standard.none(matrices.shape[-1])
    return Representation("covariance", DensePencil(matrices), (unchanged,) * len(matrices))


def cost(size: Size) -> float:
    """``N p^2`` for the products, then eigen-solves of order p."""
    return size.total * size.p**2 + size.eigen_cost(size.p)


KIND = Kind("covariance", build, needs=Offer.MOMENTS, cost=cost, square=True)
