"""What new rows of a background should show along a component: its variance there, predicted from the fit itself.

Bounds hold for the covariances of the rows at hand. The component was chosen on these rows, so new rows of the same kind
vary more along it: how much more is what leaving out one row at a time would show, and for an eigenvector that has a
formula. With ``C = A - sum_j lambda_j B_j``, ``C v = mu v`` and ``f = n_j - 1``, leaving row x of background j out adds
``lambda_j x x' / f`` to C, and the eigenvector becomes ``v_x`` with

    v_x = alpha v + R x (lambda_j / f) (x'v_x),     so     x'v_x = alpha x'v / (1 - lambda_j x'R x / f).

R is ``(mu I - C)`` inverted on the directions in which v can move: those orthogonal to v and, because lambda responds so
that every active bound is kept, orthogonal to every ``B_i v`` with ``lambda_i > 0``. ``alpha`` keeps v_x at length 1.
The mean over rows replaces ``x'R x`` by ``tr(B_j R)``, as generalised cross-validation does (Golub, Heath & Wahba 1979):

    rows used          d_j = 1 + lambda_j tr(B_j R),
    expected variance  v'B_j v / [(1 - d_j / f)^2 + v'B_j v (lambda_j / f)^2 tr(B_j R^2)].

The 1 is for keeping the bound itself; a background with multiplier 0 is charged with it too, since such backgrounds are
those that happen to vary little along the component (without it predictions are further below the truth). The second term
of the denominator is ``alpha``; it matters where nearly all rows are used. From ``d_j = 0.9 f`` on nothing useful is
predicted, and the expected variance is infinite.

Later components: earlier ones are taken out of the directions of R and, where components are joint, added again with their
own distance ``mu_i - mu_l``, which is negative. Their eigenvalues may nearly meet, and then first order says nothing: a row
moves each by about ``lambda_j v'B_j v / f``, and distances are widened by twice that.

R is never formed. Where matrices are in memory, ``mu I - C`` has a Cholesky factor on the directions of R; where there are
only products, conjugate gradients stand in. Traces are exact for up to ``EXACT`` coordinates and for backgrounds with few
rows, else the mean over random vectors with a fixed seed (Hutchinson 1990).

Rows count as independent. Repeated rows of one subject use up more than this says:
:func:`uca.inference.expected_background_variance` leaves out whole subjects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, lapack

from .._types import Array
from ..operators.contract.operator import CovarianceOperator
from ..operators.contract.pencil import Pencil, variances_of
from ..operators.eigen.span import orthonormal
from ..operators.statistics.blocks import divisor

USED_UP = 0.9  # share of the rows from which on nothing useful is predicted
EXACT = 200  # coordinates up to which traces are exact where matrices are in memory
FEW_ROWS = 64  # rows of a background up to which they are, whatever the number of coordinates
VECTORS = 32  # random vectors beyond
EXACT_BY_PRODUCTS, VECTORS_BY_PRODUCTS = 64, 6  # the same where each vector costs passes over the data
STEPS = 25  # of conjugate gradients, at most
RESIDUAL = (
    0.1  # at which they stop; the error of a trace is of the order of its square, less than that of random vectors
)
ACTIVE = 1e-9  # share of the target's variance below which a price counts as 0
RIDGE = 1e-10  # relative, so that equal eigenvalues do no harm
LARGEST_RIDGE = 1e-4


@dataclass(frozen=True)
class Expected:
    """Rows that components used up, and variances to expect on new rows, (k, m) each, in the units of the pencil."""

    rows_used: Array
    variance: Array


@dataclass(frozen=True)
class Solution:
    """Components on a pencil with what they were found by, and rows of each background.

    Attributes
    ----------
    vectors : array of shape (size, k)
    eigenvalues : array of shape (k,)
    lambdas : array of shape (k, m)
    products : array of shape (m + 1, size, k)
        Of target and backgrounds with the vectors.
    n_rows : sequence of int
        Of the backgrounds.
    joint : bool
        Whether all are eigenvectors of one matrix.
    """

    vectors: Array
    eigenvalues: Array
    lambdas: Array
    products: Array
    n_rows: Sequence[int]
    joint: bool

    @cached_property
    def variances(self) -> Array:
        """Of target and backgrounds along the vectors, (m + 1, k)."""
        return np.maximum(variances_of(self.vectors, self.products), 0.0)  # rounding may put it below


def expected(pencil: Pencil, solution: Solution, seed: int = 0) -> Expected:
    """Predict the variance of each component on new rows of each background."""
    k, m = solution.lambdas.shape
    freedom = np.array([divisor(n) for n in solution.n_rows], dtype=float)
    used, variance = np.ones((k, m)), np.zeros((k, m))
    for i in range(k if m else 0):
        own, lambdas = solution.variances[1:, i], solution.lambdas[i]
        first, second = _traces(pencil, solution, i, freedom, seed)
        used[i] += lambdas * first
        share = used[i] / freedom
        length = own * (lambdas / freedom) ** 2 * second
        usable = share < USED_UP
        less = np.where(usable, (1.0 - share) ** 2 + length, 1.0)
        if i == 0 or not solution.joint:  # chosen to vary little there: new rows do not vary less
            less = np.minimum(less, 1.0)
        variance[i] = np.where(usable, own / less, np.inf)
    return Expected(np.minimum(used, freedom), variance)  # no fit uses more rows than there are


def _traces(pencil: Pencil, solution: Solution, i: int, freedom: Array, seed: int) -> tuple[Array, Array]:
    """``tr(B_j R)`` and ``tr(B_j R^2)`` of component i for every background; 0 where its multiplier is."""
    lambdas, own = solution.lambdas[i], solution.variances[1:, i]
    spent = lambdas * own
    active = np.flatnonzero(spent > ACTIVE * max(float(solution.variances[0, i]), np.finfo(float).tiny)).tolist()
    first, second = np.zeros(len(lambdas)), np.zeros(len(lambdas))
    if not active:
        return first, second
    fixed = np.hstack([solution.vectors[:, : i + 1], solution.products[1:][active, :, i].T])
    inside = Inside(pencil, np.concatenate([[1.0], -lambdas]), orthonormal(fixed / np.linalg.norm(fixed, axis=0)))
    widened = 2.0 * float(np.max(spent / freedom)) if i else 0.0
    size = float(solution.variances[0, i] + spent.sum())
    resolvent = inside.resolvent(float(solution.eigenvalues[i]) + widened, size, seed)
    if resolvent is None:
        first[active] = np.inf
        return first, second
    for j in active:  # negative only by the error of a method that does not converge; its size still tells
        first[j], second[j] = np.abs(resolvent.traces(j, solution.n_rows[j]))
    if solution.joint and i:
        earlier = solution.variances[1:][active, :i]
        moved = 2.0 * (lambdas / freedom)[active, np.newaxis] * (own[active, np.newaxis] + earlier)
        distance = solution.eigenvalues[:i] - solution.eigenvalues[i] + moved
        first[active] -= (earlier / distance).sum(axis=1)
        second[active] += (earlier / distance**2).sum(axis=1)
    return first, second


class Inside:
    """The contrast of a pencil on the complement of a few orthonormal vectors, (size, r)."""

    def __init__(self, pencil: Pencil, weights: Array, fixed: Array):
        self.pencil, self.weights, self._fixed = pencil, weights, fixed

    def project(self, vectors: Array) -> Array:
        """The part of vectors in the complement."""
        return vectors - self._fixed @ (self._fixed.T @ vectors)

    def resolvent(self, mu: float, size: float, seed: int) -> Resolvent | None:
        """``(mu I - C)^-1`` inside; None if an eigenvalue there lies above mu. A ridge is relative to ``size``."""
        matrix = self.pencil.combine(self.weights).dense()
        if matrix is None:
            return ByProducts(self, mu + RIDGE * size, seed)
        fixed, image = self._fixed, matrix @ self._fixed
        # P C P = C - F K' - K F' with K = C F - F (F'C F) / 2, for P = I - F F'.
        half = image - fixed @ (fixed.T @ image) / 2.0
        shifted = fixed @ (half.T + size * fixed.T)  # and something positive on the rest
        shifted += half @ fixed.T
        shifted -= matrix
        diagonal = shifted.diagonal() + mu
        ridge = RIDGE
        while ridge <= LARGEST_RIDGE:
            shifted.flat[:: len(shifted) + 1] = diagonal + ridge * size
            try:
                return InMemory(self, cholesky(shifted, lower=True, check_finite=False), seed)
            except LinAlgError:
                ridge *= 100.0
        return None


class Resolvent(ABC):
    """R, the inverse of ``mu I - C`` inside."""

    exact_up_to: int  # coordinates, for traces
    n_vectors: int  # random ones beyond

    def __init__(self, inside: Inside, seed: int):
        self.inside, self._seed = inside, seed

    @abstractmethod
    def __matmul__(self, vectors: Array) -> Array:
        """``R V``."""

    @abstractmethod
    def whole(self) -> Array:
        """R itself."""

    @cached_property
    def _moved(self) -> tuple[Array, Array, int]:
        """Vectors V with ``V V'`` about c times the identity, ``R V``, and c."""
        size = self.inside.pencil.size
        if size <= self.exact_up_to:
            return np.eye(size), self.whole(), 1
        vectors = np.random.default_rng(self._seed).choice([-1.0, 1.0], size=(size, self.n_vectors))
        return vectors, self @ vectors, self.n_vectors

    def _image(self, j: int) -> Array:
        """``B_j R V``."""
        return self.inside.pencil.backgrounds[j] @ self._moved[1]

    def _factor_of(self, j: int, n_rows: int) -> Array | None:
        """F with ``F F' = B_j`` where it has few columns and R is cheap, so that traces are exact; else None."""
        pencil = self.inside.pencil
        if not pencil.in_memory or (n_rows > FEW_ROWS and pencil.size > self.exact_up_to):
            return None
        if (held := pencil.factor(1 + j)) is not None:
            return held if held.shape[1] < pencil.size else None
        if pencil.size <= self.exact_up_to:
            return None
        return _factor(pencil.backgrounds[j], np.random.default_rng(self._seed).standard_normal((pencil.size, n_rows)))

    def traces(self, j: int, n_rows: int) -> tuple[float, float]:
        """``tr(B_j R)`` and ``tr(B_j R^2)`` for a background of ``n_rows`` rows."""
        if (factor := self._factor_of(j, n_rows)) is not None:
            moved = self @ factor
            return float(np.vdot(factor, moved)), float(np.vdot(moved, moved))
        vectors, moved, count = self._moved
        image = self._image(j)
        return float(np.sum(vectors * image)) / count, float(np.sum(moved * image)) / count


