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
    stop = rows[0].n
    groups = [1.0 - second, second]
    moments = [_moments(rows, member, stop) for member in groups]
    deviations = [np.sqrt(np.maximum(squares, 0.0)) for _, squares in moments]
    varies = np.minimum(*deviations) > CONSTANT * np.maximum(*deviations)
    scales = [np.ones_like(deviations[0])] * 2 if scale is False else deviations
    scales = [scales[0]] * 2 if scale == "target" else scales
    weights = [np.divide(1.0, part, out=np.zeros_like(part), where=varies) for part in scales]
    out = [
        _studentised(
            [
                _one(rows, member, weight, mean, column, stop, bool(scale))
                for member, weight, (mean, _) in zip(groups, weights, moments, strict=True)
            ],
            groups,
            layout,
        )
        for column in directions.T
    ]
    return np.stack(out, axis=1)


def _moments(rows: Sequence[ScaledRows], member: Array, stop: int) -> tuple[Array, Array]:
    """Means and variances of every feature in new datasets, (p, n)."""
    n = member.sum(axis=0)
    halves = (member[:stop], member[stop:])
    mean = sum(part.back(half) for part, half in zip(rows, halves, strict=True)) / n
    if not rows[0].centred:
        mean = np.zeros_like(mean)
    squares = sum(part.sums_of_squares(half) for part, half in zip(rows, halves, strict=True))
    return mean, (squares - n * mean**2) / divisor(n)


def _one(
    rows: Sequence[ScaledRows], member: Array, weight: Array, mean: Array, direction: Array, stop: int, scaled: bool
) -> tuple[Array, Array]:
    """Log variance of a new dataset along a direction, (n,), and the influence of each row on it, (N, n)."""
    n = member.sum(axis=0)
    filters = direction[:, np.newaxis] * weight
    scores = np.concatenate([part.scores(filters) for part in rows]) - (mean * filters).sum(axis=0)
    scores *= member
    squares = scores**2
    variance = np.maximum(squares.sum(axis=0) / divisor(n), np.finfo(float).tiny)
    influence = squares / variance
    if scaled:
        # A deviation that is too large makes the variance along v too small, in proportion to v_f (S v)_f.
        back = sum(part.back(half) for part, half in zip(rows, (scores[:stop], scores[stop:]), strict=True))
        pull = filters * back / (divisor(n) * variance) * weight**2
        influence = influence - member * np.concatenate([part.squares(pull) for part in rows])
    influence -= member * (influence.sum(axis=0) / n)
    return np.log(variance), influence / n


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
