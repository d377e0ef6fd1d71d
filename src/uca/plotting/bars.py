"""Bars: the features that make a component, and the variance of a component in every dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._parameters import check_choice
from ..estimators.base import ContrastiveTransformer, component_names
from .checks import check_component, check_count, check_model
from .checks import feature_names as names_of
from .style import (
    INK,
    PALETTE,
    against,
    axes,
    colour,
    component_label,
    entitle,
    legend_outside,
    list_features,
    open_frame,
    percent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def loadings(
    model: ContrastiveTransformer,
    *,
    component: int = 0,
    kind: str = "loadings",
    n_features: int = 15,
    feature_names: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """The largest loadings, or patterns, of one component, as bars in order of size.

    Parameters
    ----------
    model : fitted UCA, CPCA or CPCAPlusPlus
    component : int, default=0
        Counted from 0.
    kind : {"loadings", "patterns", "both"}, default="loadings"
        "loadings" are the weights that make the score. "patterns" are how features follow the score in the
        target: read these to interpret a component. "both" draws the loading of each feature as a dot next to its pattern.
    n_features : int, default=15
        How many features to show: those of the largest absolute values.
    feature_names : sequence of str, optional
        Names of all features; by default those of the fit.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    model = check_model(model)
    i = check_component(model, component)
    names = names_of(model, feature_names)
    count = check_count("n_features", n_features, len(names))
    check_choice("kind", kind, ("loadings", "patterns", "both"))
    values = (model.components_ if kind == "loadings" else _patterns(model))[i].astype(float)
    chosen = np.argsort(-np.abs(values), kind="stable")[:count]
    ax = axes(ax, (5.0, 0.9 + 0.24 * count))
    places = np.arange(count)
    bars = ax.barh(
        places, values[chosen], height=0.7, color=np.where(values[chosen] > 0, PALETTE[0], PALETTE[1]).tolist()
    )
    ax.axvline(0, color=INK, lw=0.8)
    if kind == "both":
        dots = ax.plot(model.components_[i, chosen], places, "o", ms=5, mfc="white", mec=INK, label="loading")
        bars.set_label("pattern")
        legend_outside(ax, [bars, *dots])
    named = {"loadings": "loading on", "patterns": "pattern of", "both": "pattern and loading of"}[kind]
    ax.set_xlabel(f"{named} {component_label(model, i)}")
    heads = {"loadings": "Loadings on", "patterns": "What follows", "both": "Patterns and loadings of"}
    list_features(ax, names[chosen], len(names), f"{heads[kind]} {component_names(model)[i]}")
    return ax


def _patterns(model: ContrastiveTransformer) -> Any:
    found = getattr(model, "patterns_", None)
    if found is None:
        raise ValueError(
            "this model was made by an older version and has no patterns: fit it again, or kind='loadings'"
        )
    return found


def variance(model: ContrastiveTransformer, *, ax: Axes | None = None) -> Axes:
    """Variance of every component in the target and in each background, with the bounds.

    Parameters
    ----------
    model : fitted UCA, CPCA or CPCAPlusPlus
        Bounds are drawn for UCA; the first component respects them (with ``components="sequential"``, all do).
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes
    """
    model = check_model(model)
    heights = np.column_stack([model.explained_variance_, model.background_variance_])
    k, n_sets = heights.shape
    width = 0.8 / n_sets
    ax = axes(ax, (max(4.2, 2.2 + 0.35 * k * n_sets), 3.6))
    centres = np.arange(k)[:, np.newaxis] + width * (np.arange(n_sets) - (n_sets - 1) / 2)
    handles: list[Any] = []
    for j, name in enumerate(["target", *model.background_names_]):
        handles.append(ax.bar(centres[:, j], heights[:, j], width=0.92 * width, color=colour(j), label=name))
    handles += _draw_bounds(ax, centres[:, 1:], model.bounds_ if hasattr(model, "bounds_") else None, width)
    ax.set_xticks(np.arange(k), [f"{name}\n{percent(model, i)}" for i, name in enumerate(component_names(model))])
    ax.tick_params(axis="x", length=0)
    ax.set(xlabel="component, and its share of the target's variance", ylabel="variance", xlim=(-0.6, k - 0.4))
    entitle(ax, f"Variance of each component{against(model)}")
    open_frame(ax)
    legend_outside(ax, handles)
    return ax


def _draw_bounds(ax: Axes, centres: Any, bounds: Any, width: float) -> list[Any]:
    """A black line across each background's bars, at its bound."""
    if bounds is None or not centres.size:
        return []
    heights = np.broadcast_to(bounds, centres.shape)
    half = 0.5 * width
    left, right = (centres - half).ravel(), (centres + half).ravel()
    return [ax.hlines(heights.ravel(), left, right, color="black", lw=1.6, label="bound")]
