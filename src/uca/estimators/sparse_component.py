"""One component of few features: from covariances to a vector with its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._parameters import check_bound
from .._types import Array
from ..dual import Certificate, DualResult, Status
from ..operators.contract.dense import DensePencil
from ..operators.contract.pencil import Pencil
from ..operators.eigen.solver import Eigensolver
from ..operators.statistics.rounding import ARITHMETIC, UNIT
from ..solvers.infeasible import InfeasibleBoundsError
from ..solvers.solve import solve
from ..supports import Entries, Outcome, SparseProblem, best_support, best_support_among_many, smallest_feasible
from ..supports.search import MET
from .problem import Problem

MANY = 4000  # features up to which covariances of all of them are searched
#: What an upper bound rests on, in words.
PROVED = {
    "levels": "every other choice of features was ruled out or solved",
    "relaxation": "by a semidefinite relaxation",
    "thresholds": "by thresholding the contrast matrix",
    "rows": "by the largest entries of each row of the contrast matrix (a loose bound)",
    "all features": "by the component on all features",
}


@dataclass(frozen=True, repr=False)
class SparseCertificate(Certificate):
    """How good a sparse component is proven to be.

    As :class:`~uca.Certificate`, where ``upper`` holds for every choice of that many features, and ``lower`` is attained by
    the one returned. ``status`` is ``"optimal"`` (proven to be the best), ``"gap"`` (both bounds are proven and do not
    meet) or ``"time_limit"`` (the same, because the proof ran out of time).

    Attributes
    ----------
    proof : str
        What the upper bound rests on: ``"levels"`` (every other choice of features was ruled out or solved),
        ``"relaxation"``, ``"thresholds"``, ``"rows"`` or ``"all features"``.
    """

    settled: ClassVar[tuple[Status, ...]] = (Status.OPTIMAL, Status.GAP, Status.TIME_LIMIT)

    proof: str = ""


@dataclass(frozen=True)
class Covariances:
    """Covariances in units of the problem, of which components are taken out one by one.

    Attributes
    ----------
    entries : Entries
        Target first.
    pencil : Pencil
        The same before anything was taken out: it knows how far rounding may have moved them.
    inflation : array of shape (m + 1,)
        By how much taking components out may have enlarged that.
    bounds : array of shape (m,)
    names : tuple of str
        Of the backgrounds.
    powers : array of shape (m + 1,)
        Powers of four from these units to the user's.
    seed : int
    """

    entries: Entries
    pencil: Pencil
    inflation: Array
    bounds: Array
    names: tuple[str, ...]
    powers: Array
    seed: int

    @classmethod
    def of(cls, problem: Problem, bound: Any) -> Covariances:
        """Those of a problem; ``bound`` is the parameter of an estimator."""
        pencil, bounds = problem.pencil, problem.bounds(check_bound(bound, problem.names))
        basis = problem.held.lift(np.eye(pencil.size)).T if pencil.size != pencil.n_features else None
        matrices = np.stack([operator.to_matrix() for operator in pencil.operators])
        unmoved = np.ones(len(matrices))
        return cls(Entries(basis, matrices), pencil, unmoved, bounds, problem.names, problem.powers, problem.seed)

    def deflated(self, vector: Array) -> Covariances:
        """The target without what a component explains, ``A - A v v'A / v'Av``; the backgrounds as they are."""
        inside = self.entries.inside(vector)
        image = self.entries.matrices[0] @ inside
        explained = float(inside @ image)
        if explained <= 0:
            return self
        target = self.entries.matrices[0] - np.multiply.outer(image, image) / explained
        matrices = np.concatenate([target[np.newaxis], self.entries.matrices[1:]])
        # It is P'AP with P = I - v v'A / v'Av, so an error of A grows by at most |P|^2 = |Av|^2 / (v'Av)^2.
        inflation = self.inflation.copy()
        inflation[0] *= max(1.0, float(image @ image) / explained**2)
        return replace(self, entries=replace(self.entries, matrices=matrices), inflation=inflation)

    @property
    def allowances(self) -> Array:
        """How far rounding may have moved the matrices, target first."""
        return self.inflation * self.pencil.allowances

    def _on(self, support: Array) -> DensePencil:
        """The problem on a support."""

        def errors_at(vectors: Array, sizes: Array) -> Array:
            whole = np.zeros((self.entries.p, vectors.shape[1]))
            whole[support] = vectors
            return self.inflation * self.pencil.errors_at(self.entries.inside(whole), sizes)

        return DensePencil(self.entries.part(support), self.entries.p, self.allowances, errors_at)

    def component(self, k: int, *, proof: str, time_limit: float) -> DualResult:
        """The best component of at most ``k`` features; its vector is one of features, (p, 1)."""
        k, entries, bounds = min(k, self.entries.p), self.entries, self.bounds
        held = bounds > 0  # a background without variance bounds nothing
        try:
            outcome = self._search(k, held, proof, time_limit)
        except InfeasibleBoundsError:  # with all features: said again with names, and in the units of the user
            self._whole()
            raise
        if not np.isfinite(outcome.leaf.value):
            raise InfeasibleBoundsError(self._infeasible(k, held))
        part = self._on(outcome.leaf.support)
        result = solve(Eigensolver(part), bounds, k=1, names=self.names, floor=-part.target.magnitude)
        vectors = np.zeros((entries.p, 1))
        vectors[outcome.leaf.support] = result.vectors
        lambdas = np.zeros(len(bounds))
        lambdas[held] = outcome.prices / bounds[held]
        certificate = self._certificate(result, outcome, lambdas, k)
        return replace(result, vectors=vectors, value=certificate.upper, certificate=certificate, solver="search")

    def _search(self, k: int, held: Array, proof: str, time_limit: float) -> Outcome:
        if self.entries.p <= MANY or k >= self.entries.p:
            return best_support(self._problem(k, held), proof=proof, time_limit=time_limit)
        dense = self._whole()
        entries = replace(self.entries, matrices=self.entries.matrices[np.append(True, held)])
        prices = (dense.lambdas * self.bounds)[held]
        return best_support_among_many(entries, self.bounds[held], k, prices, dense.certificate.upper)

    def _whole(self) -> DualResult:
        """The component on all features."""
        pencil = DensePencil(self.entries.matrices, self.entries.p, self.allowances)
        eigen = Eigensolver(pencil, self.seed)
        return solve(eigen, self.bounds, k=1, names=self.names, powers=self.powers, floor=-pencil.target.magnitude)

    def _problem(self, k: int, held: Array) -> SparseProblem:
        matrices = self.entries.matrices
        if self.entries.basis is not None:
            matrices = self.entries.part(np.arange(self.entries.p))
        return SparseProblem(matrices[0], matrices[1:][held] / self.bounds[held][:, np.newaxis, np.newaxis], k)

    def _infeasible(self, k: int, held: Array) -> str:
        told = f"no direction with {_features(k)} that was tried respects the bounds"
        if self.entries.p > MANY:
            return f"{told}: raise n_nonzero or the bound"
        works = smallest_feasible(self._problem(k, held))
        return f"{told}: n_nonzero={works} is the smallest number found that does; or raise the bound"

    def _certificate(self, result: DualResult, outcome: Outcome, lambdas: Array, k: int) -> SparseCertificate:
        """``lambdas`` are those at which the upper bound was computed."""
        own = result.certificate
        rounding = ARITHMETIC * UNIT * abs(outcome.upper) * len(self.entries.matrices[0])
        room = float(np.append(1.0, lambdas) @ self.allowances) + rounding
        upper = max(own.upper, outcome.upper + room)
        gap = (upper - own.lower) / max(abs(upper), np.finfo(float).tiny)
        met = outcome.upper - outcome.leaf.value <= MET * abs(outcome.upper) and own.status == Status.OPTIMAL
        status = Status.OPTIMAL if met else Status.TIME_LIMIT if outcome.out_of_time else Status.GAP
        if own.status != Status.OPTIMAL:
            status = own.status
        if status == Status.OPTIMAL:
            message = (
                f"Proven: no component with {_features(k)} within the bounds has more variance in the target; "
                f"{PROVED[outcome.proof]}."
            )
        else:
            why = " (the proof ran out of time: raise time_limit)" if outcome.out_of_time else ""
            more = f"{100 * (upper / own.lower - 1):.1f} % more" if own.lower > 0 else f"{upper:.3g}"
            message = (
                f"Not proven to be the best: others with {_features(k)} can have at most "
                f"{more} variance in the target, {PROVED[outcome.proof]}{why}."
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


def _features(k: int) -> str:
    return f"{k} feature{'' if k == 1 else 's'}"
