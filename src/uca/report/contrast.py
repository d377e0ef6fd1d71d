"""Components along the ray from PCA (no contrast) through the optimum to ten times its contrast.

At factor t the components are the top eigenvectors of ``A - t sum_j lambda_j B_j``. Promises: at t = 1 they are the fitted
ones; signs follow the neighbour on the side of the optimum, and so do rotations where eigenvalues are equal, so that
nothing flips from one step to the next; no p x p matrix is made for more than ``LARGE`` features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._threads import one_blas_thread
from .._types import Array
from ..eigen import top_eigenpairs
from ..operators.base import Pencil, embed
from ..operators.build import build
from ..operators.recycled import recycled

FACTORS = np.concatenate([np.linspace(0.0, 1.0, 11), 10 ** (np.arange(1, 11) / 10)])
OPTIMUM = 10  # the place of 1 among the factors
LARGE = 2_000  # features from which covariances are not formed
SAME = 1e-3  # eigenvalues at the optimum, relative to its value: are these the data of the fit?
TIED = 1e-7  # eigenvalues this close, relative to the largest, have no directions of their own


@dataclass(frozen=True)
class ContrastPath:
    """Components at each of s factors.

    Attributes
    ----------
    components : array of shape (s, k, p)
    target : array of shape (s, k)
        Variance of the target along each.
    backgrounds : array of shape (s, k, m)
        Variance of each background along each.
    """

    components: Array
    target: Array
    backgrounds: Array


def contrast_path(model: Any, arrays: Sequence[Any], k: int) -> ContrastPath | str:
    """The path of the first ``k`` components, or the sentence that says why there is none.

    Parameters
    ----------
    model : UCA
        Fitted.
    arrays : sequence of arrays
        The target, then the backgrounds in the order of the fit.
    """
    reason = _no_path(model, len(arrays) - 1)
    if reason:
        return reason
    # After fit_covariance the matrices were used as they are: those of centred, unscaled rows are the natural match.
    from_rows = model.n_samples_ is not None
    with one_blas_thread():
        held = build(
            arrays,
            ["target X", *model.background_names_],
            representation=choose(sum(a.shape[0] for a in arrays), arrays[0].shape[1]),
            center=bool(model.center) if from_rows else True,
            scale=model.scale if from_rows else False,
            n_empty=k,
        )
        pencil = recycled(held.pencil)
        lambdas = model._fitted("component_lambdas_")[:k].astype(float)
        if model.components == "joint":
            steps = [_joint(pencil, factor * lambdas[0], k) for factor in FACTORS]
        else:
            steps = [_sequential(held.pencil, factor * lambdas) for factor in FACTORS]
        wanted = model._fitted("eigenvalues_")[:k].astype(float)
        if np.abs(steps[OPTIMUM][0] - wanted).max() > SAME * abs(model.certificate_.upper):
            return (
                "The contrast slider needs the rows that the model was fitted on; the rows given here are others, so only "
                "the fitted components are shown."
            )
        variances = np.stack([pencil.variances(vectors) for _, vectors in steps])
    components = _aligned(
        [held.lift(vectors) for _, vectors in steps], [v for v, _ in steps], model._fitted("components_")[:k]
    )
    target, backgrounds = variances[:, 0], variances[:, 1:].swapaxes(1, 2).copy()
    target[OPTIMUM] = model._fitted("explained_variance_")[:k]
    backgrounds[OPTIMUM] = model._fitted("background_variance_")[:k]
    return ContrastPath(components, target, backgrounds)


def choose(n_rows: int, n_features: int) -> str:
    """How the data is held: as in a fit for few features, without p x p matrices for many."""
    if n_features <= LARGE:
        return "auto"
    return "reduced" if n_rows <= LARGE else "implicit"


def _no_path(model: Any, n_given: int) -> str:
    if not model.background_names_:
        return "There is no background, so there is no contrast to vary: the components are those of PCA."
    if not n_given:
        return "The contrast slider needs the rows of the backgrounds: make the report with backgrounds=."
    if not np.any(model._fitted("component_lambdas_") > 0):
        return (
            "Every multiplier is 0: the components of PCA respect the bounds already, so there is no contrast to vary."
        )
    return ""


def _joint(pencil: Pencil, lambdas: Array, k: int) -> tuple[Array, Array]:
    pairs = top_eigenpairs(pencil.combine(1.0, -lambdas), k)
    return pairs.values, pairs.vectors


def _sequential(pencil: Pencil, lambdas: Array) -> tuple[Array, Array]:
    """Each component with multipliers of its own, in the complement of those before it."""
    values, vectors, reflectors, space = [], [], [], pencil
    for row in lambdas:
        pair = top_eigenpairs(recycled(space).combine(1.0, -row), 1)
        vector = pair.vectors
        for reflector in reversed(reflectors):
            vector = embed(vector, reflector)
        values.append(pair.values[0])
        vectors.append(vector)
        if len(values) < len(lambdas):
            space, reflector = space.complement(pair.vectors[:, 0])
            reflectors.append(reflector)
    return np.array(values), np.hstack(vectors)


def _aligned(steps: Sequence[Array], values: Sequence[Array], optimum: Array) -> Array:
    """Components of every step, (s, k, p), each step turned to its neighbour on the side of the optimum."""
    out = np.empty((len(steps), *optimum.shape))
    out[OPTIMUM] = optimum
    for side in (range(OPTIMUM - 1, -1, -1), range(OPTIMUM + 1, len(steps))):
        previous = out[OPTIMUM]
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
