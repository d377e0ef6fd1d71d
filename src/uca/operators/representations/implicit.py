"""Representation ``implicit``: data stays as it is, and is known through products with a few vectors.

For standardised rows ``Z = (X - 1 mean') D`` the covariance times V is ``D (X - 1 mean')' (X - 1 mean') D V / (n - 1)``.
Centring and scaling are applied to V and to the result, so a sparse X stays sparse and a file on disk is read in blocks.
Memory: a few vectors of length p and one block. Each product is one pass over rows; columns (CSC) take two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import Array
from ..contract.operator import CovarianceOperator
from ..sources.source import Offer, RowPasses, Source
from ..statistics.blocks import divisor
from ..statistics.column_moments import ColumnMoments
from ..statistics.rounding import ENTRY, UNIT, summation
from ..statistics.standard import Standard, check_totals, standards, sums_about
from .representation import PRODUCTS, How, Kind, Representation, Size

SPARSE = 25.0  # cost of one multiplication in a sparse product with a few vectors, in those of a large dense product


@dataclass(frozen=True)
class ImplicitCovariance(CovarianceOperator):
    """Covariance of standardised rows that are never formed."""

    rows: RowPasses
    mean: Array  # relative to the rows' origin
    factor: Array  # one over the deviations
    variances: Array  # of the standardised columns: 1, or what scaling left
    allowance: float = 0.0

    def error_at(self, size: float) -> float:
        # Scores and their products with the rows are off by a share of the size of each row: a root less than the trace.
        return self.allowance * min(1.0, float(np.sqrt(max(size, 0.0) / max(self.trace, np.finfo(float).tiny))))

    @property
    def size(self) -> int:
        return len(self.mean)

    @property
    def trace(self) -> float:
        return float(self.variances.sum())

    @property
    def magnitude(self) -> float:
        return self.trace

    def __matmul__(self, vectors: Array) -> Array:
        scaled = self.factor[:, np.newaxis] * vectors
        return self.finish(*self.rows.product(scaled, self.mean @ scaled))

    def finish(self, total: Array, sums: Array) -> Array:
        """From the product with uncentred rows to the product with the covariance."""
        total -= np.multiply.outer(self.mean, sums)
        total *= self.factor[:, np.newaxis] / divisor(self.rows.n)
        return total


def build(source: Source, how: How) -> Representation:
    """Target (first) and backgrounds, standardised implicitly."""
    rows, moments = source.rows()
    given = standards(moments, center=how.center, scale=how.scale)
    check_totals(moments, given, how.scale)
    operators = [_covariance(*parts) for parts in zip(rows, moments, given, strict=True)]
    return Representation("implicit", source.pencil(operators), given)


def _covariance(rows: RowPasses, m: ColumnMoments, standard: Standard) -> ImplicitCovariance:
    rows.origin = m.far_origin() if standard.center else None
    moved = standard.mean if rows.origin is None else standard.mean - rows.origin  # exact, or 0
    mean, factor = moved + standard.rest, standard.factor
    variances = sums_about(m, center=standard.center) / divisor(m.n) * factor**2
    # Rounding is relative to rows before their mean is taken out of the products.
    units = 2.0 * max(summation(m.n), rows.longest / 4.0) + summation(len(mean)) + ENTRY
    allowance = UNIT * units * float(variances.sum() + np.sum((mean * factor) ** 2))
    return ImplicitCovariance(rows, mean, factor, variances, allowance)


def cost(size: Size) -> float:
    """``2 N p`` for each vector of each pass (or twice the stored values), slower by what memory costs."""
    each = size.memory_bound * size.total * size.p if size.n_stored is None else SPARSE * size.n_stored
    return 2.0 * PRODUCTS * size.pass_cost * each


KIND = Kind("implicit", build, needs=Offer.ROWS, cost=cost, proven=False)
