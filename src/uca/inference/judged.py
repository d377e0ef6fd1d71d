"""p-values from the z-scores of all halves, and whether more halves could change the verdict.

For every background, and for the average direction, the mean of z over all halves is divided by the largest standard
deviation that it can have under the null hypothesis (:func:`spread`). The p-value of a component is the largest over these
(intersection-union), and p-values are monotone over components: "stop at the first that fails".

**Why the mean.** A single split is valid and depends on luck; twice the median p-value is valid under any dependence and
loses most of what repetition gains; folds that are pooled as if they were independent are liberal, because they share
training rows. In the limit of many rows the mean of z over all halves has variance at most 1/2 under the null hypothesis,
*whatever rule chooses the direction* (proof: ``docs/inference.md``), and one pair of halves at most 1: so H random halvings
have at most ``1/2 + 1/(2 H)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from .._types import Array
from ..operators.statistics.blocks import divisor
from .heldout import HeldOut
from .sample import Sample

SPREAD = (
    0.5  # variance of the mean z over all halves, under the null hypothesis: bound (docs/inference.md has the proof)
)
SPREAD_ONE = 1.0  # the same for one pair of halves
SMALL_SAMPLE = 6.0  # rows or subjects: what the smallest dataset's number adds to it, as 1 + SMALL_SAMPLE / number
SURE = 3.0  # random errors between a p-value and the level at which halvings end


def variance_of_mean(n_splits: int) -> float:
    """The most that the mean of z over H halvings may vary in large samples."""
    return SPREAD + (SPREAD_ONE - SPREAD) / n_splits


def spread(z: Array, smallest: int) -> Array:
    """Variance to allow the mean of z over all halves, axis 0, under the null hypothesis.

    ``1/2 + 1/(2 H)`` for H halvings is the most that it can be in large samples, where a single z has variance 1. Where the
    z of different halves agree more than that allows, as where a few rows decide in all of them, their mean varies by the
    rest; where they vary by more than 1, as with few rows or heavy tails, so does the mean. ``smallest`` is the number of
    independent rows or subjects of the smallest dataset: errors of few are uncertain themselves.
    """
    n_splits = len(z) // 2
    room = 1.0 + SMALL_SAMPLE / smallest
    share = variance_of_mean(n_splits)
    least = np.full(z.shape[1:], share)
    if n_splits == 1:
        return room * least
    within = _variance(z)
    return room * np.maximum.reduce([least, 1.0 - within, share * within])


def _variance(z: Array) -> Array:
    return ((z - z.mean(axis=0)) ** 2).sum(axis=0) / divisor(len(z))


@dataclass(frozen=True)
class Judged:
    """p-values, (m + 1, k), those of components, (k,), and the random errors of these, (k,); NaN after one halving."""

    separate: Array
    pvalues: Array
    errors: Array


def judge(halves: HeldOut, sample: Sample) -> Judged:
    """p-values from z of all halves, (halves, m + 1, k)."""
    allowed = np.sqrt(spread(halves.z, min(sample.n_subjects)))
    z = halves.z.mean(axis=0) / allowed
    separate = ndtr(-z)
    pairs = (halves.z[::2] + halves.z[1::2]) / 2
    luck = np.sqrt(_variance(pairs) / len(pairs)) if len(pairs) > 1 else np.nan
    error = norm.pdf(z) / allowed * luck
    # A component's p-value is the largest over backgrounds and over the components before it.
    flat = separate.max(axis=0)
    leading = np.array([np.argmax(flat[: i + 1]) for i in range(len(flat))])
    own = np.take_along_axis(error, separate.argmax(axis=0)[np.newaxis], axis=0)[0]
    return Judged(separate, flat[leading], own[leading])


def errors_from_level(p: float, error: float, alpha: float) -> float:
    """How many of its random errors a p-value is away from the level; infinite after one halving.

    As p or as normal deviates, whichever is less: the error of p shrinks with p, and p-values below the level would look
    more certain than those above.
    """
    z = float(-ndtri(p))
    density = float(norm.pdf(z))
    if not density or not error > 0:
        return float("inf")
    return min(abs(p - alpha), abs(z + float(ndtri(alpha))) * density) / error


def settled(judged: Judged, alpha: float) -> bool:
    """Whether no p-value that decides is nearer to the level than its random error allows."""
    for p, error in zip(judged.pvalues, judged.errors, strict=True):
        if errors_from_level(p, error, alpha) <= SURE:
            return False
        if p > alpha:
            break
    return True
