"""Variances along given directions on rows that did not choose them, and how sure they are.

For unit directions ``v`` the module estimates ``log v'Av``, ``log v'B_jv`` and their differences on held-out rows,
centred and scaled *within those rows* as the model centres and scales, and the influence of every row on each (the
delta method, in which the scaling takes part). Standard errors are sums of squared influences over subjects, so they
hold for heavy tails with four moments, for shapes that differ between datasets, and for repeated rows; degrees of
freedom are Welch's and Satterthwaite's over subjects.

Why not scale by the training part: the deviations of a training half err by some ten per cent a feature, independently
in target and background, and the test takes that for a difference (7 to 13 % rejections at nominal 5 %,
``benchmarks/inference``). Scaled within the held-out rows, the same error is part of the estimate and of its
influence, which is smaller as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri, stdtr

from .._types import Array
from ..operators.moments import deviations, divisor, inverse

LEAST = 1e-12  # a variance below this share of the average direction's is none
ROUNDING = 1e-9  # standard errors below this are rounding
FURTHEST = 8.0  # standard deviations; beyond it normal probabilities mean nothing


class _Rows:
    """Centred and scaled rows, dense or sparse, known through products."""

    def __init__(self, rows: Any, *, center: bool):
        n, p = rows.shape
        self.n = n
        self.mean = np.asarray(rows.mean(axis=0), dtype=float).ravel() if center else np.zeros(p)
        self._sparse = sparse.issparse(rows)
        # Sparse rows stay as they are and their means are subtracted from products.
        self._rows = rows if self._sparse else np.asarray(rows, dtype=float) - self.mean
        self._squares = rows.multiply(rows).tocsr() if self._sparse else self._rows**2
        self.variance = self._sums_of_squares() / divisor(n)
        dtype = rows.dtype if rows.dtype.kind == "f" else np.dtype(float)
        self.deviation = deviations(self.variance * divisor(n), self.mean, n, dtype)
        self.factor = np.ones(p)

    def _sums_of_squares(self) -> Array:
        if not self._sparse:
            return self._squares.sum(axis=0)
        sums = np.asarray(self._squares.sum(axis=0)).ravel()
        return np.maximum(sums - self.n * self.mean**2, 0.0)

    def scores(self, directions: Array) -> Array:
        """``x v`` for every row x and column v."""
        weights = directions * self.factor[:, np.newaxis]
        out = self._rows @ weights
        return out - self.mean @ weights if self._sparse else out

    def back(self, scores: Array) -> Array:
        """``sum_i x_i z_i``, (p, k)."""
        out = self._rows.T @ scores
        if self._sparse:
            out = out - np.multiply.outer(self.mean, scores.sum(axis=0))
        return out * self.factor[:, np.newaxis]

    def squares(self, weights: Array) -> Array:
        """``sum_f w_f x_f^2`` for every row x and column w."""
        weights = weights * self.factor[:, np.newaxis] ** 2
        out = self._squares @ weights
        if self._sparse:
            out = out - 2.0 * (self._rows @ (weights * self.mean[:, np.newaxis])) + (weights.T @ self.mean**2)
        return out


@dataclass(frozen=True)
class HeldOut:
    """What held-out rows say about k directions; the first row of each array is the target's.

    Attributes
    ----------
    log_variance, error : arrays of shape (m + 1, k)
        Log variances, and standard errors of these.
    z : array of shape (m + 1, k)
        How far the target exceeds each background, and (last) the average direction of the target, in standard deviations of
        a normal law.
    """

    log_variance: Array
    error: Array
    z: Array


def held_out(
    rows: Sequence[Any],
    subjects: Sequence[Array],
    components: Array,
    *,
    center: bool,
    scale: bool | str,
) -> HeldOut:
    """Measure components, (k, p), on rows of every dataset, target first."""
    directions = np.asarray(components, dtype=float).T
    sets = [_Rows(part, center=center) for part in rows]
    if scale:
        for part in sets:
            part.factor = inverse(sets[0].deviation if scale == "target" else part.deviation)
    average = float(np.mean(sets[0].variance * sets[0].factor ** 2))
    logs, own, through_target = [], [], []
    for j, part in enumerate(sets):
        z = part.scores(directions)
        variance = (z**2).sum(axis=0) / divisor(part.n)
        there = variance > LEAST * average
        variance = np.where(there, variance, LEAST * average)
        influence = z**2 / variance
        shift: Array | float = 0.0
        if scale:
            # A deviation that is too large makes the variance along v too small, in proportion to v_f (S v)_f.
            weights = directions * (part.back(z) / divisor(part.n)) / variance
            if j == 0 or scale is True:
                influence = influence - part.squares(weights)
            else:
                shift = _centred(-sets[0].squares(weights) * there)
        logs.append(np.log(variance))
        own.append(_centred(influence) * there)
        through_target.append(shift)
    z = np.stack(
        [
            *(
                _studentised(
                    logs[0] - logs[j],
                    [(subjects[0], own[0] - through_target[j]), (subjects[j], -own[j])],
                )
                for j in range(1, len(sets))
            ),
            _studentised(logs[0] - np.log(average), [(subjects[0], own[0] - _of_average(sets[0], bool(scale)))]),
        ]
    )
    errors = [
        _error([(subjects[0], through_target[j]), (subjects[j], own[j])] if j else [(subjects[0], own[0])])[0]
        for j in range(len(sets))
    ]
    return HeldOut(np.stack(logs), np.stack(errors), z)


def _centred(values: Array) -> Array:
    return values - values.mean(axis=0)


def _of_average(target: _Rows, scaled: bool) -> Array | float:
    """Influence of the target's rows on the log of its average variance; none where every feature is scaled to 1."""
    if scaled:
        return 0.0
    total = target.squares(np.ones((len(target.mean), 1)))
    return _centred(total / total.mean())


