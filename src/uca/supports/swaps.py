"""Exchange one feature of a support for another as long as the value grows."""

from __future__ import annotations

import numpy as np

from .bordered import Bordered
from .problem import Leaf, SparseProblem

MOST_EXCHANGES = 100
TRIED = 3  # exchanges for each feature of the support that are solved exactly, in one round
GROWTH = 1e-12  # relative, below which a larger value is rounding


def improve(problem: SparseProblem, leaf: Leaf) -> Leaf:
    """The support after exchanges, each of which raises the value; all are scored, the promising ones solved."""
    for _ in range(MOST_EXCHANGES):
        better = _exchange(problem, leaf)
        if better is None:
            break
        leaf = better
    return leaf


def _exchange(problem: SparseProblem, leaf: Leaf) -> Leaf | None:
    k, p = len(leaf.support), problem.p
    if k in (1, p):
        return None
    parents = np.array([np.delete(leaf.support, i) for i in range(k)])
    scores = Bordered.of(problem.contrast(leaf.prices), parents).largest().ravel()
    scores[np.arange(k) * p + leaf.support] = -np.inf  # the feature that was taken out
    least = leaf.value - leaf.prices.sum()  # below it no support can have a larger value
    for place in np.argsort(-scores, kind="stable")[: TRIED * k]:
        if scores[place] < least:
            break
        parent, feature = divmod(int(place), p)
        found = problem.leaf(np.append(parents[parent], feature), leaf.prices)
        if found.value > leaf.value + GROWTH * abs(leaf.value):
            return found
    return None
