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
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from .._types import Array
from ..operators.statistics.blocks import divisor
from ..operators.statistics.standard import inverse
from .rows import ScaledRows
from .stacked import StackedRows

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
        ordered = values[self.order]
        return ordered if len(self.starts) == len(ordered) else np.add.reduceat(ordered, self.starts, axis=0)


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
    layout, stacked = _Layout.of(subjects), StackedRows(rows)
    second = layout.exchanged(n_exchanges, rng)
    size = max(1, CELLS // (2 * max(len(second), directions.shape[0])))
    parts = [second[:, i : i + size] for i in range(0, n_exchanges + 1, size)]
    values = np.concatenate([_differences(stacked, layout, part, directions, scale) for part in parts])
    return np.array([_as_z(own, others) for own, *others in values.T])


def _as_z(own: float, others: Sequence[float]) -> float:
    """The place of the data's own value among exchanged ones, as a normal deviate."""
    among = np.asarray(others)
    share = (1.0 + np.sum(among >= own)) / (len(among) + 1)
    limit = float(np.sort(among)[math.ceil((1.0 - TAIL) * (len(among) + 1)) - 1])
    z = float(-ndtri(min(share, 1.0 - 0.5 / len(among))))
    return max(float(-ndtri(TAIL)) * own / limit, z) if own > limit > 0 else z


def _differences(rows: StackedRows, layout: _Layout, second: Array, directions: Array, scale: bool | str) -> Array:
    """Studentised differences of log variances, (exchanges, k)."""
    new = _NewDatasets.of(rows, second, scale)
    samples = _Samples.of(layout, second)
    return np.stack([samples.studentised(*new.along(column)) for column in directions.T], axis=1)


@dataclass(frozen=True)
class _NewDatasets:
    """The datasets that n exchanges make: columns are n first ones, then n second ones.

    Attributes
    ----------
    rows : StackedRows
        All rows.
    member : array of shape (N, 2 n)
        1 for rows of the new dataset.
    weight : array of shape (p, 2 n)
        What features are multiplied with.
    scaling : array of shape (N, 2 n) or None
        1 for the rows whose deviations are in ``weight``; None where nothing is scaled.
    """

    rows: StackedRows
    member: Array
    weight: Array
    scaling: Array | None

    @classmethod
    def of(cls, rows: StackedRows, second: Array, scale: bool | str) -> _NewDatasets:
        """New datasets from membership in the second one, (N, n), scaled within themselves as the model scales."""
        member = np.hstack([1.0 - second, second])
        first, other = np.hsplit(_deviations(rows, member), 2)
        varies = np.minimum(first, other) > CONSTANT * np.maximum(first, other)
        if scale is False:
            return cls(rows, member, np.tile(varies.astype(float), 2), None)
        weight, its = (np.divide(1.0, part, out=np.zeros_like(part), where=varies) for part in (first, other))
        if scale == "target":  # deviations are those of the new first dataset
            return cls(rows, member, np.tile(weight, 2), np.tile(1.0 - second, 2))
        return cls(rows, member, np.hstack([weight, its]), member)

    @cached_property
    def _cube(self) -> Array:
        return np.asarray(self.weight * self.weight * self.weight)

    def _scores(self, v: Array) -> Array:
        """Scores of all rows, (N, 2 n); in common units, once for all exchanges that leave no feature constant."""
        if self.scaling is not None:
            return self.rows.scores(v * self.weight)
        scores = np.repeat(self.rows.scores(v), self.member.shape[1], axis=1)
        some = np.flatnonzero((self.weight == 0).any(axis=0))
        if len(some):
            scores[:, some] = self.rows.scores(v * self.weight[:, some])
        return scores

    def along(self, direction: Array) -> tuple[Array, Array]:
        """Log variances along a direction, (2 n,), and the influence of every row on each, (N, 2 n)."""
        n, v = self.member.sum(axis=0), direction[:, np.newaxis]
        freedom = divisor(n)
        scores = self.member * self._scores(v)
        if self.rows.centred:
            scores -= self.member * (scores.sum(axis=0) / n)
        squares = scores**2
        variance = np.maximum(squares.sum(axis=0) / freedom, np.finfo(float).tiny)
        influence = squares / variance
        if self.scaling is None:
            return np.log(variance), _centred(influence, self.member)
        # A deviation that is too large makes the variance along v too small, in proportion to v_f (S v)_f.
        pull = self.rows.back(scores / (freedom * variance))
        pull *= v
        pull *= self._cube
        through = self.rows.squares(pull)
        if self.scaling is self.member:
            return np.log(variance), _centred(influence - through, self.member)
        return np.log(variance), _centred(influence, self.member) - _centred(through, self.scaling)


def _deviations(rows: StackedRows, member: Array) -> Array:
    """Deviations of every feature in new datasets, (p, 2 n)."""
    n = member.sum(axis=0)
    squares = rows.sums_of_squares(member)
    if rows.centred:
        sums = rows.back(member)
        sums *= sums
        sums /= n
        squares -= sums
    squares /= divisor(n)
    return np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)


def _centred(values: Array, member: Array) -> Array:
    """Values of members less their mean, over the number of members."""
    n = member.sum(axis=0)
    values = member * values
    values -= member * (values.sum(axis=0) / n)
    values /= n
    return values


@dataclass(frozen=True)
class _Samples:
    """Who is in which new dataset: subjects of the first alone, of the second alone, of both; (subjects, n) each."""

    layout: _Layout
    sets: tuple[Array, Array]
    sizes: tuple[Array, Array]

    @classmethod
    def of(cls, layout: _Layout, second: Array) -> _Samples:
        inside, single = layout.sums(second) > 0, ~layout.paired[:, np.newaxis]
        one, other = ~inside & single, inside & single
        sizes = (np.maximum(one.sum(axis=0), 1), np.maximum(other.sum(axis=0), 1))
        return cls(layout, (one, other), sizes)

    def studentised(self, logs: Array, influence: Array) -> Array:
        """Differences of two logs over their errors; no dataset may claim to vary less, subject for subject, than both."""
        (first, second), (one, other) = np.split(logs, 2), np.hsplit(influence, 2)
        squares = self.layout.sums(one - other) ** 2
        terms = [np.where(member, squares, 0.0).sum(axis=0) for member in self.sets]
        pairs = list(zip(self.sizes, terms, strict=True))
        together = sum(size**2 * term for size, term in pairs) / sum(self.sizes)
        single = sum(np.maximum(term, together / size) for size, term in pairs)
        error = np.sqrt(single + squares[self.layout.paired].sum(axis=0))
        return np.asarray((first - second) / np.maximum(error, ROUNDING))