Parts = Sequence[tuple[Array, Any]]  # subjects of the rows of a dataset, and the influence of each row


def _error(parts: Parts) -> tuple[Array, Array]:
    """Standard error of a sum of means of influences, and its degrees of freedom; both of shape (k,)."""
    parts = [(codes, values) for codes, values in parts if not np.isscalar(values)]
    everybody, place = np.unique(np.concatenate([codes for codes, _ in parts]), return_inverse=True)
    k = parts[0][1].shape[1]
    sums, pattern, start = np.zeros((len(everybody), k)), np.zeros(len(everybody), dtype=int), 0
    for bit, (codes, values) in enumerate(parts):
        here = place[start : start + len(codes)]
        np.add.at(sums, here, values / len(codes))
        pattern[here] |= 1 << bit
        start += len(codes)
    # Subjects that occur in the same datasets are one sample; the samples are independent of one another.
    counts = np.bincount(pattern)
    found = [(n, (sums[pattern == value] ** 2).sum(axis=0)) for value, n in enumerate(counts) if n]
    terms = np.stack([square * n / max(n - 1, 0.5) for n, square in found])
    freedom = np.array([max(n - 1, 1) for n, _ in found], dtype=float)
    total = terms.sum(axis=0) + ROUNDING**2
    df = total**2 / (terms**2 / freedom[:, np.newaxis]).sum(axis=0).clip(min=np.finfo(float).tiny)
    return np.sqrt(total), np.maximum(df, 1.0)


def _studentised(difference: Array, parts: Parts) -> Array:
    """A difference of logs in standard errors, turned from Student's law to the normal one."""
    error, df = _error(parts)
    # Logs of equal variances differ by rounding, which is nothing however small the error.
    t = np.where(np.abs(difference) < 1e-10, 0.0, difference) / error
    z = np.where(t > 0, -ndtri(stdtr(df, -np.abs(t))), ndtri(stdtr(df, -np.abs(t))))
    return np.clip(z, -FURTHEST, FURTHEST)
