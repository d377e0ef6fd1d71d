"""How often rows with exchanged labels show as much: the answer for rare kinds of rows.

A kind of row that is rare in both datasets may be absent from a small background by chance. The background then looks narrow
along the direction of that kind, and sure of it: a standard error knows only the rows that are there. So the labels
"target" and "background" of the held-out rows are exchanged at random, the direction stays, and the studentised
difference of log variances is computed anew, scaled within the new datasets as the model scales. Where both datasets have
one law this holds for any law, but for what the centring and scaling of few rows by themselves changes.

Each dataset is centred (and with ``scale=True`` scaled) by itself before labels are exchanged: a difference in means or
units is no difference in variation. Whole subjects are exchanged; a subject with rows in both datasets keeps them
together, and either exchanges its two sides or does not.

Beyond the upper ``TAIL`` of the exchanged values, z is extrapolated in proportion, so that few exchanges do not limit it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from .._types import Array
from ..operators.statistics.blocks import divisor
from ..operators.statistics.standard import inverse
from .rows import ScaledRows

EXCHANGES = 99  # for each half; there are twenty halves and more
TAIL = 0.05  # beyond this quantile of the exchanged values z is extrapolated
CONSTANT = 1e-7  # a deviation below this share of the other dataset's is rounding
ROUNDING = 1e-9  # standard errors below this are rounding
CELLS = 2**22  # numbers in a buffer


@dataclass(frozen=True)
class _Layout:
    """Where the rows of two datasets, stacked, belong.

    Attributes
    ----------
    order, starts : integer arrays
        Rows sorted by subject, and where each subject begins among them.
    place : integer array of shape (N,)
        The subject of each row.
    paired : boolean array
        Subjects that have rows in both datasets.
    second : boolean array of shape (N,)
        Rows of the second dataset.
    """

    order: Array
    starts: Array
    place: Array
    paired: Array
    second: Array

    @classmethod
    def of(cls, subjects: Sequence[Array]) -> _Layout:
        everybody, place = np.unique(np.concatenate(list(subjects)), return_inverse=True)
        second = np.repeat([False, True], [len(codes) for codes in subjects])
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(everybody)))
        paired = np.isin(everybody, subjects[0]) & np.isin(everybody, subjects[1])
        return cls(order, starts, place, paired, second)

    def exchanged(self, n: int, rng: np.random.Generator) -> Array:
        """Membership in the second dataset, (N, n + 1); the first column is that of the data."""
        holds = np.zeros(len(self.paired), dtype=bool)  # which subjects are in the second dataset; of paired ones, all
        holds[self.place[self.second]] = True
        single = rng.permuted(np.tile(holds[~self.paired], (n, 1)), axis=1)
        flipped = rng.random((n, self.paired.sum())) < 0.5
        now = np.empty((n, len(self.paired)), dtype=bool)
        now[:, ~self.paired], now[:, self.paired] = single, flipped
        rows = now[:, self.place]
        rows = np.where(self.paired[self.place], self.second ^ rows, rows)
        return np.column_stack([self.second, rows.T]).astype(float)

    def sums(self, values: Array) -> Array:
        """Sums over the rows of each subject, (subjects, n)."""
        return np.add.reduceat(values[self.order], self.starts, axis=0)


def relabelled_z(
    rows: Sequence[ScaledRows],
    subjects: Sequence[Array],
    directions: Array,
    scale: bool | str,
    rng: np.random.Generator,
    n_exchanges: int = EXCHANGES,
) -> Array:
    """Deviates z of "the first dataset varies more than the second" along directions, (p, k), by exchanged labels; (k,)."""
    common = inverse(np.full(len(directions), np.sqrt(np.mean([part.deviation**2 for part in rows]))))
    for part in rows:
        part.factor = inverse(part.deviation) if scale is True else common
    layout = _Layout.of(subjects)
    second = layout.exchanged(n_exchanges, rng)
    size = max(1, CELLS // max(len(second), directions.shape[0]))
    parts = [second[:, i : i + size] for i in range(0, n_exchanges + 1, size)]
    values = np.concatenate([_differences(rows, layout, part, directions, scale) for part in parts])
    return np.array([_as_z(own, others) for own, *others in values.T])


def _as_z(own: float, others: Sequence[float]) -> float:
    """The place of the data's own value among exchanged ones, as a normal deviate."""
    among = np.asarray(others)
    share = (1.0 + np.sum(among >= own)) / (len(among) + 1)
    limit = float(np.sort(among)[math.ceil((1.0 - TAIL) * (len(among) + 1)) - 1])
    z = float(-ndtri(min(share, 1.0 - 0.5 / len(among))))
    return max(float(-ndtri(TAIL)) * own / limit, z) if own > limit > 0 else z


