"""What in the rows makes a test less sure than its p-value says: tails, dependence, few rows.

None of these changes a p-value. Each is a fact about all rows along the components of a fit to all rows, and becomes a
sentence of the result where it passes a limit.

- **Tails.** Equal variances with different shapes: a background whose variance lies in rare far rows looks narrower in most
  samples than it is, and no test of variances can know the rows that it has not seen. The weight of the tails is
  ``mean(d^4) / mean(d^2)^2`` of the distances d of rows from their mean; what counts is the background's beside the
  target's.
- **Dependence.** Rows that follow one another in a time series, or belong to one subject, are alike. If rows are
  independent, their order is arbitrary, and autocorrelations along any direction have standard error ``1 / sqrt(n)``,
  however the direction was found. Where subjects are given, the mean scores of subjects take the place of rows.
- **Copies.** Rows that occur more than once, in whatever order. Whole numbers (counts, answers) may agree by chance: rows of
  these do not count. Rows that are merely close, as those of one subject, cannot be told from rows of one kind.
- **Few rows.** Half of a component's variance in the target lies in one row, or in no more than one row in twenty
  (:mod:`.leverage`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._types import Array
from ..estimators.bounded import BoundedTransformer
from ..operators.statistics.standard import inverse
from .gapped import without_gaps
from .leverage import RowLeverage, leverage_of
from .rows import ScaledRows
from .sample import Sample

HEAVIER = 1.5  # times the target's weight of tails
ALIKE = 3.5  # standard errors of an autocorrelation
WINDOWS = (1, 5)  # lags that are added up: neighbours, and a slow drift
LEAST_ORDERED = 16  # rows, or subjects, whose order is looked at


@dataclass(frozen=True, eq=False)
class RowFacts:
    """Facts about all rows along k components.

    Attributes
    ----------
    tails : array of shape (m + 1,)
        Weight of the tails of every dataset, target first.
    autocorrelation : array of shape (m + 1, k)
        Correlation of neighbouring scores in the order of the rows (of subjects, where they are known).
    dependent : boolean array of shape (m + 1, k)
        Whether neighbours are more alike than chance makes independent rows.
    leverage : RowLeverage
        Of the target's rows.
    copies : tuple of int
        Rows of every dataset that repeat an earlier one.
    """

    tails: Array
    autocorrelation: Array
    dependent: Array
    leverage: RowLeverage
    copies: tuple[int, ...]

    @property
    def heavier(self) -> Array:
        """Which backgrounds have clearly heavier tails than the target, (m,)."""
        return self.tails[1:] > HEAVIER * self.tails[0]


def examine(sample: Sample, components: Array, model: BoundedTransformer) -> RowFacts:
    """Look at all rows along components, (k, p), in the units of a model."""
    sets = [ScaledRows(without_gaps(rows), center=bool(model.center), pull=False) for rows in sample.arrays]
    for part in sets:
        if model.scale is not False:
            part.factor = inverse(sets[0].deviation if model.scale == "target" else part.deviation)
    scores = [part.scores(components.astype(float).T) for part in sets]
    ordered = [by_subject(z, codes) if sample.grouped else z for z, codes in zip(scores, sample.subjects, strict=True)]
    neighbours = [_neighbours(z) for z in ordered]
    return RowFacts(
        tails=np.array([_tails(part) for part in sets]),
        autocorrelation=np.stack([r for r, _ in neighbours]),
        dependent=np.stack([far > ALIKE for _, far in neighbours]),
        leverage=leverage_of(scores[0], center=False, prefix=model.component_prefix),
        copies=tuple(map(copies, sample.arrays)),
    )


def copies(rows: Any) -> int:
    """Rows that repeat an earlier one; 0 where all numbers are whole."""
    values = rows.data if sparse.issparse(rows) else rows
    if np.all((values == np.round(values)) | (values != values)):
        return 0
    if sparse.issparse(rows):
        rows = rows.sorted_indices()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        each = {hash((rows.indices[a:b].tobytes(), rows.data[a:b].tobytes())) for a, b in ends}
    else:
        each = {hash(row.tobytes()) for row in rows}
    return int(rows.shape[0] - len(each))


def by_subject(scores: Array, codes: Array) -> Array:
    """Mean scores of subjects, in the order in which they first occur."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    sums = np.zeros((len(first), scores.shape[1]))
    np.add.at(sums, place, scores)
    return (sums / np.bincount(place)[:, np.newaxis])[np.argsort(first)]


def _tails(part: ScaledRows) -> float:
    squares = part.squares(np.ones((len(part.mean), 1)))[:, 0]
    mean = squares.mean()
    return float((squares**2).mean() / mean**2) if mean > 0 else 1.0


def _neighbours(scores: Array) -> tuple[Array, Array]:
    """Autocorrelation at lag 1, and the largest sum over a window in standard errors; of scores and of their squares."""
    plain, squared = (_correlations(values) for values in (scores, scores**2))
    far = [
        np.sqrt(len(scores) / window) * r[:window].sum(axis=0)
        for window in WINDOWS
        for r in (plain, squared)
        if len(scores) >= LEAST_ORDERED
    ]
    return np.where(plain[0] > squared[0], plain[0], squared[0]), np.max([np.zeros(scores.shape[1]), *far], axis=0)


def _correlations(values: Array) -> Array:
    """Autocorrelations at lags 1 to the longest window, (lags, k)."""
    centred: Any = values - values.mean(axis=0)
    total = (centred**2).sum(axis=0)
    lags = [(centred[lag:] * centred[:-lag]).sum(axis=0) for lag in range(1, max(WINDOWS) + 1)]
    return np.divide(lags, total, out=np.zeros((len(lags), len(total))), where=total > 0)
