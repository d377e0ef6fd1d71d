"""Variances that new rows are expected to show along fitted components, with intervals.

The variance of the rows that a model was fitted to is optimistic: the fit chose the components for it, so in the target it
is too large, and in a background that a bound holds it is too small. Two estimates of that optimism are at hand. Resamples:
a component of resampled rows has one variance in these and another in all rows, which stand for the law (Efron's optimism).
Folds: the model is fitted without a tenth of the subjects, and these show their variance along it (cross-validation). Where
rows are few beside features the first takes out too little and the second too much, so the mean of the two logs is taken,
and half of their difference is part of the error. The rest of the error is the spread, over resamples, of the log of one
variance over the other: how far the rows of a fit are from the law along their own component. For the target, along whose
rows the component was chosen to vary most, that spread is too small where rows are few or tails are heavy, and is widened by
``(1 + WIDER / f)^(1/2)`` for f degrees of freedom (measured: without it intervals cover 88 to 95 %).

Variances are in the units of the fit: each dataset is centred and scaled as it was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from .._subjects import folds
from .._types import Array
from ..estimators.bounded import BoundedTransformer
from ..fitted import background_in_fit, target_in_fit
from ..operators.gaps.law import Completed
from ..operators.sources.chunks import project
from ..operators.statistics.blocks import divisor
from .parallel import run
from .parameters import check_model
from .sample import Sample

N_FOLDS, N_ROUNDS, N_HALVINGS = 10, 2, 5  # 30 fits beside those of the resamples
PRODUCTS = 4.0  # of two normal values: as many tell of their spread what one normal value tells of its own
WIDER = 9.0  # degrees of freedom, by which the target's spread over resamples is widened
FEWEST = 4.0  # degrees of freedom, where there are so many


@dataclass(frozen=True)
class NewRowVariances:
    """Estimates, errors of their logs, and ends of intervals, NaN where there is none; (k, m + 1), target first."""

    value: Array
    error: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class AllRows:
    """Rows of every dataset, centred and scaled as in the fit of all of them; gaps are completed by the laws of that fit."""

    arrays: tuple[Any, ...]
    means: tuple[Array, ...]
    factors: tuple[Array, ...]
    completed: tuple[Completed | None, ...]

    @classmethod
    def of(cls, sample: Sample, fitted: BoundedTransformer) -> AllRows:
        """The rows that a model was fitted to."""
        others = (background_in_fit(fitted, array) for array in sample.arrays[1:])
        parts = (target_in_fit(fitted, sample.arrays[0]), *others)
        return cls(
            tuple(part.rows for part in parts),
            tuple(part.standard.mean + part.standard.rest for part in parts),
            tuple(part.standard.factor for part in parts),
            tuple(part.completed for part in parts),
        )

    def _squares(self, j: int, components: Array, chosen: Array | None = None) -> Array:
        """Squared scores of rows of a dataset, (n, k); where values are missing, what they are expected to be."""
        weights = (components * self.factors[j]).T
        rows, completed = self.arrays[j], self.completed[j]
        squares = project(rows if chosen is None else rows[chosen], self.means[j], weights) ** 2
        if completed is None:
            return squares
        unknown = completed.along(weights)
        return squares + (unknown if chosen is None else unknown[chosen])

    def sums_of_squares(self, components: Array, chosen: Sequence[Array] | None = None) -> Array:
        """Of the scores of all rows, or of those chosen, about the mean of all; (k, m + 1)."""
        parts = [
            self._squares(j, components, None if chosen is None else chosen[j]).sum(axis=0)
            for j in range(len(self.arrays))
        ]
        return np.stack(parts, axis=1)

    def freedom(self, components: Array, subjects: Sequence[Array]) -> Array:
        """Degrees of freedom of an error of each dataset's variances, (m + 1, k)."""
        return np.stack([freedom_of(self._squares(j, components), codes) for j, codes in enumerate(subjects)])

    def variances(self, sums: Array) -> Array:
        """From sums of squares over all rows."""
        return sums / divisor(np.array([array.shape[0] for array in self.arrays]))


def fit_without(fold: Sequence[Array], sample: Sample, fitted: BoundedTransformer, rows: AllRows) -> tuple[Array, bool]:
    """Sums of squares of the rows of a fold along components fitted without it, and whether that fit converged."""
    model = sample.fit_part(
        check_model(fitted, proof="none"), [~side for side in fold], "rows without some that are held out"
    )
    squares = rows.sums_of_squares(model.components_.astype(float), fold)
    return squares, model.certificate_.status == "optimal"


@dataclass(frozen=True)
class HeldOutRows:
    """What rows show along components that were fitted without them.

    Attributes
    ----------
    variances : array of shape (k, m + 1)
        By tenths of the subjects.
    above_average : array of shape (k,)
        By halves: mean log of the target's variance over that of an average direction. Half of the rows knows nothing of the
        other half, whereas nine tenths are nearly the fit itself, so only halves tell a component from noise.
    n_unconverged : int
    """

    variances: Array
    above_average: Array
    n_unconverged: int


