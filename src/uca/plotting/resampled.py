"""What stays when the rows are drawn again: components, spaces and loadings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._types import Array
from ..estimators.base import component_names
from ..inference import Bootstrap
from .checks import check_component, check_count, check_result
from .style import GREYS, INK, PALETTE, axes, component_label, entitle, legend_outside, list_features, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOX_WIDTH = 0.3  # of a box
GOLDEN = 0.6180339887  # steps of this part of the width spread points evenly, without chance


def stability(found: Bootstrap, *, ax: Axes | None = None) -> Axes:
    """How well components, and the spaces of the first of them, are found again: one point per resample.

    A box holds the middle half of the resamples, the line in it and the number above are the median.

    Parameters
    ----------
    found : Bootstrap
        From :func:`uca.inference.bootstrap`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_result(found, Bootstrap, "bootstrap")
    k = found.cosines.shape[1]
    ax = axes(ax, (max(5.0, 3.2 + 1.0 * k), 3.8))
    for values, side, shade, name in (
        (found.cosines, -1, PALETTE[0], "the component"),
        (found.subspace_cosines, 1, PALETTE[1], "the space of the\nleading components"),
    ):
        for i in range(k):
            _draw_cosines(ax, values[:, i], i + 1 + 0.6 * BOX_WIDTH * side, shade, name if i == 0 else "")
    ax.axhline(1.0, color=GREYS[1], lw=0.8, zorder=0)
    ax.set_xticks(np.arange(1, k + 1), component_names(found.model))
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set(
        xlabel="component",
        ylabel="cosine with that of all rows",
        xlim=(0.5, k + 0.5),
        ylim=(0, 1.1),
    )
    entitle(ax, f"Stability of the components, {len(found.cosines)} resamples")
    open_frame(ax)
    legend_outside(ax)
    return ax


def _draw_cosines(ax: Axes, values: Array, place: float, shade: str, name: str) -> None:
    spread = (np.arange(len(values)) * GOLDEN) % 1.0 - 0.5
    ax.plot(place + 0.8 * BOX_WIDTH * spread, values, "o", ms=2.5, mew=0, color=shade, alpha=0.35, zorder=2)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    left, right = place - BOX_WIDTH / 2, place + BOX_WIDTH / 2
    ax.fill_between([left, right], low, high, facecolor=shade, alpha=0.25, lw=0, zorder=1, label=name or None)
    ax.hlines(middle, left, right, color=shade, lw=2.2, zorder=3)
    ax.text(place, 1.02, f"{middle:.2f}", color=shade, ha="center", va="bottom", fontsize="small")


def reliable_loadings(
    found: Bootstrap,
    *,
    component: int = 0,
    n_features: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """The largest loadings of one component with their intervals; reliable ones in colour.

    Parameters
    ----------
    found : Bootstrap
        From :func:`uca.inference.bootstrap`.
    component : int, default=0
        Counted from 0.
    n_features : int, default=15
        How many features to show: those of the largest absolute loadings.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Notes
    -----
    Intervals are those of single features. "Reliable" is decided for all features together, so an interval can miss 0
    and its feature be grey; the interval of a reliable one always misses 0. A component that is not found again has none.
    """
    check_result(found, Bootstrap, "bootstrap")
    i = check_component(found.model, component)
    values = found.model.components_[i].astype(float)
    count = check_count("n_features", n_features, len(values))
    chosen = np.argsort(-np.abs(values), kind="stable")[:count]
    ax = axes(ax, (6.4, max(1.8, 1.1 + 0.25 * count)))
    places = np.arange(count)
    sure = found.reliable[i, chosen]
    ax.axvline(0, color=INK, lw=0.8)
    for those, shade, name in ((sure, PALETTE[0], "reliable"), (~sure, GREYS[1], "not reliable")):
        rows = chosen[those]
        if len(rows):
            low, high = found.loadings_low[i, rows], found.loadings_high[i, rows]
            ax.hlines(places[those], low, high, color=shade, lw=2.0, zorder=2)
            ax.plot(values[rows], places[those], "o", color=shade, ms=6, zorder=3, label=name)
    told = f"with {100 * found.level:g} % interval" if found.found_again[i] else "not found again: no intervals"
    ax.set_xlabel(f"loading on {component_label(found.model, i)},\n{told}")
    list_features(ax, found.feature_names[chosen], len(values), f"Loadings on {component_names(found.model)[i]}")
    legend_outside(ax)
    return ax