class InMemory(Resolvent):
    """By a Cholesky factor."""

    exact_up_to, n_vectors = EXACT, VECTORS

    def __init__(self, inside: Inside, factor: Array, seed: int):
        super().__init__(inside, seed)
        self._factor = factor

    def __matmul__(self, vectors: Array) -> Array:
        return cho_solve((self._factor, True), self.inside.project(vectors), check_finite=False)

    def whole(self) -> Array:
        inverse = lapack.dpotri(self._factor, lower=1)[0]
        inverse += np.tril(inverse, -1).T
        return self.inside.project(inverse)  # block diagonal: what is outside falls away


class ByProducts(Resolvent):
    """By conjugate gradients, all vectors in one pass: enough for a trace."""

    exact_up_to, n_vectors = EXACT_BY_PRODUCTS, VECTORS_BY_PRODUCTS

    def __init__(self, inside: Inside, mu: float, seed: int):
        super().__init__(inside, seed)
        self._mu = mu

    def __matmul__(self, vectors: Array) -> Array:
        residual = self.inside.project(vectors)
        solution, direction = np.zeros_like(residual), residual.copy()
        squares = np.einsum("sk,sk->k", residual, residual)
        goal = RESIDUAL**2 * squares
        for _ in range(STEPS):
            going = squares > goal
            if not going.any():
                break
            image = self._inverse(direction)
            curvature = np.einsum("sk,sk->k", direction, image)
            step = np.divide(squares, curvature, out=np.zeros_like(squares), where=going & (curvature > 0))
            solution += step * direction
            residual -= step * image
            new = np.where(step > 0, np.einsum("sk,sk->k", residual, residual), 0.0)
            direction = residual + np.divide(new, squares, out=np.zeros_like(new), where=going) * direction
            squares = new
        return solution

    def whole(self) -> Array:
        return self @ np.eye(self.inside.pencil.size)

    @cached_property
    def _images(self) -> Array:
        return self.inside.pencil.products(self._moved[1])  # one pass for all backgrounds

    def _image(self, j: int) -> Array:
        return self._images[1 + j]

    def _inverse(self, vectors: Array) -> Array:
        """``(mu I - C) V`` inside."""
        contrast = np.tensordot(self.inside.weights, self.inside.pencil.products(vectors), axes=1)
        return self.inside.project(self._mu * vectors - contrast)


def _factor(operator: CovarianceOperator, vectors: Array) -> Array:
    """F with ``F F'`` = the operator, of rank at most the number of vectors."""
    basis = np.linalg.qr(operator @ vectors)[0]
    values, turn = np.linalg.eigh(basis.T @ (operator @ basis))
    return basis @ (turn * np.sqrt(np.maximum(values, 0.0)))