def hold_out(
    stream: np.random.SeedSequence, sample: Sample, fitted: BoundedTransformer, rows: AllRows, n_jobs: int | None
) -> HeldOutRows:
    """Fit without tenths and without halves of the subjects, several times."""
    rng = np.random.default_rng(stream)
    tenths = [fold for _ in range(N_ROUNDS) for fold in folds(sample.subjects, N_FOLDS, rng)]
    halves = [
        fold for _ in range(N_HALVINGS) for fold in folds(sample.subjects, 2, rng) if _can_be_fitted(sample, fold)
    ]
    found = run(fit_without, [*tenths, *halves], sample, fitted, rows, n_jobs=n_jobs)
    sums = np.stack([squares for squares, _ in found])
    counts = np.array([[np.count_nonzero(fold[0])] for fold in halves])
    with np.errstate(divide="ignore"):
        logs = np.log(sums[len(tenths) :, :, 0] / (divisor(counts) * average_variance(fitted)))
    return HeldOutRows(
        rows.variances(sums[: len(tenths)].sum(axis=0) / N_ROUNDS),
        logs.mean(axis=0) if halves else np.full(sums.shape[1], -np.inf),
        sum(not converged for _, converged in found),
    )


def _can_be_fitted(sample: Sample, fold: Sequence[Array]) -> bool:
    """Whether every dataset has two subjects on each side."""
    sides = zip(sample.subjects, fold, strict=True)
    return all(min(len(np.unique(codes[side])), len(np.unique(codes[~side]))) >= 2 for codes, side in sides)


def average_variance(model: BoundedTransformer) -> float:
    """The target's variance along an average direction."""
    total = float(model.explained_variance_[0]) / float(model.explained_variance_ratio_[0])
    return total / model.n_features_in_


def expected_variances(
    in_sample: Array, by_folds: Array, resampled: Array, in_all_rows: Array, freedom: Array, level: float
) -> NewRowVariances:
    """Variances that new rows are expected to show along the components of all rows.

    Parameters
    ----------
    in_sample : array of shape (k, m + 1)
        Of the rows of the fit.
    by_folds : array of shape (k, m + 1)
        Of rows that were held out, along components fitted without them.
    resampled, in_all_rows : arrays of shape (r, k, m + 1)
        Along the components of each resample: of its own rows, and of all rows.
    freedom : array of shape (m + 1, k)
        Degrees of freedom of errors of each dataset's variances. All datasets choose the components, so intervals go by the
        fewest.
    level : float
        Of the intervals.
    """
    parts = (in_sample[np.newaxis], by_folds[np.newaxis], resampled, in_all_rows)
    there = np.all([(part > 0).all(axis=0) for part in parts], axis=0)  # logs of variances that are 0 say nothing
    fit, folds, own, whole = (np.log(np.where(there, part, 1.0)) for part in parts)
    optimism = own - whole
    by_resamples = fit[0] - optimism.mean(axis=0)
    middle = (by_resamples + folds[0]) / 2
    spread = optimism.std(axis=0)
    spread[:, 0] *= np.sqrt(1.0 + WIDER / freedom[0])
    error = np.hypot(spread, (by_resamples - folds[0]) / 2)
    half = student(level, freedom.min(axis=0))[:, np.newaxis] * error
    ends = (np.where(there, np.exp(middle + sign * half), np.nan) for sign in (-1, 1))
    return NewRowVariances(np.where(there, np.exp(middle), by_folds), np.where(there, error, np.nan), *ends)


def freedom_of(squares: Array, codes: Array) -> Array:
    """Degrees of freedom of an error that rests on squares, (n, k), of rows with these subjects; (k,).

    An estimate of spread from n values of kurtosis c is as rough as one from 2n / (c - 1) normal values. Squares of normal
    scores have kurtosis 15, which leaves a seventh; heavy tails leave less, sums over the rows of a subject more.
    """
    everybody, place = np.unique(codes, return_inverse=True)
    n = len(everybody)
    sums = np.zeros((n, squares.shape[1]))
    np.add.at(sums, place, squares)
    sums -= sums.mean(axis=0)
    sums /= np.maximum(np.abs(sums).max(axis=0), np.finfo(float).tiny)  # no powers of units
    second, fourth = (np.mean(sums**power, axis=0) for power in (2, 4))
    kurtosis = np.divide(fourth, second**2, out=np.full(len(second), 3.0), where=second > 0)
    return np.clip(2.0 * n / np.maximum(kurtosis - 1.0, 1.0), min(FEWEST, divisor(n)), divisor(n))


def student(level: float, freedom: Any) -> Any:
    """How many errors an interval reaches to each side."""
    return stdtrit(freedom, (1.0 + level) / 2)


def freedom_of_products(n: int) -> float:
    """Degrees of freedom of an error that rests on products of two scores, as those of loadings do, of n subjects."""
    return max(divisor(n) / PRODUCTS, min(FEWEST, divisor(n)))
