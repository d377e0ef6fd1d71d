"""Supports that keep the bounds, where most do not: by small eigenvalues of the backgrounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .beam import grow
from .problem import Leaf, SparseProblem

WIDTH = 10  # supports that grow at once
ROUNDS = 4  # of weighing the backgrounds by what the last support spends of them


def some_feasible(problem: SparseProblem) -> Leaf | None:
    """A support on which some direction keeps every bound; None where none is found."""
    alone = problem.one_feature()
    if np.isfinite(alone.value):
        others = np.setdiff1d(np.argsort(-problem.target.diagonal(), kind="stable"), alone.support, assume_unique=True)
        return problem.leaf(np.append(alone.support, others[: problem.k - 1]))
    if problem.k == 1:
        return None
    for start in (np.ones(problem.m), *(np.eye(problem.m) if problem.m > 1 else ())):
        weights = start
        for _ in range(ROUNDS):
            burden = np.tensordot(weights, problem.backgrounds, axes=1)
            for support in grow(-burden, problem.k, WIDTH):
                leaf = problem.leaf(support)
                if np.isfinite(leaf.value):
                    return leaf
                vector = np.linalg.eigh(burden[np.ix_(support, support)])[1][:, 0]
            spent = np.einsum("i,jik,k->j", vector, problem.backgrounds[:, support[:, np.newaxis], support], vector)
            weights = weights * spent / spent.max()
    return None


def smallest_feasible(problem: SparseProblem) -> int:
    """The smallest number of features, more than the problem allows, with which bounds were kept; all features keep them."""
    low, high = problem.k, problem.k
    while high < problem.p:  # what keeps the bounds with some features does so with more
        high = min(2 * high, problem.p)
        if high == problem.p or some_feasible(replace(problem, k=high)) is not None:
            break
        low = high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if some_feasible(replace(problem, k=middle)) is not None else (middle, high)
    return high
