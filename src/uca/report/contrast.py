"""The contrast slider: components from PCA through the optimum to ten times its contrast, with their variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._threads import one_blas_thread
from .._types import Array
from ..contrast import aligned, joint_steps, sequential_steps
from ..estimators.bounded import BoundedTransformer
from ..fitted import problem_of_rows

FACTORS = np.concatenate([np.linspace(0.0, 1.0, 11), 10 ** (np.arange(1, 11) / 10)])
OPTIMUM = 10  # the place of 1 among the factors


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


def contrast_path(model: BoundedTransformer, arrays: Sequence[Any], k: int) -> ContrastPath | str:
    """The path of the first ``k`` components, or the sentence that says why there is none.

    Parameters
    ----------
    model : fitted UCA, with its arrays in numpy
    arrays : sequence of arrays
        The target, then the backgrounds in the order of the fit.
    """
    reason = _no_path(model, len(arrays) - 1)
    if reason:
        return reason
    with one_blas_thread():
        problem = problem_of_rows(model, arrays, k)
        if not problem.is_same_data():
            return (
                "The contrast slider needs the rows that the model was fitted on; different rows were given here, so only "
                "the fitted components are shown."
            )
        if model.components == "sequential":
            steps = sequential_steps(problem, FACTORS, model.component_lambdas_[:k].astype(float))
        else:
            steps = joint_steps(problem, FACTORS, k)
        # All steps at once: a pass over wide data for each would take most of the time.
        vectors = np.hstack([vectors for _, vectors in steps])
        variances = problem.held.pencil.variances(vectors).reshape(-1, len(steps), k)
        lifted = problem.held.lift(vectors).reshape(len(steps), k, -1)
    # At the optimum the fitted components stand, whatever direction of a multiple eigenvalue was met again.
    lifted[OPTIMUM] = model.components_[:k].astype(float)
    components = aligned(lifted, [values for values, _ in steps], OPTIMUM)
    target, backgrounds = variances[0], np.moveaxis(variances[1:], 0, 2).copy()
    target[OPTIMUM] = model.explained_variance_[:k]
    backgrounds[OPTIMUM] = model.background_variance_[:k]
    return ContrastPath(components, target, backgrounds)


def fixed_state(model: BoundedTransformer) -> str:
    """Where the contrast stands on a page without a slider, for pictures that leave the page."""
    if not model.background_names_:
        return "no background"
    if not model.has_dual:
        return "as fitted"
    return "λ as fitted" if np.any(model.component_lambdas_ > 0) else "λ = 0 (PCA)"


def _no_path(model: BoundedTransformer, n_given: int) -> str:
    if not model.background_names_:
        return "There is no background, so there is no contrast to vary: the components are those of PCA."
    if not model.has_dual:
        return "The components have few features, chosen by search: there is no contrast to vary between them and PCA."
    if not n_given:
        return "The contrast slider needs the rows of the backgrounds: pass them as backgrounds=."
    if not np.any(model.component_lambdas_ > 0):
        return (
            "Every multiplier is 0: the components of PCA respect the bounds already, so there is no contrast to vary."
        )
    return ""
