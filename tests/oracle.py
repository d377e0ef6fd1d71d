"""The optimum to 30 digits, from the numbers that were passed in: exact integers, then balls of 600 bits (python-flint).

Independent of the package: sample covariances come from integer arithmetic on the exact values of the floats, and the
dual problem is solved by a textbook barrier method,

    minimise  t + sum_j w_j - mu (log det S + sum_j log w_j),   S = t I - A + sum_j w_j B_j / c_j,

whose central path gives both bounds: ``V = mu S^-1`` is feasible and has target variance ``t + sum_j w_j - (p + m) mu``.
It takes the package's one convention that is not in the formulas: a feature is constant where its deviation is at most
the distance of its mean to the next float.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from flint import arb, arb_mat, fmpq, fmpz_mat

BITS = 600
DIGITS = 32  # of the relative distance between the two bounds


@dataclass(frozen=True)
class Exact:
    """Covariances in balls, and the bounds."""

    target: arb_mat
    backgrounds: list[arb_mat]
    bounds: list[arb]


@dataclass(frozen=True)
class Truth:
    """The optimum lies in [lower, upper]."""

    lower: arb
    upper: arb

    def excess(self, lower: float, upper: float) -> float:
        """How far the optimum lies outside an interval, relative to the optimum; 0 or less: inside."""
        size = abs(self.upper)
        above, below = (self.lower - arb(upper)) / size, (arb(lower) - self.upper) / size
        return max(float(above.mid()), float(below.mid()))


def _integers(X: np.ndarray) -> tuple[fmpz_mat, int]:
    """The values times ``2 ** shift`` as integers, exactly."""
    ratios = [Fraction(float(value)) for value in X.ravel()]
    shift = max(ratio.denominator.bit_length() - 1 for ratio in ratios)
    return fmpz_mat(*X.shape, [int(ratio * 2**shift) for ratio in ratios]), shift


def _second_moments(X: np.ndarray, center: bool) -> tuple[list[list[fmpq]], list[fmpq]]:
    """Covariance (divided by n - 1; about zero without ``center``) and means, as rationals."""
    n, p = X.shape
    values, shift = _integers(X)
    sums = fmpz_mat(1, n, [1] * n) * values
    z = n * values - fmpz_mat(n, 1, [1] * n) * sums if center else n * values
    scatter = z.transpose() * z
    denominator = n**2 * (n - 1) * 4**shift
    matrix = [[fmpq(scatter[i, k], denominator) for k in range(p)] for i in range(p)]
    return matrix, [fmpq(sums[0, i], n * 2**shift) for i in range(p)]


def _inverse_deviations(matrix: list[list[fmpq]], mean: list[fmpq], dtype: np.dtype) -> list[arb]:
    rounding = [float(np.spacing(dtype(abs(float(arb(m).mid()))))) for m in mean]
    constant = [matrix[i][i] <= fmpq(*rounding[i].as_integer_ratio()) ** 2 for i in range(len(mean))]
    return [arb(0) if constant[i] else 1 / arb(matrix[i][i]).sqrt() for i in range(len(mean))]


def exact_problem(arrays, *, center=True, scale=True, bound="mean") -> Exact:
    """The problem that the numbers pose; the target comes first."""
    flint.ctx.prec = BITS
    dense = [np.asarray(array.toarray() if hasattr(array, "toarray") else array) for array in arrays]
    moments = [_second_moments(array, center) for array in dense]
    dtypes = [np.float32 if array.dtype == np.float32 else np.float64 for array in dense]
    inverse = [_inverse_deviations(*m, dtype) for m, dtype in zip(moments, dtypes, strict=True)]
    if scale == "target":
        inverse = [inverse[0]] * len(inverse)
    p = dense[0].shape[1]
    matrices = []
    for (matrix, _), factor in zip(moments, inverse, strict=True):
        d = factor if scale else [arb(1)] * p
        matrices.append(arb_mat([[arb(matrix[i][k]) * d[i] * d[k] for k in range(p)] for i in range(p)]))
    numbers = [bound] * (len(arrays) - 1) if isinstance(bound, (str, float)) else list(bound)
    bounds = [trace(b) / p if c == "mean" else arb(c) for b, c in zip(matrices[1:], numbers, strict=True)]
    return Exact(matrices[0], matrices[1:], bounds)


def trace(matrix: arb_mat) -> arb:
    return sum((matrix[i, i] for i in range(matrix.nrows())), arb(0))


def _inner(a: arb_mat, b: arb_mat) -> arb:
    """``tr(a b)`` for symmetric matrices."""
    return sum((x * y for x, y in zip(a.entries(), b.entries(), strict=True)), arb(0))


def _mid(matrix: arb_mat) -> arb_mat:
    return arb_mat(matrix.nrows(), matrix.ncols(), [entry.mid() for entry in matrix.entries()])


def solve(problem: Exact) -> Truth:
    """The optimum, by the barrier method."""
    flint.ctx.prec = BITS
    p = problem.target.nrows()
    size = trace(problem.target).mid()
    target = _mid(problem.target / size)
    used = [(b, c) for b, c in zip(problem.backgrounds, problem.bounds, strict=True) if c > 0]
    costs = [_mid(b / c) for b, c in used]
    m = len(costs)
    identity = arb_mat(p, p, [int(i == k) for i in range(p) for k in range(p)])
    parts = [identity, *costs]
    x = [arb(2), *[arb(1) / max(m, 1)] * m]  # t and the prices
    mu = arb(1) / p
    while True:
        x = _centre(x, mu, target, parts)
        upper = sum(x, arb(0))
        distance = (p + m) * mu
        if distance < arb(10) ** -DIGITS * upper:
            return Truth((upper - 2 * distance) * size, upper * size)
        mu = (mu / 30).mid()


def _centre(x: list[arb], mu: arb, target: arb_mat, parts: list[arb_mat]) -> list[arb]:
    """Newton's method for one ``mu``, damped as self-concordance asks, until the decrement is nothing."""
    for _ in range(400):
        slack = sum((x[i] * part for i, part in enumerate(parts)), -target)
        inverse = _mid(_mid(slack).inv())
        turned = [_mid(inverse * part) for part in parts]
        k = len(x)
        gradient = [1 / mu - trace(turn) - (1 / x[i] if i else 0) for i, turn in enumerate(turned)]
        transposed = [turn.transpose() for turn in turned]
        hessian = [
            [_inner(turned[i], transposed[j]) + (x[i] ** -2 if i and i == j else 0) for j in range(k)] for i in range(k)
        ]
        step = arb_mat(hessian).solve(arb_mat(k, 1, [-g for g in gradient]))
        decrement = (-sum((g * step[i, 0] for i, g in enumerate(gradient)), arb(0))).mid()
        decrement = decrement.sqrt().mid() if decrement > 0 else arb(0)
        length = 1 / (1 + decrement) if decrement > arb(1) / 4 else arb(1)
        x = [(x[i] + length * step[i, 0]).mid() for i in range(k)]
        if decrement < arb(10) ** -12:
            return x
    raise AssertionError("the barrier method did not converge")
