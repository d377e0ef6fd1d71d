"""Unique components made of few features, chosen by count, with a proof or a gap."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._parameters import check_bool, check_bound, check_choice, check_number, check_positive_int
from .._progress import log_once
from .._types import Array
from ..dual import Certificate, DualResult, Status
from ..operators.contract.dense import DensePencil
from ..operators.contract.pencil import Pencil
from ..operators.eigen.solver import Eigensolver
from ..operators.statistics.rounding import ARITHMETIC, UNIT
from ..solvers.infeasible import InfeasibleBoundsError
from ..solvers.solve import solve
from ..supports import Outcome, SparseProblem, best_support
from ..supports.search import MET, PROOFS
from .bounded import BoundedTransformer
from .problem import Problem

_PROVED = {
    "levels": "every other choice of features was ruled out or solved",
    "relaxation": "by a semidefinite relaxation",
    "thresholds": "by thresholding the contrast matrix",
    "all features": "by the component on all features",
}


@dataclass(frozen=True)
class SparseCertificate(Certificate):
    """How good a sparse component is proven to be.

    As :class:`~uca.Certificate`, where ``upper`` holds for every choice of that many features, and ``lower`` is attained by
    the one returned. ``status`` is ``"optimal"`` (proven to be the best), ``"gap"`` (both bounds are proven and do not
    meet) or ``"time_limit"`` (the same, because the proof ran out of time).

    Attributes
    ----------
    proof : str
        What the upper bound rests on: ``"levels"``, ``"relaxation"``, ``"thresholds"`` or ``"all features"``.
    """

    proof: str = ""


class SparseUCA(BoundedTransformer):
    """Unique components with at most ``n_nonzero`` features each, and a proof of how good they are.

    The first component maximises the variance of the target among all unit vectors with at most ``n_nonzero`` entries
    other than 0 that explain no more than a bound in each background. The number of features is the only thing to choose.

    Parameters
    ----------
    n_components : int, default=2
    n_nonzero : int, default=10
        Features of each component, at most.
    center, scale, bound, whiten
        As in :class:`uca.UCA`.
    proof : {"auto", "bound", "none"}, default="auto"
        "auto" tries to prove that no other choice of features is better, as long as ``time_limit`` allows. "bound" stops
        at an upper bound. "none" only searches, from fewer starts; its bound is that of the component on all features.
    time_limit : float, default=60.0
        Seconds for the proofs of all components together. The search itself is not cut short.
    random_state : int, RandomState or None, default=None
        Not used: the search has no chance in it. Kept for the conventions of the other estimators.
    verbose : bool, default=False
        Log what is proven.

    Attributes
    ----------
    components_ : array of shape (k, p)
        At most ``n_nonzero`` entries of each are not 0.
    support_ : list of arrays
        The features of each component: their names where these are known, their positions otherwise; largest loading first.
    certificate_ : SparseCertificate
        For the first component; ``certificates_`` has all.
    explained_variance_, background_variance_, lambdas_, component_lambdas_, eigenvalues_, bounds_ and others
        As in :class:`uca.UCA`. ``expected_background_variance_`` is None: a formula does not know how many choices of
        features were tried. :func:`uca.inference.expected_background_variance` repeats the search without some rows.

    Notes
    -----
    On standardised data a component of two features keeps the mean bound, 1, only if they are not positively correlated
    along it in a background, however weakly: a third feature, or a bound of 1.1, gives room.

    Later components: the target's covariance is deflated, ``A - A v v'A / v'Av``, which takes out what the component
    explains and leaves the bounds as they are. Scores are then nearly uncorrelated; components need not be orthogonal.

    Examples
    --------
    >>> import numpy as np
    >>> from uca.estimators.sparse_uca import SparseUCA
    >>> rng = np.random.default_rng(0)
    >>> shared, unique = rng.normal(size=(1, 8)), np.array([[0, 3, 0, 0, 3, 0, 0, 0]])
    >>> background = rng.normal(size=(300, 1)) @ shared + rng.normal(size=(300, 8))
    >>> target = rng.normal(size=(300, 1)) @ shared + rng.normal(size=(300, 1)) @ unique + rng.normal(size=(300, 8))
    >>> model = SparseUCA(1, n_nonzero=3).fit(target, backgrounds=background)
    >>> {1, 4} < set(model.support_[0].tolist()), model.certificate_.status
    (True, 'optimal')
    """

    parts = (*BoundedTransformer.parts, SparseCertificate)
    component_prefix = "UC"
    method_name = "sparse UCA"
    components = "sequential"
    representation = "covariance"

    support_: list[Array]

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_nonzero: int = 10,
        center: bool = True,
        scale: bool | str = True,
        bound: Any = "mean",
        whiten: bool = False,
        proof: str = "auto",
        time_limit: float = 60.0,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.center = center
        self.scale = scale
        self.bound = bound
        self.whiten = whiten
        self.proof = proof
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive_int("n_nonzero", self.n_nonzero)
        check_choice("proof", self.proof, PROOFS)
        check_number("time_limit", self.time_limit, 0.0, np.inf)
        check_bool("verbose", self.verbose)

    def _solve(self, problem: Problem) -> dict[str, Any]:
        pencil, bounds = problem.pencil, problem.bounds(check_bound(self.bound, problem.names))
        matrices = np.stack([operator.to_matrix() for operator in pencil.operators])
        k = min(self.n_nonzero, pencil.n_features)
        deadline, results = time.perf_counter() + float(self.time_limit), []
        for i in range(problem.k):
            left = max(deadline - time.perf_counter(), 0.0) / (problem.k - i)
            result = _one(DensePencil(matrices, allowances=pencil.allowances), bounds, k, problem, self.proof, left)
            if self.verbose:
                log_once(f"{self.component_prefix}{i + 1}: {result.certificate.message}")
            results.append(result)
            matrices = np.concatenate([_deflated(matrices[0], result.vectors[:, 0])[np.newaxis], matrices[1:]])
        fitted = self._attributes(problem, results)
        fitted["support_"] = _supports(fitted["components_"], problem.data)
        return {**fitted, "expected_background_variance_": None, "rows_used_": None}


def _one(pencil: DensePencil, bounds: Array, k: int, problem: Problem, proof: str, time_limit: float) -> DualResult:
    """One sparse component, in the units of the pencil."""
    held = bounds > 0  # a background without variance bounds nothing
    over = pencil.products(np.eye(pencil.size))
    sparse = SparseProblem(over[0], over[1:][held] / bounds[held][:, np.newaxis, np.newaxis], k)
    outcome = best_support(sparse, proof=proof, time_limit=time_limit)
    if not np.isfinite(outcome.leaf.value):
        raise InfeasibleBoundsError(
            f"no direction of {k} features that was tried satisfies the bounds: raise n_nonzero or the bound"
        )
    support = outcome.leaf.support
    part = DensePencil(over[:, support[:, np.newaxis], support], pencil.n_features, pencil.allowances)
    result = solve(Eigensolver(part), bounds, k=1, names=problem.names, floor=-part.target.magnitude)
    vectors = np.zeros((pencil.size, 1))
    vectors[support] = result.vectors
    lambdas = np.zeros(len(bounds))
    lambdas[held] = outcome.prices / bounds[held]
    certificate = _certificate(pencil, result, outcome, lambdas, k)
    return replace(result, vectors=vectors, value=certificate.upper, certificate=certificate, solver="search")


def _certificate(pencil: Pencil, result: DualResult, outcome: Outcome, lambdas: Array, k: int) -> SparseCertificate:
    """``lambdas`` are those at which the upper bound was computed."""
    own = result.certificate
    room = float(np.append(1.0, lambdas) @ pencil.allowances) + ARITHMETIC * UNIT * abs(outcome.upper) * pencil.size
    upper = max(own.upper, outcome.upper + room)
    gap = (upper - own.lower) / max(abs(upper), np.finfo(float).tiny)
    met = outcome.upper - outcome.leaf.value <= MET * abs(outcome.upper) and own.status == Status.OPTIMAL
    status = Status.OPTIMAL if met else Status.TIME_LIMIT if outcome.out_of_time else Status.GAP
    if own.status != Status.OPTIMAL:
        status = own.status
    features = f"{k} feature{'' if k == 1 else 's'}"
    if status == Status.OPTIMAL:
        message = (
            f"Proven: no component of {features} within the bounds has more variance in the target; "
            f"{_PROVED[outcome.proof]}."
        )
    else:
        why = " (the proof ran out of time: raise time_limit)" if outcome.out_of_time else ""
        message = (
            f"Not proven to be the best: others of {features} can have at most {100 * (upper / own.lower - 1):.1f} % more "
            f"variance in the target, {_PROVED[outcome.proof]}{why}."
        )
    return SparseCertificate(
        upper=upper,
        lower=own.lower,
        gap=gap,
        tight=own.tight,
        kkt=own.kkt,
        status=status,
        n_eigensolves=own.n_eigensolves,
        message=message,
        proven=own.proven,
        allowance=max(own.allowance, room),
        proof=outcome.proof,
    )


def _deflated(target: Array, vector: Array) -> Array:
    """The target without what a component explains."""
    image = target @ vector
    explained = float(vector @ image)
    return target if explained <= 0 else target - np.multiply.outer(image, image) / explained


def _supports(components: Array, data: Any) -> list[Array]:
    names = None if data is None else data.feature_names
    order = [np.argsort(-np.abs(row), kind="stable")[: np.count_nonzero(row)] for row in components]
    return [chosen if names is None else names[chosen] for chosen in order]
