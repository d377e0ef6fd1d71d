"""The best support among more features than matrices of all of them should be formed for.

One pass over the rows of a contrast finds, for each feature, the others that it goes with most. Features of the best of
these supports, some hundreds, are a problem of ordinary size; the prices of its answer are those of the next pass. Each
pass also bounds all supports (Gershgorin): no eigenvalue on k features exceeds a diagonal entry and the k - 1 largest
others of its row. That bound is loose, and costs nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._types import Array
from .entries import ContrastRows, Entries
from .problem import Leaf, SparseProblem
from .search import Outcome, search

BLOCK = 2**23  # entries of the contrast that are held at a time
SAMPLE = 256  # rows that choose the prices of the first pass
SHARES = np.geomspace(1e-3, 1.0, 13)  # of the prices of the problem on all features, that are tried on them
GROUP = 64  # features whose largest entry is found together
ROWS = 300  # of a pass, the most promising, whose supports are scored
POOL = 300  # features that are searched together
PASSES = 2


def best_support_among_many(entries: Entries, bounds: Array, k: int, dense: Array, upper: float) -> Outcome:
    """The best support that is found, and a bound on all.

    ``bounds`` are those of the backgrounds; ``dense`` and ``upper`` are prices and value of the problem on all features.
    """
    weights = np.append(1.0, -1.0 / bounds)  # of target and backgrounds; prices multiply the latter
    if k == 1:
        return _one_feature(entries, bounds, dense)
    outcome = Outcome(Leaf(np.arange(k), -np.inf, dense), upper, "all features", dense)
    prices = _first_prices(entries, weights, k, dense)
    for _ in range(PASSES):
        found = look(entries.contrast(weights * np.append(1.0, prices)), k)
        if found.largest + prices.sum() < outcome.upper:
            outcome = replace(outcome, upper=float(found.largest + prices.sum()), proof="rows", prices=prices)
        pool = _pool(found, outcome.leaf)
        leaf = _search_in(entries, bounds, pool, k, prices)
        if leaf.value <= outcome.leaf.value:
            break
        outcome, prices = replace(outcome, leaf=leaf), leaf.prices
    return outcome


def _one_feature(entries: Entries, bounds: Array, dense: Array) -> Outcome:
    """The best single feature that keeps the bounds."""
    kept = np.all(entries.diagonals[1:] <= bounds[:, np.newaxis], axis=0)
    variances = np.where(kept, entries.diagonals[0], -np.inf)
    best = int(variances.argmax())
    leaf = Leaf(np.array([best]), float(variances[best]), np.zeros(len(dense)))
    return Outcome(leaf, leaf.value, "levels", leaf.prices)


@dataclass(frozen=True)
class Pass:
    """What one pass over the rows of a contrast found: the best supports, and Gershgorin's bound."""

    supports: Array
    largest: float


def look(contrast: ContrastRows, k: int) -> Pass:
    """For each feature the k - 1 that it goes with most; the supports with the largest eigenvalues first."""
    p = len(contrast.left)
    reach, others = np.empty(p), np.empty((p, k - 1), dtype=np.intp)
    for rows in _blocks(p):
        reach[rows], others[rows] = _reaches(contrast[rows], np.arange(rows.start, rows.stop), k)
    first = np.argsort(-reach, kind="stable")[:ROWS]
    supports = np.column_stack([first, others[first]])
    supports = supports[np.argsort(-_eigenvalues(contrast, supports), kind="stable")]
    return Pass(supports, float(reach.max()) + k * contrast.error)


def _reaches(block: Array, features: Array, k: int) -> tuple[Array, Array]:
    """Gershgorin's bound for the row of each feature, and the k - 1 others that it is made of; the block is used up."""
    inside = np.arange(len(block)), features
    diagonal = block[inside].astype(float)
    np.abs(block, out=block)
    block[inside] = -1.0
    places, values = _largest(block, k - 1)
    return diagonal + values.sum(axis=1, dtype=float), places


def _blocks(p: int) -> Iterator[slice]:
    step = max(1, BLOCK // p)
    return (slice(start, min(start + step, p)) for start in range(0, p, step))


def _largest(block: Array, n: int) -> tuple[Array, Array]:
    """Positions and values of the ``n`` largest entries of each row, all of which lie in the n groups with the largest."""
    rows, p = block.shape
    groups = p // GROUP
    if groups <= 2 * n:
        places = np.argpartition(-block, n - 1, axis=1)[:, :n] if n < p else np.tile(np.arange(p), (rows, 1))
        return places, np.take_along_axis(block, places, axis=1)
    whole = block[:, : groups * GROUP].reshape(rows, groups, GROUP)
    chosen = np.argpartition(-whole.max(axis=2), n - 1, axis=1)[:, :n]
    places = (GROUP * chosen[:, :, np.newaxis] + np.arange(GROUP)).reshape(rows, n * GROUP)
    rest = np.broadcast_to(np.arange(groups * GROUP, p), (rows, p - groups * GROUP))
    places = np.concatenate([places, rest], axis=1)
    values = np.take_along_axis(block, places, axis=1)
    best = np.argpartition(-values, n - 1, axis=1)[:, :n]
    return np.take_along_axis(places, best, axis=1), np.take_along_axis(values, best, axis=1)


def _eigenvalues(contrast: ContrastRows, supports: Array) -> Array:
    """The largest eigenvalue on each support."""
    parts = np.stack([contrast[support][:, support] for support in supports])
    return np.linalg.eigvalsh(parts.astype(float))[:, -1]


def _first_prices(entries: Entries, weights: Array, k: int, dense: Array) -> Array:
    """Prices with the smallest bound on some rows.

    With fewer rows of data than features, the problem on all features has prices that are far too large.
    """
    rows = np.unique(np.linspace(0, entries.p - 1, SAMPLE).astype(int))
    tried = []
    for guide in [dense, np.full(len(dense), dense.sum() / max(len(dense), 1))][: 1 + (len(dense) > 1)]:
        for share in SHARES:
            contrast = entries.contrast(weights * np.append(1.0, share * guide), rows)
            reach, _ = _reaches(contrast[:], rows, k)
            tried.append((float(reach.max() + share * guide.sum()), share * guide))
    return min(tried, key=lambda found: found[0])[1]


def _pool(found: Pass, leaf: Leaf) -> Array:
    """Features of the best supports, in ascending order."""
    known = [] if not np.isfinite(leaf.value) else [leaf.support]
    listed = np.concatenate([*known, found.supports.ravel()])
    _, first = np.unique(listed, return_index=True)
    return np.sort(listed[np.sort(first)[:POOL]])


def _search_in(entries: Entries, bounds: Array, pool: Array, k: int, prices: Array) -> Leaf:
    part = entries.part(pool)
    leaf = search(SparseProblem(part[0], part[1:] / bounds[:, np.newaxis, np.newaxis], k), prices)
    return replace(leaf, support=pool[leaf.support])
