"""What the test on held-out rows says: which components are unique, and how many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inference import NumberOfComponents, UniquenessTest
from .checks import check_result
from .style import GREYS, INK, MARKERS, axes, colour, entitle, legend_outside, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND = "#E9F1F6"  # behind what is unique
REACH = 0.72  # of a component on both sides of its tick, shared by the datasets


def uniqueness(test: UniquenessTest, *, ax: Axes | None = None) -> Axes:
    """Variance of each component on held-out rows, in the target and in each background, with intervals.

    Unique components are coloured and stand on a shaded ground; from the first that fails on, all are grey. Below each
    component is its overall p-value, the largest over the backgrounds and the average direction: where the points of two
    datasets are far apart and p is large nonetheless, the component varies no more than an average direction does, or
    one before it has failed.

    Parameters
    ----------
    test : UniquenessTest
        From :func:`uca.inference.uniqueness_test`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_result(test, UniquenessTest, "uniqueness_test")
    from matplotlib.lines import Line2D

    k, n_sets = test.variances.shape
    ax = axes(ax, (max(4.8, 2.6 + 0.9 * k), 3.6))
    handles: list[Any] = []
    for j, name in enumerate(("target", *test.background_names)):
        shift = REACH * (j - (n_sets - 1) / 2) / n_sets
        for i in range(k):
            _draw_variance(ax, test, i, j, i + shift)
        handles.append(Line2D([], [], color=_shade(j, test.n_unique_ > 0), marker=_marker(j), lw=1.6, label=name))
    ground = [ax.axvspan(-0.5, test.n_unique_ - 0.5, color=BAND, lw=0, zorder=0)] if test.n_unique_ else []
    for patch in ground:
        patch.set_label(f"unique (p ≤ {test.alpha:g})")
    ax.set_xticks(
        np.arange(k), [f"{'UC' if test.order == 'model' else ''}{i + 1}\n{_p(p)}" for i, p in enumerate(test.pvalues)]
    )
    ax.tick_params(axis="x", length=0)
    ax.set(
        xlabel="component, and its p-value",
        ylabel=f"variance on held-out rows\n({100 * (1 - test.alpha):g} % intervals)",
        xlim=(-0.5, k - 0.5),
        ylim=(0, 1.06 * float(test.high.max())),
    )
    n = test.n_unique_
    shown = f"{n} unique component{'' if n == 1 else 's'}" if n else "no component shown to be unique"
    entitle(ax, f"Test of uniqueness: {shown}")
    open_frame(ax)
    legend_outside(ax, [*handles, *ground])
    return ax


def _draw_variance(ax: Axes, test: UniquenessTest, i: int, j: int, place: float) -> None:
    shade = _shade(j, i < test.n_unique_)
    ax.vlines(place, test.low[i, j], test.high[i, j], color=shade, lw=1.6, zorder=2)
    ax.plot([place], [test.variances[i, j]], marker=_marker(j), color=shade, ms=6, ls="none", zorder=3)


def _shade(j: int, unique: bool) -> str:
    """Colour of dataset ``j``: grey where the component is not unique, darker for the target."""
    return colour(j) if unique else GREYS[0 if j == 0 else 1]


def _marker(j: int) -> str:
    return MARKERS[j % len(MARKERS)]


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def n_components(found: NumberOfComponents, *, ax: Axes | None = None) -> Axes:
    """Eigenvalues compared with those of permuted targets, and the numbers by the test and by the screening.

    Colours are those of the screening. The test counts components by contrast, so its number does not say which of the
    eigenvalues are of unique components.

    Parameters
    ----------
    found : NumberOfComponents
        From :func:`uca.inference.estimate_n_components`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_result(found, NumberOfComponents, "estimate_n_components")
    k = len(found.eigenvalues)
    places = np.arange(1, k + 1)
    ax = axes(ax, (6.8, 3.8))
    quantile = f"permuted targets,\n{100 * (1 - found.test.alpha):g} % quantile"
    ax.plot(places, found.thresholds, ls="--", marker="_", ms=9, color=GREYS[2], lw=1.2, label=quantile)
    ax.plot(places, found.eigenvalues, color=GREYS[1], lw=1.2, zorder=2)
    for first, last, shade, name in (
        (0, found.n_screened_, colour(1), "eigenvalue, above"),
        (found.n_screened_, k, GREYS[0], "eigenvalue, not above"),
    ):
        if last > first:
            here = slice(first, last)
            ax.plot(places[here], found.eigenvalues[here], "o", color=shade, ms=7, label=name, zorder=3)
    _draw_ends(ax, found)
    ax.set_xticks(places if k <= 20 else places[4::5])
    ax.set(xlabel="component", ylabel="eigenvalue of A - Σ λ̂ B", xlim=(0.3, k + 0.7))
    entitle(ax, f"Number of components: {found.n_components_} by the test")
    open_frame(ax)
    legend_outside(ax)
    return ax


def _draw_ends(ax: Axes, found: NumberOfComponents) -> None:
    """Lines after the last component by the test and by the screening; one where they agree."""
    test, screened = found.n_components_, found.n_screened_
    lines = [(test, INK, "-", f"by the test: {test}"), (screened, colour(1), ":", f"by screening: {screened}")]
    if test == screened:
        lines = [(test, INK, "-", f"by the test and\nby screening: {test}")]
    for place, shade, style, name in lines:
        ax.axvline(place + 0.5, color=shade, lw=1.5, ls=style, label=name, zorder=1)
