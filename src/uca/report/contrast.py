"""Components along the ray from PCA (no contrast) through the optimum to ten times its contrast.

At factor t the components are the top eigenvectors of ``A - t sum_j lambda_j B_j``. Promises: at t = 1 they are the fitted
ones; signs follow the neighbour on the side of the optimum, and so do rotations where eigenvalues are equal, so that
nothing flips from one step to the next; no p x p matrix is made for more than ``LARGE`` features, and where data is known
through products alone, the steps beside the optimum are as accurate as a picture needs.
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
from ..operators.span import Span

FACTORS = np.concatenate([np.linspace(0.0, 1.0, 11), 10 ** (np.arange(1, 11) / 10)])
OPTIMUM = 10  # the place of 1 among the factors
LARGE = 2_000  # features from which covariances are not formed
SAME = 1e-3  # eigenvalues at the optimum, relative to its value: are these the data of the fit?
LOOSE = 3e-4  # residual, relative to the target's largest variance, at which a vector is good enough to look at
PASSES = 30  # over data that is known through products, for each step
MOST_VECTORS = 120
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
        lambdas = model._fitted("component_lambdas_")[:k].astype(float)
        if model.components == "sequential":
            accuracy = LOOSE**2 * abs(
                model.certificate_.upper
            )  # an error in an eigenvalue is that of its vector squared
            steps = [_sequential(held.pencil, factor * lambdas, accuracy) for factor in FACTORS]
        elif held.name == "implicit":
            steps = loose_steps(held.pencil, lambdas[0], model._fitted("components_")[:k].T.astype(float))
        else:
            pencil = recycled(held.pencil)
            steps = [_joint(pencil, factor * lambdas[0], k) for factor in FACTORS]
        wanted = model._fitted("eigenvalues_")[:k].astype(float)
        if np.abs(steps[OPTIMUM][0] - wanted).max() > SAME * abs(model.certificate_.upper):
            return (
                "The contrast slider needs the rows that the model was fitted on; the rows given here are others, so only "
                "the fitted components are shown."
            )
        # All steps at once: a pass over wide data for each would take most of the time.
        vectors = np.hstack([vectors for _, vectors in steps])
        variances = held.pencil.variances(vectors).reshape(-1, len(steps), k)
        lifted = held.lift(vectors).reshape(len(steps), k, -1)
    components = _aligned(lifted, [values for values, _ in steps], model._fitted("components_")[:k])
    target, backgrounds = variances[0], np.moveaxis(variances[1:], 0, 2).copy()
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


def _sequential(pencil: Pencil, lambdas: Array, accuracy: float) -> tuple[Array, Array]:
    """Each component with multipliers of its own, in the complement of those before it."""
    values, vectors, space = [], [], pencil
    reflectors: list[Array] = []
    for row in lambdas:
        pair = top_eigenpairs(recycled(space).combine(1.0, -row), 1, accuracy=accuracy)
        vector = pair.vectors
        for reflector in reversed(reflectors):
            vector = embed(vector, reflector)
        values.append(pair.values[0])
        vectors.append(vector)
        if len(values) < len(lambdas):
            space, reflector = space.complement(pair.vectors[:, 0])
            reflectors.append(reflector)
    return np.array(values), np.hstack(vectors)


def loose_steps(pencil: Pencil, lambdas: Array, optimum: Array) -> list[tuple[Array, Array]]:
    """The joint steps of data that is known through products, as accurate as a picture needs.

    One growing span serves all steps, outwards from the optimum, where the fitted vectors are the answer; each step adds
    residuals of its top vectors until they are small, at most ``PASSES`` times.
    """
    k, found = optimum.shape[1], {}
    span = Span(pencil)
    span.extend(np.hstack([optimum, np.random.default_rng(0).standard_normal((pencil.size, k + 2))]))
    for i in sorted(range(len(FACTORS)), key=lambda i: abs(i - OPTIMUM)):
        found[i] = _refined(span, np.concatenate([[1.0], -FACTORS[i] * lambdas]), k)
    return [found[i] for i in range(len(FACTORS))]


def _refined(span: Span, weights: Array, k: int) -> tuple[Array, Array]:
    """The top ``k`` Ritz pairs of the weighted sum of operators, after the span has grown towards them."""
    for remaining in reversed(range(PASSES)):
        values, coordinates = np.linalg.eigh(np.tensordot(weights, span.matrices, axes=1))
        top, values = coordinates[:, ::-1][:, :k], values[::-1][:k]
        vectors = span.basis @ top
        residuals = sum(w * (image @ top) for w, image in zip(weights, span.images, strict=True)) - vectors * values
        sizes = np.linalg.norm(residuals, axis=0)
        large = sizes > LOOSE * np.linalg.eigvalsh(span.matrices[0])[-1]
        if not large.any() or not remaining or len(span) == span.pencil.size:
            break
        if len(span) + k > MOST_VECTORS:
            span.restrict(coordinates[:, ::-1][:, : MOST_VECTORS // 2])
        span.extend(residuals[:, large] / sizes[large])
    return values, vectors


def _aligned(steps: Array, values: Sequence[Array], optimum: Array) -> Array:
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
