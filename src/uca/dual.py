"""The dual problem of UCA: its value, its gradient, and what a solution looks like.

    minimise  g(lambda) = lambda_max(A - sum_j lambda_j B_j) + sum_j lambda_j c_j   over lambda >= 0.

g is a maximum of affine functions, so it is convex, and it is minimised. Each evaluation is an upper bound on the
primal value  ``max tr(A V)  s.t.  tr V = 1, tr(B_j V) <= c_j, V psd``; each feasible V gives a lower bound.

Solvers work with the *prices* ``w_j = lambda_j c_j`` and the backgrounds ``B_j / c_j``, so that every bound is 1 and
tolerances mean the same for every background. Results are in the user's units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ._deadline import NEVER, Deadline
from ._shown import Part, Shown, folded, table, text
from ._types import Array
from .operators.contract.pencil import Pencil
from .operators.contract.units import NO_FLOAT, in_user_units
from .operators.eigen.solver import Eigensolver
from .operators.statistics.rounding import ARITHMETIC, UNIT


class Status(StrEnum):
    """How a solution stands; each equals its string, as in ``certificate.status == "optimal"``.

    ``gap`` is for sparse components, whose bounds are proven and need not meet.
    """

    OPTIMAL = "optimal"
    MAX_ITER = "max_iter"
    STALLED = "stalled"
    ROUNDING = "rounding"
    GAP = "gap"
    TIME_LIMIT = "time_limit"

    def __repr__(self) -> str:  # as the strings they equal
        return repr(self.value)


@dataclass(frozen=True, repr=False)
class Certificate(Shown):
    """How good a solution is proven to be; ``print`` it for all of it.

    Attributes
    ----------
    upper : float
        Dual value g at the returned lambdas: no direction, and no mixture of directions, that respects the bounds has
        a larger target variance.
    lower : float
        Target variance of a mixture of directions (a feasible primal matrix) that respects every bound.
    gap : float
        ``(upper - lower) / |upper|``.
    tight : bool
        Whether the first component itself attains the optimum and respects every bound.
    kkt : float
        Largest violation of the optimality conditions, relative to the bounds: background variance above a bound, or
        different from it where lambda is positive.
    status : Status
        ``"optimal"`` (gap at most the tolerance), ``"max_iter"``, ``"time_limit"``, ``"stalled"``, or ``"rounding"``: the
        bounds met as computed, but the allowance for rounding exceeds the tolerance. Both bounds hold whatever it is.
    n_eigensolves : int
        How many eigenproblems were solved.
    message : str
        The same in words.
    proven : bool
        Whether both bounds are proven. The upper one is not if data is known through products alone: then it comes from
        an iterative eigen-solver, which may have missed a direction. The lower one is not if the bounds leave no room for
        rounding error, as with a background that varies equally in all directions.
    allowance : float
        How large the rounding error of the covariances may be, in the units of the bounds. Both bounds
        allow for it, so they hold for the sample covariances of the numbers passed in.
    estimated : bool
        Whether covariances were estimated because values are missing (``missing="em"``). The bounds then hold for the
        estimates.
    """

    #: What needs no warning.
    settled: ClassVar[tuple[Status, ...]] = (Status.OPTIMAL,)

    upper: float
    lower: float
    gap: float
    tight: bool
    kkt: float
    status: Status
    n_eigensolves: int
    message: str
    proven: bool = False
    allowance: float = 0.0
    estimated: bool = False

    @property
    def brief(self) -> str:
        """One line: is the problem solved, and how far from the optimum can the answer be?"""
        return f"Certificate: {self._words()}."

    def _words(self) -> str:
        if self.status != Status.OPTIMAL:
            words = "bounds proven" if self.status in self.settled else "not solved to the tolerance"
            return f"{words}, relative gap {self.gap:.1e} ({self.status})"
        return f"{'proven optimal' if self.proven else 'optimal, not proven'}, relative gap {self.gap:.1e}"

    def _brief(self) -> str:
        return f"{self._words()}, target variance at most {self.upper:.6g}, lower bound {self.lower:.6g}"

    def _parts(self) -> list[Part]:
        told = [[part.name, _plainly(getattr(self, part.name))] for part in fields(self) if part.name != "message"]
        return [
            text(self.brief, place="top"),
            text(self.message, wrapped=True),
            table(["", "value"], told, place="more"),
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "status": str(self.status)}  # files hold plain text

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, status=Status(state["status"]))


@dataclass(frozen=True, eq=False, repr=False)
class DualResult(Shown):
    """Solution of the dual problem; ``print`` it for a table.

    Attributes
    ----------
    lambdas : array of shape (m,)
        The optimal multipliers.
    value : float
        The optimum (the certificate's upper bound).
    eigenvalues : array of shape (k,)
        Largest eigenvalues of ``A - sum_j lambda_j B_j``, descending.
    vectors : array of shape (size, k)
        Their orthonormal eigenvectors; the first is the first component.
    bounds : array of shape (m,)
        The bounds ``c_j`` that were used.
    certificate : Certificate
    solver : str
        Name of the algorithm that found the lambdas.
    n_iter : int
        Its iterations.
    unfinished : tuple of int
        Positions of eigenpairs that an iterative method did not bring to full accuracy.
    """

    lambdas: Array
    value: float
    eigenvalues: Array
    vectors: Array
    bounds: Array
    certificate: Certificate
    solver: str
    n_iter: int
    unfinished: tuple[int, ...] = ()

    def _brief(self) -> str:
        m = len(self.lambdas)
        return f"optimum {self.value:.6g} with {m} background{'' if m == 1 else 's'}; {self.certificate.brief}"

    def _parts(self) -> list[Part]:
        multipliers = [
            [f"{j}", f"{a:.6g}", f"{b:.4g}"] for j, (a, b) in enumerate(zip(self.lambdas, self.bounds, strict=True))
        ]
        values = [[f"{i}", f"{value:.6g}"] for i, value in enumerate(self.eigenvalues)]
        return [
            text(f"Optimum {self.value:.6g}, found by {self.solver!r}.", place="top"),
            text(self.certificate.brief, place="top", apart=False),
            *([table(["background", "lambda", "bound"], multipliers)] if multipliers else []),
            table(["vector", "eigenvalue"], values),
            *folded(self.certificate.summary().parts[1:]),
        ]

    def in_units(self, powers: Sequence[int]) -> DualResult:
        """The result for matrices ``4 ** powers[s]`` times as large, target first; no powers leave it as it is."""
        if not any(powers):
            return self
        target, backgrounds = powers[0], np.array(powers[1:], dtype=int)
        c = self.certificate
        upper, lower, allowance = in_user_units([c.upper, c.lower, c.allowance], target).tolist()
        if c.upper != 0 and abs(upper) < np.finfo(float).tiny:
            raise OverflowError(NO_FLOAT)
        return replace(
            self,
            lambdas=in_user_units(self.lambdas, target - backgrounds),
            value=upper,
            eigenvalues=in_user_units(self.eigenvalues, target),
            bounds=in_user_units(self.bounds, backgrounds),
            certificate=replace(c, upper=upper, lower=lower, allowance=allowance),
        )


def _plainly(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else f"{value}"


@dataclass(frozen=True)
class DualPoint:
    """g and its surroundings at one vector of prices."""

    prices: Array
    value: float
    eigenvalues: Array
    vectors: Array
    spent: Array  # v' B_j v / c_j of the first vector, so the gradient is 1 - spent
    error: float = 0.0  # of the first eigenvalue, estimated, where it was found iteratively; value includes it
    loose: bool = False  # whether it was found with less than full accuracy
    unfinished: tuple[int, ...] = ()  # eigenpairs that did not converge

    @property
    def kkt(self) -> float:
        """Largest violation of the optimality conditions at a simple eigenvalue; 0 means optimal.

        For each background either the bound is met or the price is 0: the natural residual ``|min(1 - spent, price)|``,
        with prices relative to the largest.
        """
        largest = max(float(self.prices.max(initial=0.0)), np.finfo(float).tiny)
        return float(np.max(np.abs(np.minimum(1.0 - self.spent, self.prices / largest)), initial=0.0))


@dataclass
class Dual:
    """The dual function of the pencil behind an eigen-solver, with given bounds; counts its eigen-solves.

    ``floor`` is a value that no feasible mixture can fall below (0 where the target is a covariance): a smaller dual
    value proves that the bounds cannot be met. Values below ``negligible`` are rounding of the problem at hand. Solvers end
    with what they have when the ``deadline`` has passed.
    """

    eigen: Eigensolver
    bounds: Array
    floor: float = 0.0
    negligible: float = 0.0
    deadline: Deadline = NEVER
    n_eigensolves: int = field(default=0, init=False)
    _largest: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        # A background without variance has bound 0 = tr(B)/p and constrains nothing: its price stays 0.
        positive = self.bounds > 0
        self.per_bound = np.divide(1.0, self.bounds, out=np.zeros_like(self.bounds), where=positive)
        self.n_vectors = min(self.pencil.size, mixture_rank(self.pencil.n_backgrounds) + 2)

    @property
    def pencil(self) -> Pencil:
        """Target and backgrounds."""
        return self.eigen.pencil

    @property
    def m(self) -> int:
        """Number of backgrounds."""
        return self.pencil.n_backgrounds

    def weights(self, prices: Array) -> Array:
        """Weights of A, B_1 ... B_m in the contrast at ``prices``."""
        return np.concatenate([[1.0], -prices * self.per_bound])

    def evaluate(self, prices: Array, *, k: int | None = None, accuracy: float | None = None) -> DualPoint:
        """The value g at ``prices`` with the ``k`` top eigenpairs; an upper bound on the optimum.

        ``accuracy`` allows an error of that size where eigenvalues are found iteratively, for points that are only
        passed through; None is full accuracy, for all ``k`` pairs.
        """
        pairs = self.eigen.top(self.weights(prices), min(k or self.n_vectors, self.pencil.size), accuracy=accuracy)
        self.n_eigensolves += 1
        spent = self.eigen.variances(pairs.vectors[:, :1])[1:, 0] * self.per_bound
        value = float(pairs.values[0] + pairs.error + prices.sum())
        self._largest = max(self._largest, abs(value))
        return DualPoint(prices, value, pairs.values, pairs.vectors, spent, pairs.error, pairs.loose, pairs.unfinished)

    def proves_infeasible(self, point: DualPoint) -> bool:
        """Whether the value is below what any feasible mixture has, by more than rounding."""
        return self.m > 0 and point.value < self.floor - max(1e-9 * self._largest, self.negligible)

    def relative_gap(self, upper: float, lower: float) -> float:
        """``|upper - lower| / |upper|``. Rounding may put lower above upper; by much, it is a gap like any other."""
        if not np.isfinite(lower):
            return float(np.inf)
        distance = abs(upper - lower)
        return 0.0 if distance <= self.negligible else distance / max(abs(upper), np.finfo(float).tiny)

    def proven_value(self, point: DualPoint, slack: float, allowance: float) -> tuple[float, bool]:
        """The point's value as an upper bound, with room for its :meth:`allowance`; and whether it is proven.

        It is not where it rests on an iterative method.
        """
        top, proven = float(point.eigenvalues[0]), True
        if point.error > 0:
            top, proven = self.eigen.bound(self.weights(point.prices), top + point.error, slack)
        return float(top + point.prices.sum() + allowance), proven

    def allowance(self, point: DualPoint) -> float:
        """How far a value may be off: what building the covariances cost, and rounding of the eigenproblem itself.

        An eigenvalue is known to rounding of the norm, which dwarfs it where units or multipliers are far apart.
        """
        weights = np.abs(self.weights(point.prices))
        arithmetic = ARITHMETIC * UNIT * float(weights @ self._magnitudes + point.prices.sum())
        return self._building(point, weights) + arithmetic

    def _building(self, point: DualPoint, weights: Array) -> float:
        """How far the largest eigenvalue may be off: the norm of the error E, or what it is where the top vectors are.

        Where the top eigenvalues are set apart from the rest by a gap g, E moves them by at most its size in their space
        plus ``|E|^2 / g`` (half of g stands in for what E does to the gap).
        """
        whole = float(weights @ self.pencil.allowances)
        gaps = -np.diff(point.eigenvalues)
        apart = np.flatnonzero(gaps > 1e3 * whole)
        if whole == 0 or len(apart) == 0 or point.loose:
            return whole
        r = int(apart[0]) + 1
        near = float(weights @ self.errors_at(point.vectors[:, :r])) + 2.0 * whole**2 / float(gaps[r - 1])
        return min(whole, near)

    def errors_at(self, vectors: Array) -> Array:
        """How far ``v' S v`` may be off in the span of orthonormal vectors, for A, B_1 ... B_m; with room for arithmetic."""
        inside = vectors.T @ self.eigen.products(vectors)
        sizes = np.linalg.norm(inside, 2, axis=(1, 2))
        return self.pencil.errors_at(vectors, sizes) + ARITHMETIC * UNIT * self._magnitudes

    def errors_of_any(self) -> Array:
        """The same for any unit vector."""
        return self.pencil.allowances + ARITHMETIC * UNIT * self._magnitudes

    @cached_property
    def _magnitudes(self) -> Array:
        return np.array([operator.magnitude for operator in self.pencil.operators])

    def lambdas(self, prices: Array) -> Array:
        """Multipliers in the user's units."""
        return prices * self.per_bound


def mixture_rank(m: int) -> int:
    """Largest rank r that an extreme optimal mixture needs: r (r + 1) / 2 <= m + 1 (Pataki 1998)."""
    return int((np.sqrt(8 * (m + 1) + 1) - 1) / 2)


def mean_bounds(pencil: Pencil) -> Array:
    """``c_j = tr(B_j) / p``: the variance that a random direction explains in background j."""
    return np.array([operator.trace for operator in pencil.backgrounds]) / pencil.n_features
