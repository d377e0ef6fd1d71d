"""The problem behind a fitted model, rebuilt from its data: covariances, bounds, multipliers and certificate.

A model keeps no rows and no matrices, so figures of the dual take the data again. That it is the same data is checked: the
dual value at the fitted multipliers must be the certificate's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from .._parameters import check_matrices
from .._threads import one_blas_thread
from .._types import Array
from .._validation import check_datasets, name_backgrounds
from ..dual import Certificate, Dual, DualResult
from ..estimators.uca import UCA
from ..operators.base import Pencil
from ..operators.covariance import from_matrices
from ..operators.dense import DensePencil
from ..operators.span import Span
from .checks import check_model

SAME = 1e-5  # relative difference of dual values that float32 data may have
FINE = 1e-7  # relative error of g at anchors where eigenvalues are found iteratively
EXACT_MAX = 64  # order up to which every value is computed from the whole matrices


@dataclass(frozen=True)
class Problem:
    """A dual problem with its solution."""

    pencil: Pencil
    lift: Callable[[Array], Array]
    lambdas: Array
    bounds: Array
    names: list[str]
    certificate: Certificate

    @property
    def m(self) -> int:
        """Number of backgrounds."""
        return len(self.lambdas)


def problem_of(model: Any, X: Any, backgrounds: Any) -> Problem:
    """The problem of a fitted UCA or of a DualResult, with what it was fitted on."""
    if isinstance(model, DualResult):
        named = name_backgrounds(backgrounds)
        held = from_matrices(check_matrices(X, named, semidefinite=False))
        problem = Problem(held.pencil, held.lift, model.lambdas, model.bounds, list(named), model.certificate)
    else:
        problem = _problem_of_model(model, X, backgrounds)
    if problem.pencil.n_backgrounds != problem.m:
        raise ValueError(f"got {problem.pencil.n_backgrounds} backgrounds, but the model was fitted on {problem.m}")
    value = dual_values(problem, problem.lambdas[np.newaxis], exact=True)[0]
    if abs(value - problem.certificate.upper) > SAME * abs(problem.certificate.upper):
        raise ValueError(
            f"X and backgrounds are not what the model was fitted on: the dual value at its lambdas is {value:.6g}, "
            f"its certificate says {problem.certificate.upper:.6g}"
        )
    return problem


def _problem_of_model(model: Any, X: Any, backgrounds: Any) -> Problem:
    if not isinstance(check_model(model), UCA):
        raise TypeError(
            f"{type(model).__name__} has no dual problem; pass a fitted UCA or the result of uca.solve_dual"
        )
    names = model.background_names_
    if not names:
        raise ValueError("the model was fitted without backgrounds: it is PCA, and there is no dual to draw")
    named = _in_order(name_backgrounds(backgrounds), names)
    if model.n_samples_ is None:  # fitted on covariance matrices
        held = from_matrices(check_matrices(X, named, semidefinite=True))
    else:
        held = model._hold(check_datasets(model, X, named), model.components_.shape[0])
    lambdas, bounds = model._fitted("lambdas_"), model._fitted("bounds_")
    return Problem(held.pencil, held.lift, lambdas, bounds, list(names), model.certificate_)


def _in_order(named: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Backgrounds in the order of the fit."""
    if set(named) != set(names):
        raise ValueError(f"backgrounds must be those of the fit, {names}; got {list(named)}")
    return {name: named[name] for name in names}


def dual_values(problem: Problem, lambdas: Array, *, anchors: Array | None = None, exact: bool = False) -> Array:
    """G at each row of ``lambdas``, shape (n,).

    Small problems are solved at every row. For larger ones the values come from the subspace spanned by the two top
    eigenvectors at ``anchors`` (a few rows): exact there (to 1e-7 where data is known through products), never too
    large, and in between wrong by the square of what the subspace misses of an eigenvector.
    """
    with one_blas_thread():
        if exact or problem.pencil.size <= EXACT_MAX:
            dual = Dual(problem.pencil, problem.bounds)
            return np.array([dual.evaluate(row * problem.bounds, k=1).value for row in lambdas])
        inside = DensePencil(_subspace(problem, lambdas if anchors is None else anchors))
        tops = [_top(inside.combine(1.0, -row).matrix) for row in lambdas]
    return np.array(tops) + lambdas @ problem.bounds


def _subspace(problem: Problem, anchors: Array) -> Array:
    """A and the B_j inside the span of top eigenvectors at the anchors, (m + 1, q, q)."""
    dual = Dual(problem.pencil, problem.bounds)
    span = Span(dual.pencil)
    for row in anchors:
        point = dual.evaluate(row * problem.bounds, k=2, accuracy=FINE * abs(problem.certificate.upper))
        span.extend(point.vectors)
    return span.matrices


def _top(matrix: Array) -> float:
    last = len(matrix) - 1
    return float(eigvalsh(matrix, subset_by_index=[last, last], check_finite=False)[0])
