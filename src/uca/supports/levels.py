"""Proof by enumeration: all supports of k features on which a contrast has an eigenvalue of at least tau.

If ``lambda_max(C_S) = mu`` on a support of r features, then some r - 1 of them have

    lambda_max >= ((r - 2) mu + min_i C_ii) / (r - 1):

with v the eigenvector, taking feature i out leaves ``mu - 2 mu v_i^2 + C_ii v_i^2`` over a squared length of ``1 - v_i^2``,
and a weighted mean of these quotients, with weights ``1 - v_i^2`` that sum to r - 1, is at least that. So thresholds for
k - 1, k - 2, ..., 2 features follow from tau, and every support in question can be reached from a pair by adding one feature
after the other without ever falling below the threshold of its level. Each level is made from the one before: supports
are kept once, whatever the order in which they are reached, and children are told by the sign of the secular function, with
no eigenproblem of their own.

Supports that no f further features can lift to tau are dropped on the way: on S and any such F, the eigenvalue is at most
the larger one of ``[[mu_S, o], [o, h_f]]``, where h_f bounds C on any f features and ``o^2`` is the sum of the f largest
squared couplings to S.

Thresholds are lowered by ``SLACK`` for rounding, which can only add supports.

A level is larger than the one before by a factor that itself falls from level to level, by about the same share each time.
So the largest level can be foreseen from three of them, and where it is far too large the proof is given up early.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Array
from .beam import CELLS
from .bordered import Bordered, distinct, pairs
from .threshold import bounds_by_size

SLACK = 1e-9  # of thresholds, relative to the largest entry of the contrast
MOST = 2_000_000  # supports of one level
HOPELESS = 4.0  # times that many, foreseen: given up
LEVELS_BEFORE = 3  # that a foresight needs
DEAR = 2e7  # numbers that make up a level, below which the next one costs little: it is made, whatever is foreseen


@dataclass(frozen=True)
class Listed:
    """Supports that were not ruled out, (n, k); None where there are too many of them, or no time."""

    supports: Array | None
    out_of_time: bool = False


def all_supports(contrast: Array, k: int, tau: float, deadline: float) -> Listed:
    """Every support of ``k >= 2`` features with ``lambda_max >= tau``, and perhaps more.

    None where there are too many on some level, or the moment ``deadline`` of ``time.perf_counter`` comes first.
    """
    slack = SLACK * max(float(np.abs(contrast).max()), np.finfo(float).tiny)
    thresholds = _thresholds(contrast, k, tau) - slack
    further = bounds_by_size(contrast, k)
    supports, values = pairs(contrast)
    supports = supports[values >= thresholds[2]]
    counts = [len(supports)]
    for r in range(2, k):
        if counts[-1] * r * len(contrast) > DEAR and _foreseen(counts, k - r) > HOPELESS * MOST:
            return Listed(None)
        larger = _next(contrast, supports, thresholds[r + 1], tau - slack, further[k - r], k - r, deadline)
        if larger.supports is None:
            return larger
        supports = larger.supports
        counts.append(len(supports))
    return Listed(supports)


def _foreseen(counts: Sequence[int], n_further: int) -> float:
    """The largest of so many further levels, from the numbers of supports of those before; nothing rests on it."""
    if len(counts) < LEVELS_BEFORE or not counts[-1]:
        return float(counts[-1])
    factor, before = counts[-1] / counts[-2], counts[-2] / counts[-3]
    fall, largest = min(factor / before, 1.0), float(counts[-1])
    for _ in range(n_further):
        factor *= fall
        if factor <= 1.0:
            break
        largest *= factor
    return largest


def _thresholds(contrast: Array, k: int, tau: float) -> Array:
    """For supports of 0, 1, ..., k features."""
    least = float(contrast.diagonal().min())
    out = np.full(k + 1, -np.inf)
    out[k] = tau
    for r in range(k, 2, -1):
        out[r - 1] = ((r - 2) * out[r] + least) / (r - 1)
    return out


def _next(
    contrast: Array, supports: Array, threshold: float, tau: float, further: float, n_further: int, deadline: float
) -> Listed:
    """The supports of the next level."""
    p, r = len(contrast), supports.shape[1]
    step = max(1, CELLS // (r * p))
    found, total = [], 0
    for i in range(0, len(supports), step):
        if time.perf_counter() > deadline:
            return Listed(None, out_of_time=True)
        part = _that_can_reach(contrast, supports[i : i + step], tau, further, n_further)
        parent, feature = np.nonzero(part.reach(threshold))
        children = np.sort(np.column_stack([part.supports[parent], feature]), axis=1)
        found.append(children[distinct(children, p)])
        total += len(found[-1])
        if total > (r + 1) * MOST:
            return Listed(None)
    children = np.concatenate([np.empty((0, r + 1), dtype=np.intp), *found])
    children = children[distinct(children, p)]
    return Listed(children if len(children) <= MOST else None)


def _that_can_reach(contrast: Array, supports: Array, tau: float, further: float, n_further: int) -> Bordered:
    """Those of the supports that so many further features can lift to tau."""
    part = Bordered.of(contrast, supports)
    coupling = part.squares.sum(axis=1)
    np.put_along_axis(coupling, supports, 0.0, axis=1)
    most = np.partition(coupling, -n_further, axis=1)[:, -n_further:].sum(axis=1)
    top = part.values[:, -1]
    can = (top + further) / 2 + np.sqrt(((top - further) / 2) ** 2 + most) >= tau
    return part if can.all() else Bordered(supports[can], part.values[can], part.squares[can], part.diagonal)
