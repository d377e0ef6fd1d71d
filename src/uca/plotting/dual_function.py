"""The dual function drawn: along a line, or as contours for two backgrounds.

g(lambda) = lambda_max(A - sum_j lambda_j B_j) + sum_j lambda_j c_j is convex; its minimum is the target variance that can be
reached within the bounds. The certificate is a band between a proven lower and a proven upper bound of that minimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._parameters import check_number
from .._types import Array, Backgrounds, Rows
from ..estimators.base import ContrastiveTransformer
from ..fitted import FittedProblem, problem_of
from .dual_values import dual_values
from .style import PALETTE, SEQUENTIAL, axes, entitle, legend_outside, open_frame, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_LINE, N_PLANE = 161, 33  # points along a line, and along each axis of a plane
ANCHORS_LINE, ANCHORS_PLANE = 21, 7
TITLE = "Dual function and its certified minimum"
LEGEND_LINES = 3.4  # that the legend of a plane takes below the title, in sizes of the font
UNSEEN = 1e-4  # share of the range of g below which a difference is not seen


def dual(
    model: ContrastiveTransformer,
    X: Rows,
    *,
    backgrounds: Backgrounds,
    along: str | None = None,
    reach: float = 2.0,
    ax: Axes | None = None,
) -> Axes:
    """The dual function with its optimum and the certified bounds of it.

    Parameters
    ----------
    model : fitted UCA, or the DualResult of :func:`uca.solve_dual`
    X : array or table of shape (n, p), or matrix of shape (p, p)
        What the model was fitted on: rows for ``fit``, the covariance for ``fit_covariance`` and ``solve_dual``.
    backgrounds : as in the fit
        Rows, or matrices. The model keeps neither.
    along : None, "ray" or the name of a background, default=None
        None draws g over the multiplier of a single background, contours for two, and the ray for more. "ray" is the
        line from 0 (PCA) through the optimum. A name varies that background's multiplier and keeps the others.
    reach : float, default=2.0
        How far to go, as a multiple of the optimal multipliers.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Notes
    -----
    Of two backgrounds, contours where g is at most the certificate's upper bound are hatched: the minimum lies there. For a
    fit that converged this is a point. For problems of order above 64 values between a few exact ones come from a
    subspace, see :func:`uca.plotting.dual_values.dual_values`.
    """
    check_number("reach", reach, 1.0, 1e6)
    problem = problem_of(model, X, backgrounds)
    if along is None:
        along = problem.names[0] if problem.m == 1 else None if problem.m == 2 else "ray"
    elif along != "ray" and along not in problem.names:
        raise ValueError(f"along must be None, 'ray' or one of the backgrounds {problem.names}; got {along!r}")
    if along == "ray" and not problem.lambdas.any():
        raise ValueError("all multipliers are 0, so there is no ray through the optimum: name a background in along=")
    ax = axes(ax)
    if along is None:
        return _draw_plane(ax, problem, reach)
    return _draw_line(ax, problem, along, reach)


def _draw_line(ax: Axes, problem: FittedProblem, along: str, reach: float) -> Axes:
    best, ends = _ends(problem, along, reach)
    # The optimum is among the points, so that a kink is drawn as one.
    steps = np.unique(np.concatenate([np.linspace(0, ends, N_LINE), [best]]))
    anchors = np.unique(np.concatenate([np.linspace(0, ends, ANCHORS_LINE), [best]]))
    values = dual_values(problem, _on_line(problem, along, steps), anchors=_on_line(problem, along, anchors))
    certificate = problem.certificate
    ax.plot(steps, values, color=PALETTE[0], lw=1.8, label="g(λ)", zorder=3)
    ax.axhspan(
        certificate.lower,
        certificate.upper,
        facecolor=PALETTE[4],
        edgecolor=PALETTE[4],
        lw=1.0,
        alpha=0.5,
        label=f"certified (gap {certificate.gap:.1e})",
        zorder=1,
    )
    ax.plot([best], [certificate.upper], "o", color=PALETTE[1], ms=7, label=_optimum(problem, along), zorder=4)
    ax.set(xlabel="t, with λ = t λ̂ (0: PCA)" if along == "ray" else f"λ of {along}", ylabel="g(λ)", xlim=(0, ends))
    entitle(ax, TITLE)
    open_frame(ax)
    legend_outside(ax)
    return ax


def _optimum(problem: FittedProblem, along: str) -> str:
    if along == "ray":
        return f"{_word(problem)}, t = 1"
    return f"{_word(problem)}, λ̂ = {problem.lambdas[problem.names.index(along)]:.4g}"


def _word(problem: FittedProblem) -> str:
    return "optimum" if problem.certificate.status == "optimal" else "best found"


def _ends(problem: FittedProblem, along: str, reach: float) -> tuple[float, float]:
    """Position of the optimum on the line, and the end of the line."""
    if along == "ray":
        return 1.0, reach
    j = problem.names.index(along)
    return float(problem.lambdas[j]), float(_extents(problem, reach)[j])


def _extents(problem: FittedProblem, reach: float) -> Array:
    """How far each axis goes: a multiple of the optimum, or of what the others cost where that is 0."""
    prices = problem.lambdas * problem.bounds
    typical = prices.max() if prices.any() else 0.5 * abs(problem.certificate.upper)
    floor = 0.25 * typical / np.where(problem.bounds > 0, problem.bounds, 1.0)
    return np.maximum(reach * problem.lambdas, floor)


def _on_line(problem: FittedProblem, along: str, steps: Array) -> Array:
    """Multipliers at each step, (n, m)."""
    if along == "ray":
        return steps[:, np.newaxis] * problem.lambdas
    lambdas = np.tile(problem.lambdas, (len(steps), 1))
    lambdas[:, problem.names.index(along)] = steps
    return lambdas


def _draw_plane(ax: Axes, problem: FittedProblem, reach: float) -> Axes:
    ends = _extents(problem, reach)
    ticks = [_through(end, best, N_PLANE) for end, best in zip(ends, problem.lambdas, strict=True)]
    coarse = [_through(end, best, ANCHORS_PLANE) for end, best in zip(ends, problem.lambdas, strict=True)]
    values = dual_values(problem, _grid(ticks), anchors=_grid(coarse)).reshape(len(ticks[1]), len(ticks[0]))
    certificate = problem.certificate
    low, high = min(certificate.lower, float(values.min())), float(values.max())
    levels = low + (high - low) * np.linspace(0, 1, 12) ** 1.7  # denser near the minimum
    filled = ax.contourf(*ticks, values, levels=levels, cmap=SEQUENTIAL)
    ax.contour(*ticks, values, levels=levels[1:-1], colors="white", linewidths=0.5, alpha=0.6)
    if values.min() < certificate.upper - UNSEEN * (high - low):
        ax.contourf(*ticks, values, levels=[low, certificate.upper], colors="none", hatches=["////"])
    mark = ax.plot(*problem.lambdas, "o", color=PALETTE[1], ms=8, mec="white", clip_on=False, zorder=4)[0]
    at = ", ".join(f"{value:.3g}" for value in problem.lambdas)
    mark.set_label(f"{_word(problem)} {certificate.upper:.4g} at λ̂ = ({at}),\ncertified gap {certificate.gap:.1e}")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, frameon=False, handletextpad=0.2)
    bar = ax.figure.colorbar(filled, ax=ax, label="g(λ)", format="%.3g", pad=0.03, aspect=25)
    bar.ax.axhspan(certificate.lower, certificate.upper, facecolor=PALETTE[1], edgecolor=PALETTE[1], lw=2)
    entitle(ax, TITLE, pad=LEGEND_LINES * pyplot().rcParams["font.size"])
    ax.set(xlabel=f"λ of {problem.names[0]}", ylabel=f"λ of {problem.names[1]}")
    return ax


def _through(end: float, best: float, n: int) -> Array:
    """Points from 0 to ``end``, denser near the optimum, which is one of them."""
    steps = np.linspace(-1, 1, n | 1)
    steps = np.sign(steps) * np.abs(steps) ** 1.5
    points = np.where(steps < 0, best + steps * best, best + steps * (end - best))
    return np.unique(points)


def _grid(ticks: list[Array]) -> Array:
    """Every pair of multipliers, the first running fastest, (n, 2)."""
    x, y = np.meshgrid(*ticks)
    return np.column_stack([x.ravel(), y.ravel()])
