"""``solve_dual``: the solver for people who hold matrices or operators."""

from __future__ import annotations

from typing import Any

from scipy.sparse.linalg import LinearOperator

from .._deadline import Deadline
from .._parameters import (
    check_bound,
    check_choice,
    check_matrices,
    check_n_components,
    check_positive_int,
    check_time_limit,
    check_tolerance,
    seed_from,
)
from .._progress import Callback
from .._validation import name_backgrounds
from ..dual import DualResult, mean_bounds
from ..operators.contract.dense import DenseCovariance, DensePencil
from ..operators.contract.linear import LinearOperatorCovariance
from ..operators.contract.operator import CovarianceOperator
from ..operators.contract.pencil import OperatorPencil, Pencil
from ..operators.contract.units import canonical, in_user_units
from ..operators.eigen.solver import Eigensolver
from .solve import SOLVERS, solve


def solve_dual(
    A: Any,
    Bs: Any,
    bounds: Any = None,
    *,
    n_components: int = 2,
    solver: str = "auto",
    tol: float = 1e-9,
    max_iter: int = 100,
    time_limit: float | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
) -> DualResult:
    """Minimise ``g(lambda) = lambda_max(A - sum_j lambda_j B_j) + sum_j lambda_j c_j`` over ``lambda >= 0``.

    Parameters
    ----------
    A : array of shape (p, p), CovarianceOperator or LinearOperator
        Symmetric target matrix. Operators must be positive semidefinite.
    Bs : array, operator, or a list, tuple or dict of them
        Symmetric background matrices. None means no background.
    bounds : None, "mean", number, or one number for each background
        The bounds ``c_j``; None and "mean" stand for ``tr(B_j) / p``.
    n_components : int, default=2
        Number of eigenpairs to return.
    solver : {"auto", "subspace", "root", "lbfgs", "coordinate", "bisection"}, default="auto"
    tol : float, default=1e-9
        Relative gap between upper and lower bound at which to stop.
    max_iter : int, default=100
    time_limit : float or None, default=None
        Seconds after which the solver ends with the bounds it has; the status is then ``"time_limit"``. Looked at between
        eigen-solves; the certificate is finished in any case. None: no limit.
    random_state : int, RandomState or None
        Seed of the start vectors of iterative eigen-solvers. None is a fixed seed: results are reproducible.
    callback : callable, optional
        Called with (iteration, upper bound, lower bound, relative gap).

    Returns
    -------
    DualResult

    Examples
    --------
    >>> import numpy as np
    >>> from uca import solve_dual
    >>> A, B = np.diag([3.0, 2.0, 1.0]), np.diag([2.0, 0.5, 0.5])
    >>> result = solve_dual(A, B)
    >>> round(result.value, 6), result.lambdas.round(6).tolist(), result.certificate.status
    (2.333333, [0.666667], 'optimal')
    """
    check_choice("solver", solver, ("auto", *SOLVERS))
    check_tolerance(tol)
    check_positive_int("max_iter", max_iter)
    deadline = Deadline.after(check_time_limit(time_limit))
    named = {} if Bs is None else name_backgrounds([Bs] if isinstance(Bs, _OPERATORS) else Bs)
    pencil, powers = canonical(_pencil(A, named))
    k = check_n_components(n_components, pencil.size)
    given = check_bound(bounds, tuple(named))
    if given is None:
        _check_means(pencil, tuple(named))
    seed = seed_from(random_state)
    result = solve(
        Eigensolver(pencil, seed),
        mean_bounds(pencil) if given is None else in_user_units(given, -powers[1:]),
        k=k,
        names=tuple(named),
        solver=solver,
        tol=tol,
        max_iter=max_iter,
        floor=-pencil.target.magnitude,  # a matrix may be indefinite; an operator has magnitude 0
        powers=powers,
        seed=seed,
        callback=callback,
        deadline=deadline,
    )
    return result.in_units(powers.tolist())


def _check_means(pencil: Pencil, names: tuple[str, ...]) -> None:
    """Refuse a mean bound where an indefinite background has none that is positive."""
    for name, operator in zip(names, pencil.backgrounds, strict=True):
        if operator.trace <= 0 and operator.magnitude > 0:
            raise ValueError(
                f"background {name!r} has trace {operator.trace:.3g}, so its mean bound is no bound: pass bounds="
            )


_OPERATORS = (CovarianceOperator, LinearOperator)


def _pencil(A: Any, named: dict[str, Any]) -> Pencil:
    if not any(isinstance(value, _OPERATORS) for value in (A, *named.values())):
        return DensePencil(check_matrices(A, named, semidefinite=False))
    target = _operator(A, "target A")
    backgrounds = tuple(_operator(value, f"background {name!r}") for name, value in named.items())
    for name, operator in zip(named, backgrounds, strict=True):
        if operator.size != target.size:
            raise ValueError(f"background {name!r} has order {operator.size}, the target A has {target.size}")
    return OperatorPencil((target, *backgrounds), target.size)


def _operator(value: Any, label: str) -> CovarianceOperator:
    if isinstance(value, CovarianceOperator):
        return value
    if isinstance(value, LinearOperator):
        if value.shape[0] != value.shape[1]:
            raise ValueError(f"{label} must be square; got shape {value.shape}")
        return LinearOperatorCovariance(value)
    return DenseCovariance(check_matrices(value, {}, semidefinite=False)[0])
