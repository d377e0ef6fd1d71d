"""From what a solver found to a certified result, the same way for every solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._types import Array
from ..dual import Certificate, Dual, DualPoint, DualResult, Status
from ..operators.eigen.span import orthonormal
from .bundle import Bundle
from .direction import best_feasible_direction
from .found import Found, Stop
from .lower import certified_lower
from .visited import with_a_matrix

TIGHT = 1e-7  # shortfall and excess, relative, at which the first component counts as optimal itself
BESIDE = 8  # top eigenvectors among which a feasible direction is looked for where the eigenspace has none
_UNPROVEN = (
    " The upper bound is that of an iterative eigen-solver that converged; for data known through products alone it is not "
    "proven that nothing lies above."
)
_NO_ROOM = (
    " The bounds leave no room for rounding (for instance, a background that varies equally in all directions), so the "
    "lower bound relies on the multipliers and is not proven."
)
CLUSTER = 1e-6  # eigenvalues this close to the top, relative to the value, count as equal to it at a kink


def conclude(dual: Dual, found: Found, *, solver: str, k: int, tol: float) -> DualResult:
    """Eigenpairs at the found prices, the first direction, and the certificate."""
    found = with_a_matrix(dual, found)
    point = found.point
    if point.loose or len(point.eigenvalues) < min(k, dual.pencil.size):
        point = dual.evaluate(point.prices, k=max(k, len(point.eigenvalues)))
    allowance = dual.allowance(point)
    slack = 0.05 * tol * max(abs(point.value), np.finfo(float).tiny)
    upper, proven = dual.proven_value(point, slack, allowance)
    bound = certified_lower(dual, point, found.factor, tol)
    lower = float(bound.value)
    gap = dual.relative_gap(upper, lower)
    met = dual.relative_gap(upper - allowance, found.lower) <= tol
    status = _status(gap <= tol, met, found.stop)
    unfinished = tuple(i for i in point.unfinished if i < k)
    vectors, n_tied = _choose_first(dual, point, found.factor)
    first = dual.eigen.variances(vectors[:, :1])[:, 0]
    spent = first[1:] * dual.per_bound
    excess = float(np.max(spent - 1.0, initial=0.0))
    shortfall = max(upper - first[0], 0.0) / max(abs(upper), np.finfo(float).tiny)
    tight = bool(excess <= TIGHT and shortfall <= TIGHT)
    kkt = replace(point, spent=spent).kkt if tight else _mixture_kkt(dual, point, found.factor)
    certificate = Certificate(
        upper=upper,
        lower=lower,
        gap=gap,
        tight=tight,
        kkt=kkt,
        status=status,
        n_eigensolves=dual.n_eigensolves,
        message=_message(status, gap, tight, n_tied, excess, shortfall, solver)
        + _doubts(proven, bound.proven, unfinished),
        proven=proven and bound.proven,
        allowance=allowance,
    )
    return DualResult(
        lambdas=dual.lambdas(point.prices),
        value=upper,
        eigenvalues=point.eigenvalues[:k].copy(),
        vectors=vectors[:, :k].copy(),
        bounds=dual.bounds.copy(),
        certificate=certificate,
        solver=solver,
        n_iter=found.n_iter,
        unfinished=unfinished,
    )


def _status(certified: bool, met: bool, stop: Stop) -> Status:
    """``met`` tells that the bounds met as computed, before room was made for rounding."""
    if certified:
        return Status.OPTIMAL
    if met:
        return Status.ROUNDING
    return {Stop.LIMIT: Status.MAX_ITER, Stop.TIME: Status.TIME_LIMIT}.get(stop, Status.STALLED)


def _doubts(upper: bool, lower: bool, unfinished: tuple[int, ...]) -> str:
    """What is not proven: by an iterative eigen-solver, or because bounds leave no room."""
    if unfinished:
        which = ", ".join(str(i + 1) for i in unfinished)
        return (
            f" The eigen-solver did not converge for component{'s' if len(unfinished) > 1 else ''} {which} (eigenvalues lie "
            "close together): use representation='covariance' or 'reduced' if they fit, or fewer components."
        )
    return ("" if upper else _UNPROVEN) + ("" if lower else _NO_ROOM)


def _mixture_kkt(dual: Dual, point: DualPoint, factor: Array | None) -> float:
    """KKT residual of the feasible matrix, for optima that no single direction attains."""
    if factor is None:
        return point.kkt
    spent = dual.eigen.variances(factor)[1:].sum(axis=1) * dual.per_bound
    return replace(point, spent=spent).kkt


def _choose_first(dual: Dual, point: DualPoint, factor: Array | None) -> tuple[Array, int]:
    """Eigenvectors with the first one chosen inside a multiple top eigenspace, and the dimension of that space.

    A simple top eigenvector that fulfils the KKT conditions stands. Otherwise the eigenspace is spanned by the
    eigenvectors at the top and by the directions in the feasible matrix; the best feasible direction in it is first.
    """
    if dual.m == 0 or point.kkt <= TIGHT or factor is None:
        return point.vectors, 1
    near_top = point.eigenvalues >= point.eigenvalues[0] - CLUSTER * max(abs(point.value), np.finfo(float).tiny)
    space = Bundle(dual)
    space.extend(orthonormal(np.hstack([point.vectors[:, near_top], _heavy(factor)])))
    n_tied = len(space)
    direction = best_feasible_direction(space.a, space.b, dual.deadline)
    if direction is None:  # none in the eigenspace: look beside it
        space.extend(dual.evaluate(point.prices, k=BESIDE).vectors)
        direction = best_feasible_direction(space.a, space.b, dual.deadline)
    if direction is None:
        return point.vectors, n_tied
    first = (space.basis @ direction)[:, np.newaxis]
    return _put_first(first, point.vectors), n_tied


def _heavy(factor: Array) -> Array:
    """The directions that carry weight in ``factor @ factor.T``."""
    left, sizes, _ = np.linalg.svd(factor, full_matrices=False)
    return left[:, sizes > 1e-3]


def _put_first(first: Array, vectors: Array) -> Array:
    """Orthonormal vectors that start with ``first`` and otherwise keep the order; the one most like it is dropped."""
    likeness = np.abs(first.T @ vectors).ravel()
    replaced = int(likeness.argmax()) if likeness @ likeness > 0.5 else vectors.shape[1] - 1
    q, r = np.linalg.qr(np.hstack([first, np.delete(vectors, replaced, axis=1)]))
    return q * np.where(np.diag(r) < 0, -1.0, 1.0)


def _message(status: Status, gap: float, tight: bool, n_tied: int, excess: float, shortfall: float, solver: str) -> str:
    if status == Status.ROUNDING:
        cost = f"as large as a relative {gap:.1e}" if np.isfinite(gap) else "more than the bounds leave room for"
        return (
            f"Solved, but not certified to the tolerance: the rounding error of the covariances may be {cost}, "
            "and the true optimum lies between the lower and the upper bound. Raise tol, bring features to similar units "
            "(scale=True), or subtract large means before they are stored."
        )
    if status != Status.OPTIMAL:
        reason, advice = {
            Status.MAX_ITER: ("at the iteration limit", "Raise max_iter"),
            Status.TIME_LIMIT: ("at the time limit", "Raise time_limit, or tol if a larger gap will do"),
            Status.STALLED: (
                "without further progress",
                "Raise tol, or bring features to similar units (scale=True) and drop nearly equal ones",
            ),
        }[status]
        if solver != "subspace" and status != Status.TIME_LIMIT:
            advice = "Use solver='subspace'"
        beyond = f" The first component exceeds a bound by {100 * excess:.2g} %." if excess > TIGHT else ""
        return (
            f"Not optimal: solver '{solver}' stopped {reason} with a relative gap of {gap:.1e}; the true optimum lies "
            f"between the lower and the upper bound.{beyond} {advice}."
        )
    proven = f"Optimal: the certified relative gap is {gap:.1e}."
    if tight:
        return f"{proven} The first component attains the optimum and respects every bound."
    if n_tied > 1:
        proven += (
            f" The optimum is attained by a mixture of {n_tied} directions that share the largest eigenvalue, not by a "
            "single direction."
        )
    if excess > TIGHT:
        found = "No direction in or near their span was found to respect every bound"
        return f"{proven} {found}: the first component exceeds one by {100 * excess:.2g} %."
    return (
        f"{proven} The first component is the direction of largest target variance in their span (near it, if none "
        f"there does) that respects every bound; its variance is {100 * shortfall:.2g} % below the optimum."
    )