def _differences(
    rows: Sequence[ScaledRows], layout: _Layout, second: Array, directions: Array, scale: bool | str
) -> Array:
    """Studentised differences of log variances, (exchanges, k)."""
    groups = [1.0 - second, second]
    moments = [_moments(rows, member) for member in groups]
    deviations = [np.sqrt(np.maximum(squares, 0.0)) for _, squares in moments]
    varies = np.minimum(*deviations) > CONSTANT * np.maximum(*deviations)
    scales = [np.ones_like(deviations[0])] * 2 if scale is False else deviations
    scales = [scales[0]] * 2 if scale == "target" else scales
    weights = [np.divide(1.0, part, out=np.zeros_like(part), where=varies) for part in scales]
    # Whose rows the deviations come from.
    scaling = [None, None] if scale is False else [groups[0], groups[0] if scale == "target" else groups[1]]
    new = [
        _NewDataset(rows, *parts) for parts in zip(groups, (mean for mean, _ in moments), weights, scaling, strict=True)
    ]
    out = [_studentised([part.along(column) for part in new], groups, layout) for column in directions.T]
    return np.stack(out, axis=1)


def _moments(rows: Sequence[ScaledRows], member: Array) -> tuple[Array, Array]:
    """Means and variances of every feature in new datasets, (p, n)."""
    n = member.sum(axis=0)
    mean = _summed(rows, member) / n if rows[0].centred else np.zeros((len(rows[0].mean), len(n)))
    sides = zip(rows, _sides(rows, member), strict=True)
    squares = sum(part.sums_of_squares(side) for part, side in sides)
    return mean, (squares - n * mean**2) / divisor(n)


def _sides(rows: Sequence[ScaledRows], values: Array) -> tuple[Array, Array]:
    """Values of all rows, (N, n), by the dataset that the rows came from."""
    return values[: rows[0].n], values[rows[0].n :]


def _summed(rows: Sequence[ScaledRows], values: Array) -> Array:
    """``sum_i x_i z_i`` over all rows, (p, n)."""
    first, second = (part.back(side) for part, side in zip(rows, _sides(rows, values), strict=True))
    return first + second


def _centred(values: Array, member: Array) -> Array:
    """Values of members less their mean, over the number of members."""
    n = member.sum(axis=0)
    return member * (values - (member * values).sum(axis=0) / n) / n


@dataclass(frozen=True)
class _NewDataset:
    """Datasets that n exchanges make, one a column.

    Attributes
    ----------
    rows : sequence of ScaledRows
        All rows, by the dataset that they came from.
    member : array of shape (N, n)
        1 for rows of the new dataset.
    mean, weight : arrays of shape (p, n)
        Means of the features, and what these are multiplied with.
    scaling : array of shape (N, n) or None
        1 for the rows whose deviations are in ``weight``; None where nothing is scaled.
    """

    rows: Sequence[ScaledRows]
    member: Array
    mean: Array
    weight: Array
    scaling: Array | None

    def along(self, direction: Array) -> tuple[Array, Array]:
        """Log variance along a direction, (n,), and the influence of every row on it, (N, n)."""
        freedom = divisor(self.member.sum(axis=0))
        filters = direction[:, np.newaxis] * self.weight
        scores = np.concatenate([part.scores(filters) for part in self.rows])
        scores = self.member * (scores - (self.mean * filters).sum(axis=0))
        squares = scores**2
        variance = np.maximum(squares.sum(axis=0) / freedom, np.finfo(float).tiny)
        influence = _centred(squares / variance, self.member)
        if self.scaling is not None:
            # A deviation that is too large makes the variance along v too small, in proportion to v_f (S v)_f.
            pull = filters * _summed(self.rows, scores) / (freedom * variance) * self.weight**2
            influence -= _centred(np.concatenate([part.squares(pull) for part in self.rows]), self.scaling)
        return np.log(variance), influence


def _studentised(found: Sequence[tuple[Array, Array]], groups: Sequence[Array], layout: _Layout) -> Array:
    """The difference of two logs over its error; no dataset may claim to vary less, subject for subject, than both."""
    (first, one), (second, other) = found
    total = layout.sums(one - other)
    inside = layout.sums(groups[1]) > 0
    both = layout.paired[:, np.newaxis]
    sets = [~inside & ~both, inside & ~both]
    sizes = [np.maximum(member.sum(axis=0), 1) for member in sets]
    terms = [(member * total**2).sum(axis=0) for member in sets]
    together = sum(size**2 * term for size, term in zip(sizes, terms, strict=True)) / sum(sizes)
    single = sum(np.maximum(term, together / size) for size, term in zip(sizes, terms, strict=True))
    error = np.sqrt(single + (both * total**2).sum(axis=0))
    return (first - second) / np.maximum(error, ROUNDING)
