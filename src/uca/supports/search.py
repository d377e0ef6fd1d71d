"""From matrices to the best support that was found, and a bound on all others.

In order: a relaxation (up to some hundreds of features) for an upper bound and for prices; a search from several prices; an
upper bound by thresholds; the proof by levels, if time allows. The search does not depend on time, so that the support is
the same on every machine unless a proof finds a better one; how far the proof gets does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._types import Array
from ..operators.contract.dense import DensePencil
from ..operators.eigen.solver import Eigensolver
from ..solvers.solve import solve
from .beam import grow
from .feasible import some_feasible
from .levels import all_supports
from .problem import Leaf, SparseProblem
from .relaxation import LARGEST, Relaxed, relax
from .swaps import improve
from .threshold import best_bound

WIDTHS = ((300, 100), (1000, 30))  # features up to which so many supports grow at once
WIDTH = 10  # beyond
ROUNDS = 3  # of growing supports and taking the prices of the best for the next
SOLVED = 10  # supports of each round that are solved exactly
MOST_LEAVES = 20_000  # supports that a proof may leave to be solved one by one
MET = 1e-9  # relative gap at which bounds have met
PROOFS = ("auto", "bound", "none")


@dataclass(frozen=True)
class Outcome:
    """What was found and what is proven.

    Attributes
    ----------
    leaf : Leaf
        The best support.
    upper : float
        No support has a larger value.
    proof : str
        What the upper bound rests on: ``"levels"`` (every support was ruled out or solved), ``"relaxation"``,
        ``"thresholds"`` or ``"all features"`` (the problem without a limit on their number).
    prices : array of shape (m,)
        Where the upper bound was computed: how far rounding can move it depends on them.
    out_of_time : bool
        Whether the proof by levels was given up for time.
    """

    leaf: Leaf
    upper: float
    proof: str
    prices: Array
    out_of_time: bool = False


def best_support(problem: SparseProblem, *, proof: str = "auto", time_limit: float = 60.0) -> Outcome:
    """The best support that the search finds; ``"auto"`` tries to prove it, ``"bound"`` stops at an upper bound."""
    deadline = time.perf_counter() + time_limit
    dense = _all_features(problem)
    if problem.k >= problem.p:
        return replace(dense, upper=max(dense.upper, dense.leaf.value))
    if problem.k == 1:
        leaf = problem.one_feature()
        return Outcome(leaf, leaf.value, "levels", leaf.prices)
    relaxed = relax(problem, deadline) if problem.p <= LARGEST and proof != "none" else None
    leaf = _search(problem, dense.leaf, relaxed)
    outcome = replace(dense, leaf=leaf)
    if relaxed is not None and relaxed.upper < dense.upper:
        outcome = Outcome(leaf, relaxed.upper, "relaxation", relaxed.prices)
    if proof == "none" or not np.isfinite(leaf.value) or _met(outcome):
        return outcome
    outcome, prices = _by_thresholds(problem, outcome, dense.leaf.prices if relaxed is None else relaxed.prices)
    return outcome if proof == "bound" or _met(outcome) else _by_levels(problem, outcome, prices, deadline)


def search(problem: SparseProblem, prices: Array) -> Leaf:
    """The best support that is found, from these prices and those that every search begins with; nothing is proven."""
    dense = _all_features(problem).leaf
    return dense if problem.k >= problem.p else _search(problem, dense, None, prices)


def _met(outcome: Outcome) -> bool:
    return outcome.upper - outcome.leaf.value <= MET * abs(outcome.upper)


def _all_features(problem: SparseProblem) -> Outcome:
    """The problem without a limit on the number of features: an upper bound, and prices to begin with."""
    pencil = DensePencil(np.concatenate([problem.target[np.newaxis], problem.backgrounds]))
    names = tuple(map(str, range(problem.m)))
    result = solve(Eigensolver(pencil), np.ones(problem.m), k=1, names=names, floor=-pencil.target.magnitude)
    order = np.argsort(-np.abs(result.vectors[:, 0]), kind="stable")[: problem.k]
    leaf = problem.leaf(order, result.lambdas)
    leaf = replace(leaf, prices=result.lambdas) if problem.k < problem.p else leaf
    return Outcome(leaf, result.value, "all features", result.lambdas)


def _starts(problem: SparseProblem, dense: Array, relaxed: Relaxed | None, given: Array | None) -> Iterator[Array]:
    """Prices to begin with. No single one finds all optima."""
    if given is not None:
        yield given
    if relaxed is not None:
        yield from (factor * relaxed.prices for factor in (1.0, 0.6, 1.4))
    yield from (factor * dense for factor in (0.1, 0.3, 1.0))
    yield np.zeros(problem.m)
    if problem.m > 1:
        yield from 2.0 * np.diag(dense)


def _search(problem: SparseProblem, dense: Leaf, relaxed: Relaxed | None, given: Array | None = None) -> Leaf:
    width = next((width for most, width in WIDTHS if problem.p <= most), WIDTH)
    known: dict[bytes, Leaf] = {}

    def solved(support: Array, prices: Array) -> Leaf:
        key = np.sort(support).tobytes()
        if key not in known:
            known[key] = problem.leaf(support, prices)
        return known[key]

    candidates = [solved(dense.support, dense.prices)]
    if relaxed is not None:
        heaviest = np.argsort(-relaxed.weights, kind="stable")[: problem.k]
        candidates.append(solved(heaviest, relaxed.prices))
    tried: set[bytes] = set()
    for prices in _starts(problem, dense.prices, relaxed, given):
        for _ in range(ROUNDS):
            key = np.round(prices, 9).tobytes()
            if key in tried:
                break
            tried.add(key)
            grown = grow(problem.contrast(prices), problem.k, width)[:SOLVED]
            best = max((solved(support, prices) for support in grown), key=lambda leaf: leaf.value)
            candidates.append(best)
            prices = best.prices
    if not any(np.isfinite(leaf.value) for leaf in candidates):
        found = some_feasible(problem)
        candidates += [] if found is None else [found]
    candidates.sort(key=lambda leaf: -leaf.value)
    finalists = {leaf.support.tobytes(): leaf for leaf in candidates}
    return max((improve(problem, leaf) for leaf in list(finalists.values())[:3]), key=lambda leaf: leaf.value)


def _by_thresholds(problem: SparseProblem, outcome: Outcome, guide: Array) -> tuple[Outcome, Array]:
    """The outcome with a smaller upper bound, where thresholds have one; and prices for a proof by levels."""
    upper, prices = best_bound(problem, guide, outcome.leaf.value)
    if upper >= outcome.upper:
        return outcome, guide
    return replace(outcome, upper=upper, proof="thresholds", prices=prices), prices


def _by_levels(problem: SparseProblem, outcome: Outcome, prices: Array, deadline: float) -> Outcome:
    """The outcome with a proof, where it can be had in time: all supports that could be better are solved."""
    contrast, leaf = problem.contrast(prices), outcome.leaf
    left = all_supports(contrast, problem.k, leaf.value - prices.sum(), deadline)
    if left.supports is None or len(left.supports) > MOST_LEAVES:
        return replace(outcome, out_of_time=left.out_of_time)
    upper = leaf.value
    for support in left.supports:
        if time.perf_counter() > deadline:
            return replace(outcome, out_of_time=True)
        found = problem.leaf(support, prices)
        if found.value > leaf.value:
            leaf = found
        upper = max(upper, _upper(problem, found))
    return Outcome(leaf, upper, "levels", np.maximum(prices, leaf.prices))


def _upper(problem: SparseProblem, leaf: Leaf) -> float:
    """The dual value at the prices of a support: what it cannot exceed."""
    inside = np.ix_(leaf.support, leaf.support)
    return float(np.linalg.eigvalsh(problem.contrast(leaf.prices)[inside])[-1] + leaf.prices.sum())
