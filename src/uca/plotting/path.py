"""From PCA to strong contrast: what changes as the multipliers grow from 0 through the optimum to a multiple of it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._labels import CheckedLabels, check_labels
from .._parameters import check_choice, check_number
from .._threads import one_blas_thread
from .._types import Array, Backgrounds, Labels, Rows
from ..contrast import aligned, joint_steps, nearest_to_optimum, turn
from ..estimators.base import ContrastiveTransformer, component_names
from ..fitted import FittedProblem, problem_of
from .checks import check_component, check_model, target_scores
from .groups import group_rows, is_scale
from .style import INK, axes, colour, entitle, legend_outside, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_STEPS = 61
BESIDE = 1e-4
TICKS = (0, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 50, 100)


def contrast_path(
    model: ContrastiveTransformer,
    X: Rows,
    *,
    backgrounds: Backgrounds,
    labels: Labels | None = None,
    show: str = "variance",
    component: int = 0,
    t_max: float = 10.0,
    ax: Axes | None = None,
) -> Axes:
    """What the components of ``A - t sum_j lambda_j B_j`` show, from t = 0 (PCA) through t = 1 (UCA) to ``t_max``.

    The axis is drawn so that 0 to 1 takes as much room as 1 to infinity.

    Parameters
    ----------
    model : fitted UCA
    X, backgrounds
        What the model was fitted on. For a model of covariance matrices these are the matrices, and only variances can be
        shown.
    labels : array of shape (n,), optional
        Groups of the target's rows, for ``show="scores"``.
    show : {"variance", "scores"}, default="variance"
        Variances of target and backgrounds along the component, with the bounds; or the target's scores: median and middle
        half of each group.
    component : int, default=0
        Counted from 0. Multipliers are those of the first component, also for ``components="sequential"``.
    t_max : float, default=10.0
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_choice("show", show, ("variance", "scores"))
    check_number("t_max", t_max, 1.0, 1e6)
    model = check_model(model)
    problem = problem_of(model, X, backgrounds)
    i = check_component(model, component)
    if not problem.lambdas.any():
        raise ValueError("all multipliers are 0: the backgrounds do not shape the components, and there is no path")
    if show == "scores" and model.n_samples_ is None:
        raise ValueError("a model of covariance matrices has no rows, so no scores: use show='variance'")
    if labels is not None and show == "variance":
        raise ValueError("labels are for rows: use them with show='scores'")
    given = None if labels is None or model.n_samples_ is None else check_labels(labels, model.n_samples_)
    if given is not None and is_scale(given):
        raise ValueError("labels holds many different numbers: a path needs groups; cut the numbers into a few")
    steps = _steps(t_max, problem.certificate.tight)
    with one_blas_thread():
        found = joint_steps(problem, steps, i + 1, exact=True)
    vectors = np.column_stack([vectors[:, i] for _, vectors in found])
    ax = axes(ax)
    if show == "variance":
        _draw_variances(ax, problem, steps, vectors)
    else:
        start, lifted = nearest_to_optimum(steps), problem.held.lift(vectors)[:, np.newaxis]
        # The sign of the fit, where the two meet.
        lifted[start] = turn(lifted[start], np.ones(1), model.components_[i : i + 1])
        _draw_scores(ax, model, X, given, steps, aligned(lifted, np.ones((len(steps), 1)), start)[:, 0])
    ax.axvline(1, color=INK, lw=0.9, ls=":", zorder=1)
    ax.set_xscale("function", functions=(_squeeze, _stretch))
    ax.set_xticks([t for t in TICKS if t <= t_max], [f"{t:g}" for t in TICKS if t <= t_max])
    ax.set_xlim(0, t_max)
    shown = "Variance of" if show == "variance" else "Scores on"
    entitle(ax, f"{shown} {component_names(model)[i]} from PCA to strong contrast")
    ax.set_xlabel("t, with λ = t λ̂ (0: PCA, 1: UCA)")
    open_frame(ax)
    legend_outside(ax)
    return ax


def _squeeze(t: ArrayLike) -> Array:
    """``t / (1 + t)``: from 0 to 1 takes as much room as from 1 to infinity."""
    return np.asarray(t) / (1 + np.maximum(t, -0.5))


def _stretch(u: ArrayLike) -> Array:
    return np.asarray(u) / (1 - np.minimum(u, 0.999999))


def _steps(t_max: float, tight: bool) -> Array:
    """Even steps on the squeezed axis, with t = 1 among them.

    Where no single direction attains the optimum, two eigenvalues meet at t = 1 and their vectors are arbitrary: the steps
    just before and after it show the jump.
    """
    even = _stretch(np.linspace(0, float(_squeeze(t_max)), N_STEPS))
    even = even[np.abs(even - 1) > BESIDE]
    return np.unique(np.concatenate([even, [1.0] if tight else [1 - BESIDE, 1 + BESIDE]]))


def _draw_variances(ax: Axes, problem: FittedProblem, steps: Array, vectors: Array) -> None:
    variances = problem.eigen.variances(vectors)
    for j, (name, values) in enumerate(zip(["target", *problem.names], variances, strict=True)):
        ax.plot(steps, values, color=colour(j), lw=1.8, label=name)
    equal = np.ptp(problem.bounds) <= 1e-9 * problem.bounds.max()
    for j, bound in enumerate(problem.bounds[:1] if equal else problem.bounds):
        shade, name = (INK, "bound") if equal else (colour(j + 1), f"bound of {problem.names[j]}")
        ax.axhline(bound, color=shade, lw=1.0, ls="--", label=name, zorder=1)
    ax.set_ylim(0, None)
    ax.set_ylabel("variance along the component")


def _draw_scores(
    ax: Axes, model: ContrastiveTransformer, X: Rows, labels: CheckedLabels | None, steps: Array, components: Array
) -> None:
    path = copy(model)
    path.components_ = components
    path.whiten = False
    scores = target_scores(path, X)
    for group in group_rows(labels, len(scores)):
        low, middle, high = np.quantile(scores[group.rows], [0.25, 0.5, 0.75], axis=0)
        ax.fill_between(steps, low, high, color=group.colour, alpha=0.2, lw=0)
        ax.plot(steps, middle, color=group.colour, ls=group.line, lw=1.8, label=group.name)
    ax.set_ylabel("score (median, middle half)")
