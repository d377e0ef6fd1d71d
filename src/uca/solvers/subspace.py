"""The certified solver: cutting planes in the space of directions.

Keep a small basis W of top eigenvectors. Solve the problem inside W exactly: that gives a lower bound and the next
prices. Evaluate g there: that gives an upper bound and new top eigenvectors for W. Repeat until the bounds meet. It
converges whether the optimum is smooth or not, and touches the data only through products with a few vectors.

See Helmberg & Rendl, "A spectral bundle method for semidefinite programming" (2000), and Kangal, Meerbergen, Mengi &
Michiels, "A subspace method for large-scale eigenvalue optimization" (2018).
"""

from __future__ import annotations

import numpy as np

from .._progress import Callback
from .._types import Array
from ..dual import Dual, DualPoint
from ..operators.eigen.span import orthonormal
from .bundle import Bundle
from .found import Found, Stop
from .projected import Projected, contrast
from .refined import refine

BUNDLE_MAX = 30  # directions kept; an eigenproblem of this order costs 0.1 ms
POLISHED = 1e-9  # KKT residual at which a smooth optimum needs no further step
POLISH_STEPS = 3
PROBE = 0.1  # first price tried, in units of g(0); optimal prices on real data are near a tenth of it
BOX = 10.0  # limit of prices, in the same units
GROWTH = 30.0  # of both, where they turn out too small
LARGEST_BOX = 1e13  # limit of both
LOOSE_SHARE = 0.05  # error of an iterative eigenvalue, as a share of the distance between the bounds
FIRST = 8  # eigenvectors of the target to begin with, where more of them cost little: shared factors are among them
NEAR = 0.4  # share of the tolerance aimed at; the rest is for the proof and for rounding
PATIENCE = 15  # iterations in which the gap must halve


def solve_subspace(dual: Dual, *, tol: float, max_iter: int, callback: Callback | None = None) -> Found:
    """Minimise the dual to a certified relative gap of ``tol``."""
    k = max(FIRST, dual.n_vectors) if dual.eigen.direct else None
    best = point = dual.evaluate(np.zeros(dual.m), k=k, accuracy=_first_accuracy(dual))
    unit = max(abs(point.value), np.finfo(float).tiny)
    probe, box = PROBE * unit, BOX * unit
    bundle = Bundle(dual)
    bundle.extend(point.vectors)
    lower, factor, polish = -np.inf, None, 0
    recent = [point.vectors[:, :1]]
    milestone, since, stop = np.inf, 0, Stop.LIMIT
    for n_iter in range(1, max_iter + 1):
        small = bundle.solve(point.prices, probe=probe, box=box)
        if dual.eigen.direct and not np.array_equal(small.prices, point.prices):
            small = refine(bundle, small, probe=probe, box=box)
        if small.factor is not None and small.lower > lower:
            lower, factor = small.lower, bundle.basis @ small.factor
        moved = point.loose or not np.array_equal(small.prices, point.prices)
        if moved:
            point = dual.evaluate(small.prices, accuracy=_accuracy(best, lower, tol))
            best = _better(point, best)
        if best.loose and best.value <= lower + tol * abs(best.value):
            # The bounds have met, or a loose eigen-solve missed the top: look closely.
            best = point = dual.evaluate(best.prices)
        gap = dual.relative_gap(best.value, lower)
        if callback is not None:
            callback(n_iter, best.value, lower, gap)
        if dual.proves_infeasible(best) or not (moved or small.at_box):
            stop = Stop.NO_PROGRESS
            break
        if gap <= NEAR * tol:
            polish += 1
            if _is_polished(best) or polish > POLISH_STEPS:
                stop = Stop.DONE
                break
        if small.at_box:
            probe, box = min(probe * GROWTH, LARGEST_BOX * unit), min(box * GROWTH, LARGEST_BOX * unit)
        if gap < 0.5 * milestone:
            milestone, since = gap, n_iter
        if n_iter - since > PATIENCE:
            stop = Stop.NO_PROGRESS
            break
        if dual.deadline.passed:
            stop = Stop.TIME
            break
        _prune(bundle, small, recent)
        recent.append(point.vectors[:, :1])
        bundle.extend(point.vectors)
    if stop == Stop.NO_PROGRESS and dual.deadline.passed:
        stop = Stop.TIME  # programmes were cut short
    return Found(best, lower, factor, n_iter, stop)


def _first_accuracy(dual: Dual) -> float | None:
    """A tenth of the mean eigenvalue of the target, to begin with; None where it is not known."""
    try:
        return 0.1 * dual.pencil.target.trace / dual.pencil.size
    except ValueError:
        return None


def _accuracy(best: DualPoint, lower: float, tol: float) -> float | None:
    """Error allowed in the next value: a share of the distance between the bounds; none once they have met."""
    distance = abs(best.value - lower)
    if distance <= tol * abs(best.value):
        return None
    return LOOSE_SHARE * distance if np.isfinite(distance) else LOOSE_SHARE * abs(best.value)


def _better(new: DualPoint, old: DualPoint) -> DualPoint:
    """The smaller value wins; values equal to rounding are told apart by how well they fulfil the KKT conditions."""
    if abs(new.value - old.value) <= 1e-13 * abs(old.value):
        return new if new.kkt < old.kkt else old
    return new if new.value < old.value else old


def _is_polished(point: DualPoint) -> bool:
    """Whether lambda is as sharp as it gets: KKT fulfilled, or a multiple eigenvalue (a kink pins lambda down)."""
    multiple = len(point.eigenvalues) > 1 and point.eigenvalues[0] - point.eigenvalues[1] <= 1e-6 * abs(point.value)
    return point.kkt <= POLISHED or multiple


def _prune(bundle: Bundle, small: Projected, recent: list[Array]) -> None:
    """Forget the directions that matter least once the basis is full.

    Kept: the directions in the primal matrix, the top eigenvectors of recent iterates (their differences span the
    curvature that makes convergence fast), the best few inside the basis, and the least expensive one.
    """
    limit = BUNDLE_MAX + 2 * bundle.dual.m
    if len(bundle) + bundle.dual.n_vectors <= limit:
        return
    carrying = np.empty((len(bundle), 0)) if small.factor is None else small.factor
    iterates = bundle.basis.T @ np.hstack(recent[-(bundle.dual.m + 3) :])
    top = np.linalg.eigh(contrast(bundle.a, bundle.b, small.prices))[1][:, ::-1][:, : bundle.dual.n_vectors + 2]
    cheap = np.linalg.eigh(bundle.b.sum(axis=0))[1][:, :1]
    bundle.restrict(orthonormal(np.hstack([carrying, iterates, top, cheap])))
