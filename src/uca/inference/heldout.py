"""Variances along given directions on held-out rows, and how sure they are.

For unit directions ``v`` the module estimates ``log v'Av``, ``log v'B_jv`` and their differences on held-out rows, centred
and scaled *within those rows* as the model centres and scales, and the influence of every row on each (the delta method,
in which the scaling takes part). Standard errors are those of a jackknife over subjects made from the influences, so they
hold for shapes that differ between datasets and for repeated rows; degrees of freedom are Welch's and Satterthwaite's over
subjects.

Where each dataset is scaled by itself, rows further than ``FAR`` times the median distance from the mean are pulled in to
that distance, along the line to the mean, before anything is measured: with heavy tails a single row would otherwise decide.
For elliptical laws this leaves correlations as they are, and it costs no power on normal data (``benchmarks/inference``).
For others it may not: a factor that lives in few rows of the background is shrunk. So where rows were pulled in, z is also
computed from the rows as they are, and the smaller one counts. In common units pulling would take variance from the dataset
with the heavier tails, so nothing is pulled in there.

Where values are missing, squares are expected squares and errors make room for what is not known (:mod:`.gapped`).

A feature that is constant in the held-out rows of one dataset counts in none, nor in the average direction: a rare count or
a rare variant that the small background happens not to show is not unique to the target.

Why not scale by the training part: the deviations of a training half err by some ten per cent a feature, independently in
target and background, and the test takes that for a difference (7 to 13 % rejections at nominal 5 %). Scaled within the
held-out rows, the same error is part of the estimate and of its influence, which is smaller as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr

from .._types import Array
from ..operators.statistics.blocks import divisor
from ..operators.statistics.standard import inverse
from .gapped import completed_rows, scaled
from .relabelled import relabelled_z
from .rows import ScaledRows

LEAST = 1e-12  # a variance below this share of the average direction's is none
ROUNDING = 1e-9  # standard errors below this are rounding
FURTHEST = 8.0  # standard deviations; beyond it normal probabilities mean nothing
LARGEST_SHARE = 0.95  # of an estimate that a jackknife lets one subject hold


@dataclass(frozen=True)
class HeldOut:
    """What held-out rows say about k directions; the first row of each array is the target's.

    Attributes
    ----------
    log_variance, error, df : arrays of shape (m + 1, k)
        Log variances, standard errors of these, and the degrees of freedom of the errors.
    kept : array of shape (k,)
        Share of each direction (of its squared length) in features that count.
    z : array of shape (m + 1, k)
        How far the target exceeds each background, and (last) the average direction of the target, in standard deviations of
        a normal law.
    """

    log_variance: Array
    error: Array
    df: Array
    kept: Array
    z: Array


def held_out(
    rows: Sequence[Any],
    subjects: Sequence[Array],
    components: Array,
    *,
    center: bool,
    scale: bool | str,
    rng: np.random.Generator | None = None,
    exchanged: int | None = None,
) -> HeldOut:
    """Measure components, (k, p), on rows of every dataset, target first.

    With ``rng``, z by exchanged labels counts too, for the leading ``exchanged`` components (None: for all).
    """
    whose = ["the target", *(f"background {j}" for j in range(1, len(rows)))]
    filled = [completed_rows(part, f"the held-out half of {name}") for part, name in zip(rows, whose, strict=True)]
    pairs = list(zip(rows, filled, strict=True))
    sets = [scaled(*pair, center=center, pull=scale is True) for pair in pairs]
    found = _measure(sets, subjects, components, scale)
    if any(part.pulled for part in sets):
        sets = [scaled(*pair, center=center, pull=False) for pair in pairs]
        found = replace(found, z=np.minimum(found.z, _measure(sets, subjects, components, scale).z))
    if rng is None or exchanged == 0:
        return found
    which = slice(exchanged)
    by_labels = by_exchanged_labels(
        rows, subjects, components[which], center=center, scale=scale, rng=rng, filled=filled
    )
    return replace(found, z=smaller(found.z, by_labels, which))


def by_exchanged_labels(
    rows: Sequence[Any],
    subjects: Sequence[Array],
    components: Array,
    *,
    center: bool,
    scale: bool | str,
    rng: np.random.Generator,
    filled: Sequence[Any] | None = None,
) -> Array:
    """The z of the target against each background, (m, k), by exchanged labels (:mod:`.relabelled`).

    ``filled`` holds the laws of values that are missing, from which gaps are drawn: labels of rows are exchanged, so rows
    have to be whole.
    """
    laws = [None] * len(rows) if filled is None else filled
    whole = [part if law is None else law.drawn(rng) for part, law in zip(rows, laws, strict=True)]
    sets = [ScaledRows(part, center=center, pull=False) for part in whole]
    directions = np.asarray(components, dtype=float).T
    pairs = zip(sets[1:], subjects[1:], strict=True)
    return np.stack(
        [relabelled_z((sets[0], part), (subjects[0], codes), directions, scale, rng) for part, codes in pairs]
    )


def smaller(z: Array, by_labels: Array, which: slice) -> Array:
    """The smaller z: of a :class:`HeldOut`, (m + 1, k), and by exchanged labels of the components ``which``."""
    out = z.copy()
    out[:-1, which] = np.minimum(out[:-1, which], by_labels)
    return out


def _measure(sets: Sequence[ScaledRows], subjects: Sequence[Array], components: Array, scale: bool | str) -> HeldOut:
    varies = np.all([part.deviation > 0 for part in sets], axis=0)
    whole = np.asarray(components, dtype=float).T
    directions = whole * varies[:, np.newaxis]
    if scale:
        for part in sets:
            part.factor = inverse(sets[0].deviation if scale == "target" else part.deviation)
    average = _average(sets[0], varies)
    logs, own = [], []
    through_target: list[Array] = []
    for j, part in enumerate(sets):
        z = part.scores(directions)
        squares = part.squared_scores(directions)
        variance = squares.sum(axis=0) / divisor(part.n)
        there = variance > LEAST * average
        variance = np.where(there, variance, LEAST * average)
        influence = squares / variance
        shift = np.zeros((sets[0].n, directions.shape[1]))
        if scale:
            # A deviation that is too large makes the variance along v too small, in proportion to v_f (S v)_f.
            weights = directions * (part.image(z, directions) / divisor(part.n)) / variance
            if j == 0 or scale is True:
                influence = influence - part.squares(weights)
            else:
                shift = _centred(-sets[0].squares(weights) * there)
        logs.append(np.log(variance))
        known = part.information(directions, variance)
        own.append(_centred(influence) * there / known)
        through_target.append(shift / known)
    errors, df, _ = zip(
        *(
            _error([(codes, own[j], 1), *([(subjects[0], through_target[j], 1)] if scale == "target" and j else [])])
            for j, codes in enumerate(subjects)
        ),
        strict=True,
    )
    against = [
        _studentised(logs[0] - logs[j], [(subjects[0], own[0] - through_target[j], 1), (subjects[j], own[j], -1)])
        for j in range(1, len(sets))
    ]
    typical = own[0] - _of_average(sets[0], varies, bool(scale))
    return HeldOut(
        np.stack(logs),
        np.stack(errors),
        np.stack(df),
        (directions**2).sum(axis=0) / (whole**2).sum(axis=0),
        np.stack([*against, _studentised(logs[0] - np.log(average), [(subjects[0], typical, 1)])]),
    )


def _centred(values: Array) -> Array:
    return values - values.mean(axis=0)


def _average(target: ScaledRows, varies: Array) -> float:
    """The target's variance along an average direction of the features that count."""
    variances = (target.deviation * target.factor)[varies] ** 2
    return float(variances.mean()) if len(variances) else 1.0


