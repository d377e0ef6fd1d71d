"""Score plots: rows of the target, and of its backgrounds, on two components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._labels import check_labels
from .._types import Array, Backgrounds, Labels, Rows
from ..estimators.base import ContrastiveTransformer
from .checks import background_scores, check_count, check_model, check_pair, feature_names, target_scores
from .groups import Group, background_groups, group_rows, without_label
from .names import place_names
from .style import (
    INK,
    LARGE,
    RASTER_FROM,
    SEQUENTIAL,
    against,
    axes,
    component_label,
    entitle,
    legend_outside,
    marker_area,
    method,
    open_frame,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ARROW = 0.85  # length of the longest arrow, as a share of the largest score
FAINT = "#DDDDDD"
OPACITY = 0.8  # of points
UNDER_POINTS = 1.5  # order of drawing: points are 2 and 3


def scores(
    model: ContrastiveTransformer,
    X: Rows,
    *,
    labels: Labels | None = None,
    backgrounds: Backgrounds = None,
    components: tuple[int, int] = (0, 1),
    background_units: str = "own",
    ax: Axes | None = None,
) -> Axes:
    """Scatter of scores on two components.

    Parameters
    ----------
    model : fitted UCA, CPCA or CPCAPlusPlus
    X : array or table of shape (n, p)
        Rows of the target, or new rows like it.
    labels : array of shape (n,), optional
        What to colour by: groups, or a number for each row (a scale of colours).
    backgrounds : array, list or tuple of arrays, or dict of name -> array, optional
        Drawn with open markers: where the model works, they are narrow along the first component.
    components : pair of int, default=(0, 1)
        Counted from 0.
    background_units : {"own", "target"}, default="own"
        "own" centres and scales each background as the fit did, so that what is seen is ``background_variance_``.
        "target" uses the target's means and deviations, as ``model.transform`` does: differences of means show.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from uca import UCA, plotting
    >>> rng = np.random.default_rng(0)
    >>> target, control = rng.normal(size=(50, 4)), rng.normal(size=(40, 4))
    >>> model = UCA().fit(target, backgrounds={"control": control})
    >>> ax = plotting.scores(model, target, backgrounds={"control": control})  # doctest: +SKIP
    """
    return _scatter("scores", check_model(model), X, labels, backgrounds, components, background_units, ax)


def _scatter(
    what: str,
    model: Any,
    X: Rows,
    labels: Labels | None,
    backgrounds: Backgrounds,
    components: tuple[int, int],
    background_units: str,
    ax: Axes | None,
) -> Axes:
    """Scores, in a figure whose title calls it ``what``."""
    pair = list(check_pair(model, components))
    points = target_scores(model, X)[:, pair]
    others = {name: s[:, pair] for name, s in background_scores(model, backgrounds, background_units).items()}
    given = None if labels is None else check_labels(labels, len(points))
    scale = None if given is None else given.values
    groups = group_rows(given, len(points)) if scale is None else []
    ax = axes(ax)
    area = marker_area(len(points) + sum(map(len, others.values())))
    if given is not None and scale is not None:
        _draw_scale(ax, points, scale, area, given.name)
    for group in groups:
        _draw_group(ax, points[group.rows], group, area)
    for group in background_groups({name: len(s) for name, s in others.items()}, given is not None):
        _draw_group(ax, others[group.name], group, area)
    ax.set(xlabel=component_label(model, pair[0]), ylabel=component_label(model, pair[1]))
    entitle(ax, f"{method(model)} {what}{against(model)}")
    open_frame(ax)
    if given is not None or others:
        legend_outside(ax, markerscale=float(np.sqrt(LARGE / area)))
    return ax


def _draw_group(ax: Axes, points: Array, group: Group, area: float) -> None:
    width = min(0.7, np.sqrt(area) / 8)
    ax.scatter(
        points[:, 0],
        points[:, 1],
        s=area,
        marker=group.marker,
        **(_stamped(group, width) if len(points) > RASTER_FROM else _drawn(group, width)),
        zorder=3 if group.filled else 2,
        label=group.name,
        rasterized=len(points) > RASTER_FROM,
    )


def _drawn(group: Group, width: float) -> dict[str, Any]:
    """Colours of markers that are drawn one by one."""
    face, edge = (group.colour, "none") if group.filled else ("none", group.colour)
    return {"facecolors": face, "edgecolors": edge, "linewidths": width, "alpha": OPACITY}


def _stamped(group: Group, width: float) -> dict[str, Any]:
    """The same with one colour of each kind: then matplotlib draws one marker and copies it, six times as fast."""
    from matplotlib.colors import to_rgba

    colour = to_rgba(group.colour, OPACITY)
    face, width = (colour, 0.0) if group.filled else ((0.0, 0.0, 0.0, 0.0), width)
    return {"facecolors": [face], "edgecolors": [colour], "linewidths": width}


def _draw_scale(ax: Axes, points: Array, values: Array, area: float, name: str | None) -> None:
    known = np.isfinite(values)
    drawn = ax.scatter(
        points[known, 0],
        points[known, 1],
        s=area,
        c=values[known],
        cmap=SEQUENTIAL,
        linewidths=0,
        alpha=0.9,
        zorder=3,
        rasterized=len(points) > RASTER_FROM,
    )
    ax.figure.colorbar(drawn, ax=ax, location="top", shrink=0.6, aspect=30, pad=0.02, label=name or "")
    if not known.all():
        _draw_group(ax, points[~known], without_label(np.flatnonzero(~known)), area)


def biplot(
    model: ContrastiveTransformer,
    X: Rows,
    *,
    labels: Labels | None = None,
    backgrounds: Backgrounds = None,
    components: tuple[int, int] = (0, 1),
    n_features: int = 8,
    feature_names: Any = None,
    background_units: str = "own",
    ax: Axes | None = None,
) -> Axes:
    """Scores with the loadings of the features that matter most as arrows.

    The arrows share one factor, chosen so that the longest reaches the outer points; their angles and relative lengths
    are those of the loadings. Both axes have the same unit. Points lie over the arrows; names keep clear of one another and,
    where there is room, of the points.

    Parameters
    ----------
    model, X, labels, backgrounds, components, background_units, ax
        As in :func:`scores`.
    n_features : int, default=8
        How many arrows: the longest in the plane of the two components.
    feature_names : sequence of str, optional
        Names of all features; by default those of the fit.

    Returns
    -------
    ax : matplotlib Axes
    """
    model = check_model(model)
    names = _names(model, feature_names)
    count = check_count("n_features", n_features, len(names))
    pair = list(check_pair(model, components))
    ax = _scatter("biplot", model, X, labels, backgrounds, components, background_units, ax)
    loadings = model.components_[pair].T.astype(float)
    lengths = np.linalg.norm(loadings, axis=1)
    chosen = np.argsort(-lengths, kind="stable")[:count]
    points = target_scores(model, X)[:, pair]
    reach = np.abs(points).max()
    tips = loadings[chosen] * (ARROW * reach / max(lengths.max(), np.finfo(float).tiny))
    others = background_scores(model, backgrounds, background_units).values()
    _draw_arrows(ax, tips, names[chosen], np.vstack([points, *(s[:, pair] for s in others)]))
    return ax


_names = feature_names  # the keyword of the same name hides it


def _draw_arrows(ax: Axes, tips: Array, names: Array, rows: Array) -> None:
    """Arrows under the points, which they must not hide, and names that keep clear of one another."""
    ax.axhline(0, color=FAINT, lw=0.8, zorder=0)
    ax.axvline(0, color=FAINT, lw=0.8, zorder=0)
    style = {"arrowstyle": "-|>,head_length=0.5,head_width=0.22", "color": INK, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    for x, y in tips:
        ax.annotate("", (x, y), (0, 0), arrowprops=style, zorder=UNDER_POINTS)
    ax.update_datalim(1.15 * tips)
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    place_names(ax, tips, names, rows)
