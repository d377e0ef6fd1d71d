"""From what a solver found to a certified result, the same way for every solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dual import Certificate, Dual, DualPoint, DualResult
from ..operators.base import Array
from .bundle import Bundle, orthonormal
from .direction import best_feasible_direction
from .found import Found, relative_gap

TIGHT = 1e-7  # shortfall and excess, relative, at which the first component counts as optimal itself
CLUSTER = 1e-6  # eigenvalues this close to the top, relative to the value, count as equal to it at a kink


def conclude(dual: Dual, found: Found, *, solver: str, k: int, tol: float, max_iter: int) -> DualResult:
    """Eigenpairs at the found prices, the first direction, and the certificate."""
    point = found.point
    if len(point.eigenvalues) < min(k, dual.pencil.size):
        point = dual.evaluate(point.prices, k=k, start=point.vectors)
    upper = dual.proven_value(point, slack=0.1 * tol * max(abs(point.value), np.finfo(float).tiny))
    gap = relative_gap(upper, found.lower)
    status = "optimal" if gap <= tol else "max_iter" if found.n_iter >= max_iter else "stalled"
    vectors, n_tied = _choose_first(dual, point, found.factor)
    first = dual.pencil.variances(vectors[:, :1])[:, 0]
    spent = first[1:] * dual.per_bound
    excess = float(np.max(spent - 1.0, initial=0.0))
    shortfall = max(upper - first[0], 0.0) / max(abs(upper), np.finfo(float).tiny)
    tight = bool(excess <= TIGHT and shortfall <= TIGHT)
    kkt = replace(point, spent=spent).kkt if tight else _mixture_kkt(dual, point, found.factor)
    certificate = Certificate(
        upper=upper,
        lower=float(found.lower),
        gap=gap,
        tight=tight,
        kkt=kkt,
        status=status,
        n_eigensolves=dual.n_eigensolves,
        message=_message(status, gap, tight, n_tied, excess, shortfall, solver),
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
    )


def _mixture_kkt(dual: Dual, point: DualPoint, factor: Array | None) -> float:
    """KKT residual of the feasible matrix, for optima that no single direction attains."""
    if factor is None:
        return point.kkt
    spent = dual.pencil.variances(factor)[1:].sum(axis=1) * dual.per_bound
    return replace(point, spent=spent).kkt


def _choose_first(dual: Dual, point: DualPoint, factor: Array | None) -> tuple[Array, int]:
    """Eigenvectors with the first one chosen inside a multiple top eigenspace, and the dimension of that space.

    A simple top eigenvector that fulfils the KKT conditions stands. Otherwise the eigenspace is spanned by the
    eigenvectors at the top and by the directions in the feasible matrix, and the best feasible direction in it is first.
    """
    if dual.m == 0 or point.kkt <= TIGHT or factor is None:
        return point.vectors, 1
    near_top = point.eigenvalues >= point.eigenvalues[0] - CLUSTER * max(abs(point.value), np.finfo(float).tiny)
    space = Bundle(dual)
    space.extend(orthonormal(np.hstack([point.vectors[:, near_top], _heavy(factor)])))
    direction = best_feasible_direction(space.a, space.b)
    if direction is None:
        return point.vectors, len(space)
    first = (space.basis @ direction)[:, np.newaxis]
    return _put_first(first, point.vectors), len(space)


def _heavy(factor: Array) -> Array:
    """The directions that carry weight in ``factor @ factor.T``."""
    left, sizes, _ = np.linalg.svd(factor, full_matrices=False)
    return left[:, sizes > 1e-3]


def _put_first(first: Array, vectors: Array) -> Array:
    """Orthonormal vectors that start with ``first`` and otherwise keep the order; the one it replaces is dropped."""
    q, r = np.linalg.qr(np.hstack([first, vectors]))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return np.delete(q, 1 + int(np.argmin(np.abs(np.diag(r)[1:]))), axis=1)


def _message(
    status: str, gap: float, tight: bool, n_tied: int, excess: float, shortfall: float, solver: str
) -> str:
    parts = []
    if status == "optimal":
        parts.append(f"Optimal: the certified relative gap is {gap:.1e}.")
    else:
        parts.append(
            f"Not optimal: solver '{solver}' stopped with a relative gap of {gap:.1e} "
            f"({'iteration limit' if status == 'max_iter' else 'no further progress'}). Use solver='subspace'."
        )
    if tight:
        parts.append("The first component attains the optimum and respects every bound.")
    elif n_tied > 1:
        parts.append(
            f"The optimum is attained by a mixture of {n_tied} directions that share the largest eigenvalue, not by a "
            "single direction."
        )
        parts.append(
            f"The first component is the direction of largest target variance in their span that respects every bound; "
            f"its variance is {100 * shortfall:.2g} % below the optimum."
            if excess <= TIGHT
            else f"No direction in their span respects every bound: the first component exceeds one by {100 * excess:.2g} %."
        )
    elif status == "optimal":
        parts.append(
            f"The first component exceeds a bound by {100 * excess:.2g} % or falls {100 * shortfall:.2g} % short of the optimum."
        )
    return " ".join(parts)
