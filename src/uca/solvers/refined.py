"""Newton's method for the whole problem at the price of linear solves, where matrices are in memory.

At a smooth optimum the direction u and the prices w that were found inside a basis are improved together. With
``C = A - sum_j w_j B_j`` and ``mu = u'Cu``, the vectors

    (mu I - C)^-1 u,       (mu I - C)^-1 (B_j u - u u'B_j u)   for every background with a price,

span, beside u, the step of Newton's method on (u, mu, w): the first is Rayleigh quotient iteration, the others are the
derivatives of the top eigenvector by the prices. They join the basis, and the problem is solved again inside it, so the
outcome is at least as good as that step and as safe as the basis. One factorisation costs a fraction of an eigen-solve.

Nothing here proves anything. The eigen-solve at the prices that come out does; where it disagrees, its vectors join the
basis, as ever. At a kink, where the solution inside the basis is a mixture, nothing is done.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from .._types import Array
from .bundle import Bundle
from .projected import Projected

STEPS = 5
CLOSE = 3e-4  # length of a step after which what is left is rounding: each is about the cube of the one before
TINY = float(np.finfo(float).tiny)


def refine(bundle: Bundle, small: Projected, *, probe: float, box: float) -> Projected:
    """The solution inside the basis after Newton's steps have joined it; the given one where they do not help."""
    for _ in range(STEPS):
        if small.factor is None or small.factor.shape[1] > 1 or small.at_box:
            break
        steps, length = newton_steps(bundle, bundle.basis @ small.factor[:, 0], small.prices)
        if bundle.extend(steps) == 0:
            break
        small = bundle.solve(small.prices, probe=probe, box=box)
        if length <= CLOSE:
            break
    return small


def newton_steps(bundle: Bundle, u: Array, prices: Array) -> tuple[Array, float]:
    """Unit vectors orthogonal to u that span the next step, (size, r), and the length of the step of u itself.

    None, (size, 0), where u is an eigenvector already.
    """
    pencil, weights = bundle.dual.pencil, bundle.dual.weights(prices)
    images = pencil.products(u[:, np.newaxis])[:, :, 0]
    sides = images[1:][prices > 0]
    shifted = -pencil.combine(weights).to_matrix()
    shifted.flat[:: len(u) + 1] += u @ (weights @ images)
    right = np.vstack([u, sides - np.multiply.outer(sides @ u, u)]).T
    *_, found, info = lapack.dsysv(shifted, right, lower=1, lwork=64 * len(u), overwrite_a=1, overwrite_b=1)
    if info != 0 or not np.isfinite(found).all():
        return np.empty((len(u), 0)), 0.0
    along = u @ found
    found -= np.multiply.outer(u, along)
    sizes = np.linalg.norm(found, axis=0)
    return found / np.maximum(sizes, TINY), float(sizes[0]) / max(abs(float(along[0])), TINY)
