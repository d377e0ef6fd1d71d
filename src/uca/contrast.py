"""Components along the ray from PCA (no contrast) through the optimum and beyond.

At factor t the components are the top eigenvectors of ``A - t sum_j lambda_j B_j``: PCA at 0, the fitted ones at 1.
Promises: signs follow the neighbour on the side of the optimum, and so do rotations where eigenvalues are equal, so that
nothing flips from one step to the next; where data is known through products alone, steps beside the optimum are as
accurate as a picture needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._types import Array
from .fitted import FittedProblem
from .operators.contract.pencil import embed
from .operators.eigen.solver import Eigensolver

VISIBLE = 3e-4  # residual, relative to the target's largest variance, at which a vector is good enough to look at
TIED = 1e-7  # eigenvalues this close, relative to the largest, have no directions of their own

Steps = list[tuple[Array, Array]]  # eigenvalues (k,) and vectors of the working space (size, k), for each factor


def joint_steps(problem: FittedProblem, factors: Array, k: int, *, exact: bool = False) -> Steps:
    """The top ``k`` eigenpairs at each factor; with ``exact``, that next to the optimum is as accurate as it gets."""
    # Outwards from the optimum, whose vectors are known best: each step begins with what its neighbours found.
    start, steps = nearest_to_optimum(factors), {}
    loose = None if problem.held.pencil.in_memory else VISIBLE * abs(problem.certificate.upper)
    for i in sorted(range(len(factors)), key=lambda i: abs(i - start)):
        weights = np.concatenate([[1.0], -factors[i] * problem.lambdas])
        pairs = problem.eigen.top(weights, k, residual=None if exact and i == start else loose)
        steps[i] = (pairs.values, pairs.vectors)
    return [steps[i] for i in range(len(factors))]


def sequential_steps(problem: FittedProblem, factors: Array, lambdas: Array) -> Steps:
    """The same where each component has multipliers of its own, (k, m), in the complement of those before it."""
    # An error in an eigenvalue is that of its vector squared.
    accuracy = VISIBLE**2 * abs(problem.certificate.upper)
    return [_sequential(problem.eigen, factor * lambdas, accuracy) for factor in factors]


def _sequential(eigen: Eigensolver, lambdas: Array, accuracy: float) -> tuple[Array, Array]:
    values, vectors, space = [], [], eigen
    reflectors: list[Array] = []
    for row in lambdas:
        pair = space.top(np.concatenate([[1.0], -row]), 1, accuracy=accuracy)
        vector = pair.vectors
        for reflector in reversed(reflectors):
            vector = embed(vector, reflector)
        values.append(pair.values[0])
        vectors.append(vector)
        if len(values) < len(lambdas):
            complement, reflector = space.pencil.complement(pair.vectors[:, 0])
            space = Eigensolver(complement)
            reflectors.append(reflector)
    return np.array(values), np.hstack(vectors)


def nearest_to_optimum(factors: Array) -> int:
    """The place of the factor that is nearest to 1."""
    return int(np.abs(np.asarray(factors) - 1.0).argmin())


def aligned(steps: Array, values: Sequence[Array] | Array, start: int) -> Array:
    """Components of every step, (s, k, p): those at ``start`` as they are, the others turned to their neighbours."""
    out = steps.copy()
    for side in (range(start - 1, -1, -1), range(start + 1, len(steps))):
        previous = out[start]
        for i in side:
            out[i] = previous = turn(steps[i], values[i], previous)
    return out


def turn(components: Array, values: Array, previous: Array) -> Array:
    """Components with the signs of ``previous``; those with equal eigenvalues are rotated towards it."""
    out = components.copy()
    cuts = np.flatnonzero(-np.diff(values) > TIED * np.abs(values).max(initial=0.0)) + 1
    for group in np.split(np.arange(len(values)), cuts):
        overlap = previous[group] @ components[group].T
        if len(group) == 1:
            out[group] *= -1.0 if overlap.item() < 0 else 1.0
        else:
            left, _, right = np.linalg.svd(overlap)
            out[group] = left @ right @ components[group]
    return out