def _of_average(target: ScaledRows, varies: Array, scaled: bool) -> Array | float:
    """Influence of the target's rows on the log of its average variance; none where every feature is scaled to 1."""
    if scaled or not varies.any():
        return 0.0
    total = target.squares(varies[:, np.newaxis].astype(float))
    return _centred(total / total.mean())


Parts = Sequence[tuple[Array, Array, int]]  # subjects of the rows of a dataset, influence of each row, and its sign


def _error(parts: Parts, *, pooled: bool = False) -> tuple[Array, Array, Array]:
    """Standard error of a signed sum of logs, its degrees of freedom, and its bias; each of shape (k,).

    The mean influence of a subject's rows is what leaving the subject out changes, to first order; in a log it is
    ``-log(1 - change)``, which is larger where one subject holds much of the estimate. ``pooled`` lets no sample claim to
    vary less, subject for subject, than all do together: errors of a few subjects are themselves uncertain, and small where
    the variance happens to be small. The log of an estimated variance lies below the log of the variance by half its own
    variance, on the average: where a background is small, that makes the target look larger.
    """
    everybody, place = np.unique(np.concatenate([codes for codes, _, _ in parts]), return_inverse=True)
    total = np.zeros((len(everybody), parts[0][1].shape[1]))
    pattern, start = np.zeros(len(everybody), dtype=int), 0
    for bit, (codes, values, sign) in enumerate(parts):
        here = place[start : start + len(codes)]
        sums = np.zeros_like(total)
        np.add.at(sums, here, values / len(codes))
        rest = 1.0 - np.bincount(here, minlength=len(everybody))[:, np.newaxis] / len(codes)  # rows without the subject
        total -= sign * np.log1p(-np.minimum(sums / rest, LARGEST_SHARE))
        pattern[here] |= 1 << bit
        start += len(codes)
    # Subjects that occur in the same datasets are one sample; the samples are independent of one another.
    counts = [(value, n) for value, n in enumerate(np.bincount(pattern)) if n]
    terms = np.stack([(total[pattern == value] ** 2).sum(axis=0) * max(n - 1, 1) / n for value, n in counts])
    sizes = np.array([[n] for _, n in counts], dtype=float)
    if pooled:
        together = (sizes**2 * terms).sum(axis=0) / sizes.sum()  # variance for one subject, over all samples
        terms = np.maximum(terms, together / sizes)
    freedom = np.maximum(sizes - 1.0, 1.0)
    variance = terms.sum(axis=0) + ROUNDING**2
    df = variance**2 / (terms**2 / freedom).sum(axis=0).clip(min=np.finfo(float).tiny)
    # Subjects in both datasets move both logs; only what is in one alone counts here.
    signs = np.array([[parts[value.bit_length() - 1][2] if value.bit_count() == 1 else 0] for value, _ in counts])
    return np.sqrt(variance), np.maximum(df, 1.0), -0.5 * (signs * terms).sum(axis=0)


def _studentised(difference: Array, parts: Parts) -> Array:
    """A difference of logs in standard errors, turned from Student's law to the normal one."""
    error, df, bias = _error(parts, pooled=True)
    if len(parts) > 1:
        difference = difference - np.maximum(bias, 0.0)
    # Logs of equal variances differ by rounding, which is nothing however small the error.
    t = np.where(np.abs(difference) < 1e-10, 0.0, difference) / error
    tail = ndtri(stdtr(df, -np.abs(t)))  # of the smaller side, where digits are
    return np.clip(np.where(t > 0, -tail, tail), -FURTHEST, FURTHEST)
